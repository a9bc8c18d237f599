// Kernels for sizes that a GPU likes (variants of a launch).
//
// With symbolic sizes a kernel has to expect anything: rows that start between two vectors, extents that no register
// file holds. What the machine is fast at needs more, and mostly gets it, so for each kernel this pass states what
// would help, and makes copies that assume it. The launch picks (`variants` of host.launch):
//
//   copies    a kernel with roles brings operands to shared memory by tensor maps, which are not empty and whose
//             strides are multiples of 16 bytes. A launch that has another kernel to fall back on runs it only where
//             that holds; otherwise a copy assumes it. If the results allow it too, they leave by tensor maps.
//   vectors   elsewhere a thread moves 16 bytes at a time, if rows start and end at multiples of that; of rows that
//             are combined 4 bytes, if they do at those; of narrow elements that operands of dots are computed of, as
//             many as a vector of such an operand has.
//   rows      an axis that is taken whole becomes a constant extent that registers can hold (with what lies past the
//             end masked), for a few extents, or for the one that the kernel was made for (row_tiles.h); only longer
//             rows are walked in a loop. Where they cannot be, fallback kernels are for all that are not longer.
//   walks     many long rows that are only combined are walked by few warps each.
//   rivals    of several kernels with roles a launch takes the one that takes the fewest clocks for its sizes, by a
//             model of the machine (launch_cost.h): large tiles for large results, small ones where there are few.
//   depths    axes that a kernel with dots takes whole, the head dimensions of attention, become constants
//             likewise. Dots are not walked in a loop: what is deeper is refused at a call, by a guard.
//
// Choices that sizes decide at compile time are taken here: what can never run goes away.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "ir/core/common_attributes.h"
#include "ir/core/context.h"
#include "ir/core/dim_facts.h"
#include "ir/host/ops.h"
#include "ir/schedule/ops.h"
#include "ir/schedule/schedule_keys.h"
#include "ir/text/entries.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/analysis/kernels.h"
#include "passes/analysis/launch_choices.h"
#include "passes/analysis/row_tiles.h"
#include "passes/pass.h"
#include "passes/schedule/kernel_needs.h"
#include "passes/schedule/launch_cost.h"
#include "support/check.h"

namespace tessera {

using schedule::OpKind;
namespace attr = schedule::attr;
namespace in = schedule::in;

namespace {

/// How many threads hold a row at most: a multiprocessor that runs more has too few registers for what else they need.
/// The longest rows take more of them.
constexpr int64_t most_warps = 16, most_row_registers = 64;
/// Registers of a thread from which on more threads take a row that is the only one.
constexpr int64_t few_row_registers = 8;
/// Warps that walk one of many rows, and programs of a multiprocessor from which on there are many.
constexpr int64_t few_warps = 4, programs_of_few = 4;
/// Elements of 16 bits that a thread moves at once, at most.
constexpr int64_t vector_elements = 8;
/// Of accesses of neighbours that are no whole vectors.
constexpr int64_t pair_bytes = 4;
/// Extents for whole axes of dots, and how many registers of a thread the largest tile may have then: an
/// accumulator and what is added to it next to the operands' addresses.
constexpr int64_t depths[] = {64, 96, 128, 192, 256};
constexpr int64_t registers_per_accumulator = 128;

/// For what is empty, no kernel needs to be fast.
bool excludes_empty(const DimFact& fact) {
  return fact.relation == Relation::GreaterEqual && fact.right->is_constant(1);
}
/// Characters of the longest fact that others are proved from, or it from others. Comparisons of clocks are longer:
/// they hold where the sizes are known, or where the same is said of both kernels.
constexpr size_t longest_reasoned = 250;
bool is_reasoned(const DimFact& fact) { return fact.left->text.size() + fact.right->text.size() <= longest_reasoned; }

class Specialisation {
 public:
  Specialisation(Module& module, const Machine& machine)
      : module_(module), context_(module.context()), table_(context_.dims()), machine_(machine) {}

  void run() {
    for (Op* op : *module_.body()) {
      if (!op->is(host::info(host::OpKind::Func))) continue;
      walk(op, [&](Op* inner) {
        if (inner->is(host::info(host::OpKind::Launch))) specialise(inner);
      });
    }
    erase_unused_kernels();
    shorten_names();
  }

 private:
  void specialise(Op* launch) {
    known_ = host::facts_around(launch);
    find_refused(launch);
    std::vector<Op*> choices = host::choices(launch);
    Op* general = choices.back();
    general_name_ = symbol_name(general);
    for (Op* kernel : choices) were_used_.insert(kernel);
    compare_rivals(choices);
    std::vector<Op*> wanted;
    for (Op* kernel : choices) {
      for (Op* special : specials(kernel, kernel == general)) wanted.push_back(special);
    }
    choose(launch, wanted);
  }

  /// What does not hold where the launch stands: the branches that sizes chose before it.
  void find_refused(Op* launch) {
    refused_.clear();
    for (Op* op = launch; op->parent(); op = op->parent()) {
      Op* choice = op->parent();
      bool is_choice = choice->is(host::info(host::OpKind::If)) && choice->has(host::attr::If::when);
      bool is_otherwise = is_choice && op->block() == choice->region(host::at::If::otherwise)->front();
      if (is_otherwise) refused_.push_back(read_facts(choice->attr(host::attr::If::when)));
    }
  }

  /// Whether sizes with those facts are never left to this launch.
  bool is_refused(const Facts& facts) {
    return std::ranges::any_of(refused_, [&](const Facts& when) {
      return std::ranges::all_of(when, [&](const DimFact& fact) { return decided(fact, facts) == true; });
    });
  }

  /// A kernel with roles, and how long a launch of it takes.
  struct Rival {
    Op* kernel;
    Dim clocks;
  };

  /// Of several kernels with roles the first that may run takes the fewest clocks. Where results allow no copies,
  /// copies of some of them are there: of all whose tiles are at most half of those of the copy before, or larger.
  void compare_rivals(std::vector<Op*>& choices) {
    std::vector<Rival> rivals, others;
    for (Op* kernel : choices) {
      Dim clocks = has_roles(kernel) && kernel != choices.back() ? launch_clocks(kernel, machine_) : nullptr;
      if (clocks) rivals.push_back({kernel, clocks});
    }
    if (rivals.size() < 2) return;
    bool is_new = !rivals_.contains(rivals[0].kernel);
    int64_t last = 0;
    for (size_t i = 0; is_new && i < rivals.size(); ++i) {
      Op*& other = rivals_[rivals[i].kernel];
      int64_t tile = tile_elements(rivals[i].kernel);
      bool is_near = last / 2 < tile && tile <= last;
      if (is_near && i + 1 < rivals.size()) continue;
      last = tile;
      other = copy(rivals[i].kernel, {});
      for_other_results_.insert(other);
      were_used_.insert(other);
      others.push_back({other, rivals[i].clocks});
    }
    if (is_new) {
      assume_fewest_clocks(rivals);
      assume_fewest_clocks(others);
    }
    for (const Rival& each : rivals) {
      if (Op* other = rivals_.at(each.kernel)) choices.insert(choices.end() - 1, other);
    }
  }

  /// Each assumes that no later one takes fewer clocks, but for as few as the model cannot tell.
  void assume_fewest_clocks(std::span<const Rival> rivals) {
    Dim enough = table_.constant(20), beside = table_.constant(21);
    for (size_t i = 0; i < rivals.size(); ++i) {
      Facts facts;
      for (const Rival& later : rivals.subspan(i + 1)) {
        DimFact is_faster{Relation::LessEqual, table_.mul(rivals[i].clocks, enough), table_.mul(later.clocks, beside)};
        if (decided(is_faster, {}) != true) facts.push_back(is_faster);
      }
      assume(rivals[i].kernel, facts);
    }
  }

  /// Elements of a program's part of the result.
  static int64_t tile_elements(Op* kernel) {
    int64_t elements = 1;
    for (Attr axis : kernel->attr(attr::Kernel::axes)) {
      using entry::Axis;
      if (entry::read(axis, Axis::grid)) elements *= entry::read(axis, Axis::block)->constant().value_or(1);
    }
    return elements;
  }

  /// As `decide`, which variants of a launch ask the same, and so do the layers of a model.
  std::optional<bool> decided(const DimFact& fact, const Facts& facts) {
    auto key_of = [](const DimFact& each) { return FactKey(each.relation, each.left, each.right); };
    std::vector<FactKey> given;
    std::ranges::transform(facts, std::back_inserter(given), key_of);
    auto [answers, is_new] = answers_.try_emplace(std::move(given), table_, facts);
    auto [known, is_first] = answers->second.known.try_emplace(key_of(fact));
    if (is_first) known->second = answers->second.decider.decide(fact);
    return known->second;
  }

  /// The launch takes the first of the kernels that may run, without those of which sizes say at once that they never
  /// do, or that an earlier one does.
  void choose(Op* launch, const std::vector<Op*>& kernels) {
    std::vector<Op*> kept;
    for (Op* kernel : kernels) {
      bool always = true, never = false;
      Facts facts = host::assumptions(launch, kernel);
      for (const DimFact& fact : facts) {
        std::optional<bool> known = is_reasoned(fact) ? decided(fact, known_) : decide_at_once(table_, fact);
        always &= known == true;
        never |= known == false;
      }
      Facts here = known_, reasoned;
      add_facts(here, facts);
      std::ranges::copy_if(here, std::back_inserter(reasoned), is_reasoned);
      never |= !facts.empty() && is_refused(reasoned);
      bool covered = std::ranges::any_of(kept, [&](Op* earlier) {
        return std::ranges::all_of(host::assumptions(launch, earlier), [&](const DimFact& fact) {
          if (excludes_empty(fact) || has_fact(here, fact)) return true;
          return (is_reasoned(fact) ? decided(fact, reasoned) : decide_at_once(table_, fact)) == true;
        });
      });
      // What is covered but for empty sizes is not needed, unless it is all that empty sizes have.
      if (never || (covered && !always)) continue;
      kept.push_back(kernel);
      if (always) break;
    }
    Op* general = kept.back();
    if (depend_on_iterations(launch, host::assumptions(launch, general))) {
      general = host::choices(launch).back();
    } else {
      kept.pop_back();
      add_guards(launch, host::assumptions(launch, general), known_);
    }
    launch->set(host::attr::Launch::kernel, symbol_name(general));
    launch->set_node(host::attr::Launch::variants, symbols_attr(context_, kept));
  }

  /// The kernel with its copies before it, the most special first; without the kernel itself where it has no place.
  const std::vector<Op*>& specials(Op* kernel, bool is_general) {
    auto [known, is_new] = made_.try_emplace(kernel);
    if (!is_new) return known->second;
    std::vector<Op*> all;
    if (has_roles(kernel)) {
      add_copying(kernel, is_general, all);
    } else {
      add_vectorised(kernel, all);
    }
    return made_[kernel] = std::move(all);
  }

  bool has_roles(Op* kernel) const {
    return machine_.gpu.has_tma && entry::node(kernel->attr(common::Kernel::schedule), schedule::key::roles);
  }

  /// What is not taken is among `were_used_`, and goes.
  void add_copying(Op* kernel, bool is_general, std::vector<Op*>& all) {
    KernelNeeds needs(kernel);
    std::vector<Op*> kernels{kernel};
    if (needs.has_depths()) kernels = depth_copies(kernel, needs);
    were_used_.insert(kernels.begin(), kernels.end());
    for (Op* each : kernels) add_copying_one(each, is_general, all);
  }

  void add_copying_one(Op* kernel, bool is_general, std::vector<Op*>& all) {
    KernelNeeds needs(kernel);
    std::optional<Facts> copies = needs.operand_copies();
    GpuSchedule schedule = gpu_schedule(kernel, machine_);
    bool fits = !schedule.compute_registers ||
                needs.held_in_loops(32 * schedule.compute_warps) <= schedule.compute_registers;
    if (!copies || (!fits && !is_general)) {
      if (is_general) all.push_back(kernel);
      return;
    }
    Facts also = needs.result_copies(), beside = needs.copies_beside();
    auto are_known = [&](const Facts& facts) {
      return std::ranges::all_of(facts, [&](const DimFact& fact) { return has_fact(*copies, fact); });
    };
    if (!are_known(beside)) {
      add_facts(beside, *copies);
      Facts all_copies = beside;
      add_facts(all_copies, also);
      if (!are_known(also) && !for_other_results_.contains(kernel)) all.push_back(copy(kernel, all_copies));
      all.push_back(copy(kernel, beside));
    }
    if (!are_known(also)) {
      add_facts(also, *copies);
      if (!for_other_results_.contains(kernel)) all.push_back(copy(kernel, also));
      if (rivals_.contains(kernel)) return;
    }
    if (is_general && !copies->empty()) all.push_back(copy(kernel, *copies));
    if (!is_general) assume(kernel, *copies);
    all.push_back(kernel);
  }

  void add_vectorised(Op* kernel, std::vector<Op*>& all) {
    KernelNeeds needs(kernel);
    Facts vectors = needs.vectors();
    if (needs.has_depths()) {
      std::vector<Op*> any = depth_copies(kernel, needs);
      if (!vectors.empty()) {
        for (Op* special : any) all.push_back(copy(special, vectors));
      }
      all.insert(all.end(), any.begin(), any.end());
      return;
    }
    Rows rows = rows_of(kernel, needs);
    Dim extent = rows.extent;
    bool bounded = rows.extents.size() == 1, is_own = bool(kernel->attr(common::Kernel::own));
    if (rows.walks && !rows.alone && !vectors.empty()) add_walk(kernel, extent, vectors, all);
    bool held = extent && !vectors.empty() && add_rows(kernel, extent, rows.extents, vectors, rows.with_vectors, all);
    if (!vectors.empty() && !bounded) all.push_back(copy(kernel, vectors));
    // What an operand is computed of is narrower, and half a vector of it, or less, is as many elements. Threads that
    // compute an operand of single elements have no time for those of the other one, too.
    int64_t elements = needs.elements_of_computed();
    Facts narrow = elements ? needs.vectors({.elements = elements}) : Facts{}, beside = needs.vectors_beside_computed();
    auto is_less = [](const Facts& facts, const Facts& than) {
      return !facts.empty() && std::ranges::any_of(than, [&](const DimFact& fact) { return !has_fact(facts, fact); });
    };
    if (is_less(narrow, vectors) && !bounded) all.push_back(copy(kernel, narrow));
    if (is_less(beside, vectors) && !bounded) all.push_back(copy(kernel, beside));
    // Rows that are walked in a loop are long where shorter ones have kernels of their own.
    if (held && !bounded && !is_own) set_warps(all.back(), most_warps);
    // Long rows of an even number of 16-bit elements are half as many accesses.
    bool has_pairs = extent && !bounded && !vectors.empty() && needs.combines();
    Facts pairs = has_pairs ? needs.vectors({.bytes = pair_bytes}) : Facts{};
    if (!pairs.empty()) {
      std::vector<int64_t> some;
      auto are_for_pairs = [&](int64_t row) { return rows.are_for_pairs(row); };
      std::ranges::copy_if(rows.extents, std::back_inserter(some), are_for_pairs);
      if (rows.walks) add_walk(kernel, extent, pairs, all);
      bool are_held = add_rows(kernel, extent, some, pairs, rows.with_pairs, all);
      all.push_back(copy(kernel, pairs));
      if (are_held && !is_own) set_warps(all.back(), most_warps);
    }
    // What only moves elements walks longer rows in a loop as well, if it is no vectors that it moves.
    if (rows.walks && !vectors.empty()) add_walk(kernel, extent, {}, all);
    size_t first = all.size();
    bool any = bounded ? vectors.empty() || is_row_of_any(rows.extents[0]) : vectors.empty() || needs.combines();
    held = extent && any && add_rows(kernel, extent, rows.extents, {}, rows.with_any, all);
    // What combines elements may have no place for longer rows (split_large_tiles).
    for (size_t i = first; i < all.size() && !bounded && !vectors.empty(); ++i) {
      if (!rows.are_for_any(bound_of(all[i], extent).value())) all[i]->set(common::Kernel::fallback, true);
    }
    if (bounded && !all.empty()) return;
    if (held && !bounded && !is_own) set_warps(kernel, most_warps);
    if (needs.whole_extents().empty() && needs.combines()) widen_known(kernel, needs);
    all.push_back(kernel);
  }

  /// Rows of a known extent that the kernel's warps cannot hold get more of them.
  void widen_known(Op* kernel, const KernelNeeds& needs) {
    int64_t warps = gpu_schedule(kernel, machine_).compute_warps, wanted = warps;
    int64_t registers = needs.largest_tile({}) / machine_.gpu.warp_size;
    if (registers <= warps * most_row_registers || kernel->attr(common::Kernel::own)) return;
    while (wanted < most_warps && registers > wanted * row_registers(machine_)) wanted *= 2;
    set_warps(kernel, wanted);
  }

  /// How a program's threads hold a row.
  struct RowThreads {
    int64_t most;           ///< registers of a thread for it, at most
    int64_t warps_of_long;  ///< warps for rows that are too long for that; 0: there are no kernels for those
  };

  /// The rows that a kernel's programs take whole, and what is done with them.
  struct Rows {
    Dim extent = nullptr;              ///< null: there are none
    std::vector<int64_t> extents = {}; ///< of kernels that hold them
    bool alone = false;    ///< one row of numbers of 32 bits, and nothing else that has its extent and needs registers
    bool walks = false;    ///< where they are long and many, few warps walk each
    bool stores = false;   ///< what is computed of them and of what they are combined to is stored
    bool returns = false;  ///< the same, and it is short to compute
    RowThreads with_vectors = {}, with_pairs = {}, with_any = {};

    bool are_for_any(int64_t row) const { return is_row_of_any(row) || (returns && is_for_stores(row)); }
    bool are_for_pairs(int64_t row) const { return is_row_of_any(row) || (stores && is_for_stores(row)); }
    static bool is_for_stores(int64_t row) { return row > longest_of_any() || !std::has_single_bit(uint64_t(row)); }
  };

  Rows rows_of(Op* kernel, const KernelNeeds& needs) {
    Rows rows{.extent = needs.row_extent()};
    if (!rows.extent) return rows;
    bool is_own = bool(kernel->attr(common::Kernel::own)), has_wgmma = machine_.gpu.has_wgmma;
    // For sm_80 the assembler spills a few registers of such a kernel.
    rows.alone = has_wgmma && needs.largest_tile({{rows.extent, 1}}) == 1 && needs.loads_along(rows.extent) == 1;
    rows.stores = !is_own && needs.stores_reduced(rows.extent);
    rows.returns = rows.stores && has_wgmma && needs.returns_to_rows(rows.extent);
    std::optional<int64_t> bound = bound_of(kernel, rows.extent);
    std::span<const int64_t> extents = rows.stores ? stored_rows() : long_rows();
    rows.extents = bound ? std::vector{*bound} : std::vector(extents.begin(), extents.end());
    rows.walks = !bound && !is_own && needs.combines() && !needs.stores_along(rows.extent);
    // Fewer warps with more of a row each have less to combine. More than one row is not read again in a loop, and none
    // where it is no vectors that are read.
    int64_t most = row_registers(machine_);
    bool is_read_once = rows.alone || (rows.stores && has_wgmma && needs.own_rows(rows.extent) > 1);
    int64_t warps_of_long = rows.returns ? 2 * most_warps : rows.alone ? most_warps : 0;
    rows.with_any = {most, warps_of_long};
    rows.with_pairs = {rows.stores ? most * 5 / 4 : most, warps_of_long};
    rows.with_vectors = {rows.stores ? most * 3 / 2 : most, is_read_once ? most_warps : 0};
    if (rows.stores && rows.alone) rows.with_vectors.most = most_row_registers;
    return rows;
  }

  /// The extent that the kernel's assumptions keep rows within.
  static std::optional<int64_t> bound_of(Op* kernel, Dim extent) {
    for (const DimFact& fact : read_facts(kernel->attr(common::Kernel::assume))) {
      bool bounds = fact.relation == Relation::LessEqual && fact.left == extent && fact.right->constant();
      if (bounds) return *fact.right->constant();
    }
    return std::nullopt;
  }

  /// Whether all of the kernel's axes are taken whole: no other program keeps the machine busy.
  static bool is_one_program(Op* kernel) {
    return std::ranges::none_of(kernel->attr(attr::Kernel::axes), [](Attr axis) {
      using entry::Axis;
      return entry::read(axis, Axis::grid) && !entry::read(axis, Axis::extent)->is_constant(1);
    });
  }

  /// Warps that hold so many registers of each lane, at most so many of them in a thread.
  static int64_t warps_for(int64_t registers, int64_t most) {
    return int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(1, (registers + most - 1) / most))));
  }

  /// Copies for rows that registers hold; false where there are none. With vectors they leave empty rows to others.
  /// Rows that are too long for them are held by so many warps, whose threads have a multiprocessor's registers.
  bool add_rows(Op* kernel, Dim extent, const std::vector<int64_t>& rows, const Facts& also, const RowThreads& threads,
                std::vector<Op*>& all) {
    KernelNeeds needs(kernel);
    size_t before = all.size();
    for (int64_t row : rows) {
      int64_t registers = needs.largest_tile({{extent, row}}) / machine_.gpu.warp_size;
      int64_t warps = std::max(warps_for(registers, threads.most),
                               std::min(row_warps, warps_for(registers, row_registers(machine_))));
      bool is_longer = registers > most_warps * row_registers(machine_);
      bool is_long = is_longer && threads.warps_of_long && registers <= most_warps * most_row_registers;
      if (is_long) warps = threads.warps_of_long;
      if (is_one_program(kernel)) warps = std::max(warps, std::min(most_warps, registers / few_row_registers));
      if (is_longer && !is_long) break;
      // What pad_tiles makes of it is a longer row that has a kernel.
      bool is_padded = row % (warps * machine_.gpu.warp_size * vector_elements) != 0;
      if (is_padded && !std::has_single_bit(uint64_t(row))) continue;
      Facts facts = also;
      add_facts(facts, {{Relation::LessEqual, extent, table_.constant(row)}});
      if (!also.empty()) add_facts(facts, {{Relation::GreaterEqual, extent, table_.constant(1)}});
      Op* special = copy(kernel, facts);
      take_rows(special, {{extent, row}});
      set_warps(special, warps);
      all.push_back(special);
    }
    return all.size() > before;
  }

  /// Programs of a launch of the kernel.
  Dim programs_of(Op* kernel) {
    Dim programs = table_.constant(1);
    for (Attr axis : kernel->attr(attr::Kernel::axes)) {
      using entry::Axis;
      if (!entry::read(axis, Axis::grid)) continue;
      programs = table_.mul(programs, table_.ceildiv(entry::read(axis, Axis::extent), entry::read(axis, Axis::block)));
    }
    return programs;
  }

  /// A copy by which few warps walk each of many long rows, which are only combined. Each warp of a program takes as
  /// long for its start and its part of the result as for a thousand elements, and other rows are loaded meanwhile.
  /// Places in such rows are numbers of 32 bits (narrow_integers).
  void add_walk(Op* kernel, Dim extent, const Facts& also, std::vector<Op*>& all) {
    int64_t held = few_warps * machine_.gpu.warp_size * row_registers(machine_);
    int64_t many = programs_of_few * machine_.gpu.peaks.multiprocessors;
    Facts facts = also;
    add_facts(facts, {{Relation::Greater, extent, table_.constant(held)},
                      {Relation::Less, extent, table_.constant(INT32_MAX)},
                      {Relation::GreaterEqual, programs_of(kernel), table_.constant(many)}});
    Op* special = copy(kernel, facts);
    set_warps(special, few_warps);
    all.push_back(special);
  }

  Op* copy(Op* kernel, const Facts& facts) {
    std::map<Value*, Value*> values;
    Op* made = module_.clone(kernel, values);
    made->set_node(common::Function::symbol, variant_symbol(module_, general_name_));
    made->move_before(kernel);
    assume(made, facts);
    return made;
  }

  void assume(Op* kernel, const Facts& facts) {
    Facts all = read_facts(kernel->attr(common::Kernel::assume));
    add_facts(all, facts);
    std::vector<Attr> attributes;
    for (const DimFact& fact : all) attributes.push_back(fact_attr(context_, fact));
    if (!attributes.empty()) kernel->set(common::Kernel::assume, std::move(attributes));
  }

  /// A copy for each depth that registers can hold, in place of the kernel: a dot has to have an end.
  std::vector<Op*> depth_copies(Op* kernel, const KernelNeeds& needs) {
    int64_t threads = 32 * gpu_schedule(kernel, machine_).compute_warps;
    std::vector<Op*> any;
    for (int64_t depth : depths) {
      Extents extents = depths_within(kernel, needs, depth);
      if (depth != depths[0] && needs.largest_tile(extents) > registers_per_accumulator * threads) break;
      Facts facts;
      for (auto [extent, most] : extents)
        facts.push_back({Relation::LessEqual, extent, table_.constant(most)});
      Op* special = copy(kernel, facts);
      take_rows(special, extents);
      any.push_back(special);
    }
    return any;
  }

  /// The depth for each whole axis, or the first one that the kernel's assumptions keep it within.
  Extents depths_within(Op* kernel, const KernelNeeds& needs, int64_t depth) {
    Facts known = read_facts(kernel->attr(common::Kernel::assume));
    Extents extents;
    for (Dim extent : needs.whole_extents()) {
      int64_t most = depth;
      for (int64_t smaller : depths) {
        bool within = decide(table_, {Relation::LessEqual, extent, table_.constant(smaller)}, known) == true;
        if (within) most = std::min(most, smaller);
      }
      extents.emplace_back(extent, most);
    }
    return extents;
  }

  /// Tiles of symbolic extents become tiles of so many elements.
  void take_rows(Op* kernel, const Extents& extents) {
    auto taken = [&](Dim dim) {
      std::optional<int64_t> elements = extent_in(extents, dim);
      return elements ? table_.constant(*elements) : dim;
    };
    auto retype = [&](Value* value) {
      if (!value->type()->is(TypeKind::Tile)) return;
      std::vector<Dim> dims = value->type()->dims;
      for (Dim& dim : dims) dim = taken(dim);
      value->set_type(context_.tile(std::move(dims), value->type()->dtype));
    };
    walk(kernel, [&](Op* op) {
      for (unsigned i = 0; i < op->result_count(); ++i) retype(op->result(i));
      for (unsigned r = 0; r < op->region_count(); ++r) {
        Block* block = op->region(r)->front();
        for (unsigned i = 0; block && i < block->arg_count(); ++i) retype(block->arg(i));
      }
    });
    std::vector<Attr> axes;
    for (Attr axis : kernel->attr(attr::Kernel::axes)) {
      using entry::Axis;
      Attr name = entry::node(axis, Axis::name), extent = entry::node(axis, Axis::extent);
      Attr grid = entry::node(axis, Axis::grid);
      Dim block = taken(entry::read(axis, Axis::block));
      axes.push_back(entry::make_dict(
          context_, {Axis::name(name), Axis::extent(extent), Axis::block(context_, block), Axis::grid(grid)}));
    }
    kernel->set(attr::Kernel::axes, std::move(axes));
  }

  void set_warps(Op* kernel, int64_t warps) {
    std::vector<NamedAttr> schedule;
    for (const auto& [key, value] : kernel->attr(common::Kernel::schedule)->entries) {
      if (key != "warps") schedule.emplace_back(key, value);
    }
    schedule.emplace_back("warps", context_.integer(warps));
    kernel->set(common::Kernel::schedule, std::move(schedule));
  }

  void erase_unused_kernels() {
    std::set<Op*> named;
    for (Op* op : *module_.body()) {
      walk(op, [&](Op* inner) {
        if (!inner->is(host::info(host::OpKind::Launch))) return;
        for (Op* kernel : host::choices(inner)) named.insert(kernel);
      });
    }
    for (const auto& [kernel, all] : made_) were_used_.insert(all.begin(), all.end());
    for (Op* kernel : were_used_) {
      if (!named.contains(kernel)) kernel->erase();
    }
  }

  /// A variant that took the place of the kernel it was made for has that one's name.
  void shorten_names() {
    for (Op* function : *module_.body()) {
      if (!function->is(host::info(host::OpKind::Func))) continue;
      walk(function, [&](Op* launch) {
        if (!launch->is(host::info(host::OpKind::Launch))) return;
        std::string_view name = launch->attr(host::attr::Launch::kernel);
        size_t mark = name.find_last_not_of("0123456789");
        bool is_variant = mark + 1 < name.size() && mark > 0 && name.substr(mark - 1, 2) == ".v";
        std::string_view general = name.substr(0, is_variant ? mark - 1 : name.size());
        if (is_variant && !module_.find(general)) rename(module_.find(name), general);
      });
    }
  }

  void rename(Op* kernel, std::string_view name) {
    std::string before(symbol_name(kernel)), after(name);
    set_symbol_name(kernel, after);
    for (Op* function : *module_.body()) {
      walk(function, [&](Op* launch) {
        if (!launch->is(host::info(host::OpKind::Launch))) return;
        if (launch->attr(host::attr::Launch::kernel) == before)
          launch->set(host::attr::Launch::kernel, after);
        if (!launch->has(host::attr::Launch::variants)) return;
        AttrList variants = launch->attr(host::attr::Launch::variants);
        std::vector<std::string> names(variants.begin(), variants.end());
        std::ranges::replace(names, before, after);
        launch->set(host::attr::Launch::variants, names);
      });
    }
  }

  Module& module_;
  Context& context_;
  DimTable& table_;
  const Machine& machine_;
  Facts known_;                 ///< where the launch at hand stands
  std::vector<Facts> refused_;  ///< each never hold together there
  using FactKey = std::tuple<Relation, Dim, Dim>;
  struct Answers {
    Answers(DimTable& table, const Facts& facts) : decider(table, facts) {}
    DimDecider decider;
    std::map<FactKey, std::optional<bool>> known;
  };
  std::map<std::vector<FactKey>, Answers> answers_;  ///< by the facts from which they follow
  std::string general_name_;  ///< of the kernel that the launch at hand always may run
  std::map<Op*, std::vector<Op*>> made_;
  std::set<Op*> were_used_;
  /// Kernels with roles of which the sizes of a launch choose one, and their copies for other results.
  std::map<Op*, Op*> rivals_;
  std::set<Op*> for_other_results_;  ///< those for results that no copies bring to memory
};

}  // namespace

Status specialise_kernels(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "specialise_kernels needs a machine");
  Specialisation(module, *context.machine).run();
  return success;
}

}  // namespace tessera
