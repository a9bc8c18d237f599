// From tiles of any size to fragments in registers (CPU targets).
//
// A tile program is a set of functions of indices: an op says how an element is computed from
// elements of its operands. So whole tiles need never exist. Only the *roots* must happen: stores,
// and the ops that combine elements (reduce, dot, loops that carry values). The pass writes loops
// over fragments for each root. Inside of them it asks for the fragment of every operand by the
// program axes that the operand runs along (tile_axes.h): elementwise ops become the same op on
// fragments, loads become loads of fragments, transposes and reshapes disappear because they only
// rename axes.
//
//   1. An axis that no op combines, and along which every root's result runs, gets its loops outside
//      of everything: the programs for different fragments of it are independent. For a dot those
//      axes are the rows and columns of the result, so that all of k runs inside and the accumulator
//      stays in registers; for a norm they are the rows.
//   2. Inside, the roots follow each other as *stages* (fragment_stages.h), each with a loop over the
//      axis it needs; stages that do not depend on each other share a loop. A reduction keeps a
//      fragment of partial results, combined element by element, and combines that fragment once at
//      the end. If several stages need a value with a transcendental in it, the first one keeps it
//      in scratch memory.
//   3. An op is written in the outermost loop where its operands are known, and once for each
//      fragment (fragment_emitter.h).
//   4. The operands of a dot are copied into panels first (fragment_panels.h) when they are read
//      often.
//   5. Loops run over whole fragments first, without limits, then once over the rest, with limits.
//
// Back-to-back dots in a loop over blocks (attention) have the rows of the first as the columns of
// fragments. No op combines that axis, so a softmax along the keys combines vectors element by
// element, and keys and values are read where they are, one number at a time. Blocks of scores and
// weights are kept in scratch memory, and so is a loop-carried tile that is larger than a fragment.
//
// The pass refuses other kernels with `unsupported-tile-split`: those with values that run along
// one axis twice, and those that read memory that they write.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "ir/core/common_attributes.h"
#include "ir/schedule/schedule_keys.h"
#include "ir/text/entries.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/analysis/launch_choices.h"
#include "passes/analysis/row_tiles.h"
#include "passes/tile/common/unused_keys.h"
#include "passes/tile/cpu/fragment_pairs.h"
#include "passes/tile/cpu/fragment_sharing.h"
#include "passes/tile/cpu/fragment_stages.h"
#include "support/diagnostic_rows.h"

namespace tessera {

using tile::kind_of;
using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

class KernelSplit {
 public:
  KernelSplit(Op* kernel, PassContext& context)
      : kernel_(kernel), context_(context), axes_(kernel), sharing_(kernel, context, axes_) {}

  Status run(UnusedKeyReport& report) {
    collect();
    if (!check()) return failure;
    choose_outer_axes();
    choose_shape();
    unused_ = unused_keys();
    choose_panels();
    write(report);
    return failed_ ? Status(failure) : success;
  }

 private:
  void collect() {
    walk(kernel_, [&](Op* op) {
      if (op->is(tile::info(OpKind::Store))) stores_.push_back(op);
      if (op->is(tile::info(OpKind::Dot))) dots_.push_back(op);
      if (op->is(tile::info(OpKind::Load)) || op->is(tile::info(OpKind::Store)))
        accesses_.push_back(op);
      if (op->is(tile::info(OpKind::Gather))) accesses_.push_back(op);
      if (op->is(tile::info(OpKind::Scatter))) scatters_.push_back(op);
      if (is_fragment_root(op, axes_) && op->result_count()) roots_.push_back(op);
    });
  }

  bool reject(Op* op, const std::string& reason) {
    context_.diagnostics.report(diag::unsupported_tile_split, op->loc(), std::string(op->name()),
                                reason);
    return false;
  }

  /// What a window is on.
  static Value* root_of(Value* memory) {
    bool is_view = memory->def() && memory->def()->operand_count() > 0;
    return is_view ? memory->def()->operand(0) : memory;
  }

  bool check() {
    if (Value* twice = axes_.repeated()) {
      Op* op = twice->def() ? twice->def() : kernel_;
      return reject(op, "the value of type " + twice->type()->text + " runs along one axis twice");
    }
    std::set<Value*> written;
    walk(kernel_, [&](Op* op) {
      for (Value* memory : op->ins(ValueClass::WrittenMemory)) written.insert(root_of(memory));
    });
    bool fine = true;
    walk(kernel_, [&](Op* op) {
      OpKind kind = kind_of(op);
      if (fine && kind == OpKind::Merge) fine = reject(op, "it is not expected before fragments are made");
      if (fine && op->info().has(Threaded)) fine = reject(op, "its kernel holds tiles larger than its registers");
      for (Value* memory : op->ins(ValueClass::ReadMemory)) {
        bool meets_writes = !is_private_load(op) && written.contains(root_of(memory));
        if (fine && meets_writes) fine = reject(op, "it reads memory that the kernel writes");
      }
      bool keeps = kind == OpKind::Reduce && op->attr(attr::Reduce::keep);
      if (fine && keeps) fine = reject(op, "it keeps the axis that it combines");
    });
    return fine;
  }

  /// Axes that some op combines elements along.
  std::set<int> combined_axes() const {
    std::set<int> combined;
    for (Op* op : roots_) {
      if (op->is(tile::info(OpKind::Reduce)) || op->is(tile::info(OpKind::Scan)))
        combined.insert(axes_.of(op->operand(0), size_t(op->attr(common::Along::axis))));
      if (op->is(tile::info(OpKind::Dot))) combined.insert(axes_.of(op->operand(0), 1));
    }
    return combined;
  }

  bool runs_along(Value* value, int axis) const {
    std::vector<int> all = axes_.of(value);
    return std::find(all.begin(), all.end(), axis) != all.end();
  }

  /// Axes along which memory of the program is not read where it is written: a fragment reads the
  /// results of others.
  void find_crossed() {
    std::map<std::pair<Value*, size_t>, std::pair<int, Value*>> known;  // per dim of a memory
    for (Op* op : accesses_) {
      bool stores = is_private_store(op);
      if (!stores && !is_private_load(op)) continue;
      Value* value = stores ? op->in(in::Store::value) : op->result();
      Value* memory = root_of(op->in(stores ? unsigned(in::Store::memory) : unsigned(in::Load::memory)));
      std::vector<Value*> offsets = op->ins(stores ? unsigned(in::Store::offsets) : unsigned(in::Load::offsets));
      size_t lead = offsets.size() - value->type()->rank();
      for (size_t i = 0; i < value->type()->rank(); ++i) {
        int axis = axes_.of(value, i);
        Value* offset = offsets[lead + i];
        auto [first, is_first] = known.try_emplace({memory, lead + i}, axis, offset);
        auto [axis_before, offset_before] = first->second;
        bool same_place = offset == offset_before ||
                          (tile::known_index(offset) && tile::known_index(offset) == tile::known_index(offset_before));
        if (axis != axis_before || !same_place) crossed_.insert({axis, axis_before});
      }
    }
  }

  bool is_outer(int axis) const {
    if (crossed_.contains(axis)) return false;
    for (Op* store : stores_) {
      if (!runs_along(store->in(in::Store::value), axis)) return false;
    }
    for (Op* scatter : scatters_) {
      if (!runs_along(scatter->in(in::Scatter::value), axis)) return false;
    }
    for (Op* root : roots_) {
      for (unsigned i = 0; i < root->result_count(); ++i) {
        if (!runs_along(root->result(i), axis)) return false;
      }
    }
    return true;
  }

  /// Elements along an axis, or guessed ones.
  int64_t extent_or_guess(int axis) const {
    constexpr int64_t guessed = 1024;
    return axis < 0 ? 1 : std::clamp<int64_t>(axes_.extent(axis)->constant().value_or(guessed), 1, guessed);
  }

  double elements_of(Value* value) const {
    double elements = 1;
    for (int axis : axes_.of(value)) elements *= double(extent_or_guess(axis));
    return elements;
  }

  /// What an access loads, gathers or stores.
  static Value* accessed(Op* access) {
    return access->is(tile::info(OpKind::Store)) ? access->in(in::Store::value) : access->result();
  }

  /// Which axis an access runs along in steps of one element, or -1.
  int unit_axis(Op* access) const {
    Value* value = accessed(access);
    Type memory = access->operand(access->is(tile::info(OpKind::Store)) ? 1 : 0)->type();
    for (size_t i = 0; i < value->type()->rank(); ++i) {
      if (axes_.of(value, i) >= 0 && is_contiguous_along(memory, value->type(), i)) return axes_.of(value, i);
    }
    return -1;
  }

  /// Instructions of accesses and reductions, about, if fragments have their columns along an axis: one for each vector
  /// of what runs along it, one for each element of other accesses, and a tree for each reduction along it.
  double cost_of_columns(int axis) const {
    double lanes = double(context_.machine->is_gpu() ? 32 : context_.machine->lanes(4));
    double used = std::min(double(extent_or_guess(axis)), lanes), cost = 0;
    for (Op* op : accesses_) {
      cost += elements_of(accessed(op)) / (unit_axis(op) == axis ? used : 1);
    }
    for (Op* op : roots_) {
      if (!common::is_along_axis(op)) continue;
      bool is_along = axes_.of(op->operand(0), size_t(op->attr(common::Along::axis))) == axis;
      cost += elements_of(op->operand(0)) / (runs_along(op->operand(0), axis) ? used : 1);
      if (is_along) cost += elements_of(op->operand(0)) / double(extent_or_guess(axis)) * std::log2(lanes);
    }
    return cost;
  }

  /// The axis of the columns: of those that some access runs along in steps of one element, the one that costs least.
  /// Rows that are gathered lie anywhere and cannot be columns.
  int contiguous_axis() const {
    std::set<int> candidates;
    for (Op* op : accesses_) candidates.insert(unit_axis(op));
    candidates.erase(-1);
    for (Op* op : accesses_) {
      if (op->is(tile::info(OpKind::Gather))) candidates.erase(axes_.of(op->result(), 0));
    }
    int best = -1;
    double least = 0;
    for (int axis : candidates) {
      double cost = cost_of_columns(axis);
      if (best < 0 || cost < least) best = axis, least = cost;
    }
    return best;
  }

  /// The axis of the rows of a kernel that only moves and computes elements: one that another access runs along in
  /// steps of one element, so that fragments are transposed in registers. -1 where there is none.
  int crossing_axis() const {
    if (!roots_.empty() || context_.machine->is_gpu()) return -1;
    for (Op* op : accesses_) {
      int axis = unit_axis(op);
      if (axis >= 0 && axis != column_ && runs_along(accessed(op), column_)) return axis;
    }
    return -1;
  }

  void choose_outer_axes() {
    find_crossed();
    std::set<int> combined = combined_axes();
    if (dots_.empty()) {
      column_ = contiguous_axis();
      row_ = crossing_axis();
    } else {
      row_ = axes_.of(dots_[0]->result(), 0);
      column_ = axes_.of(dots_[0]->result(), 1);
    }
    auto can_be_outer = [&](int axis) {
      return axis >= 0 && !combined.contains(axis) && is_outer(axis);
    };
    // Where a loop combines the columns block by block, the rows become the columns of fragments:
    // combining is then done lane by lane.
    back_to_back_ = !dots_.empty() && dots_[0]->block() != kernel_->region()->front() &&
               !context_.machine->is_gpu() && !can_be_outer(column_) && can_be_outer(row_);
    if (back_to_back_) column_ = std::exchange(row_, -1);
    for (int axis = 0; axis < int(axes_.count()); ++axis) {
      if (!combined.contains(axis) && is_outer(axis) && axis != row_ && axis != column_)
        outer_.push_back(axis);
    }
    if (!can_be_outer(row_) || (dots_.empty() && !can_be_outer(column_))) row_ = -1;
    transposes_ = dots_.empty() && row_ >= 0;
    column_outside_ = can_be_outer(column_) && (!context_.machine->is_gpu() || !roots_.empty());
    // Columns outside of rows: the panel of the right operand stays in the cache while rows pass
    // by.
    if (column_outside_) outer_.push_back(column_);
    if (row_ >= 0) outer_.push_back(row_);
    if (!column_outside_) column_ = -1;
  }

  /// How many operands each program reads long rows of its own of.
  size_t rows_read() const {
    std::set<Value*> memories;
    for (Op* op : accesses_) {
      if (!op->is(tile::info(OpKind::Load))) continue;
      const std::vector<Dim>& extents = op->result()->type()->dims;
      if (std::ranges::all_of(extents, [](Dim extent) { return extent->is_constant(1); })) continue;
      const auto& offsets = op->ins(in::Load::offsets);
      if (std::ranges::any_of(offsets, [](Value* offset) { return !tile::known_index(offset); })) {
        memories.insert(op->in(in::Load::memory));
      }
    }
    return memories.size();
  }

  void choose_shape() {
    const Machine& machine = *context_.machine;
    if (machine.is_gpu()) {
      ElementRegisters registers;
      walk(kernel_, [&](Op* op) { registers.add(op); });
      shape_.lanes = 32 * gpu_schedule(kernel_, machine).compute_warps;
      // What later loops read again stays in the cache of two programs side by side, or of one.
      int64_t together = rows_read() > 1 ? 1 : 2;
      shape_.width = shape_.lanes * std::max<int64_t>(1, row_registers(machine) / together / registers.count());
      shape_.keeps = false;
      // Few threads have loads of several iterations in flight. Stores would hold those of a later one up.
      constexpr int64_t few = 128;
      if (shape_.lanes <= few && !column_outside_ && only_combines()) shape_.copies = 2;
      if (column_outside_ && combines_rows()) choose_gpu_columns();
      return;
    }
    shape_.lanes = machine.lanes(4);
    shape_.width = shape_.lanes * std::max(1u, machine.vector_registers / 8);
    Attr schedule = kernel_->attr(attr::Kernel::schedule);
    // Copies of the innermost step are made only when asked for: the loop has enough independent
    // work without, and scheduling several steps together costs registers (tried: 1 step 260, 4
    // steps 233, 8 steps 180 GFLOP/s).
    shape_.unroll = entry::read(schedule, schedule::key::unroll).value_or(shape_.unroll);
    while (shape_.run % shape_.unroll != 0) --shape_.unroll;
    if (transposes_) {
      constexpr int64_t rows = 8;
      shape_.rows = rows;
      column_extent_ = shape_.lanes;
    }
    if (dots_.empty()) return;
    if (takes_pairs()) unit_ = pair_unit(machine);
    if (unit_ == PairUnit::Matrix) {
      shape_.rows = column_extent_ = pair_block;
      return;
    }
    if (back_to_back_) {
      choose_back_to_back_block(machine);
    } else {
      choose_register_block(machine);
    }
    AttrList fragment = entry::read(schedule, schedule::key::fragment);
    if (uses_matrix_unit(machine)) column_extent_ = pair_block;
    if (fragment.size() != 2 || uses_matrix_unit(machine)) return;
    int64_t lanes = shape_.lanes;
    if (row_ >= 0 || back_to_back_) shape_.rows = fragment[0];
    column_extent_ = std::max(lanes, fragment[1] / lanes * lanes);
  }

  /// Keys of a schedule for CPUs that this kernel does not take.
  std::vector<UnusedKey> unused_keys() const {
    namespace key = schedule::key;
    Attr schedule = kernel_->attr(attr::Kernel::schedule);
    std::vector<UnusedKey> found;
    bool on_matrix_unit = unit_ == PairUnit::Matrix || (!dots_.empty() && uses_matrix_unit(*context_.machine));
    if (entry::node(schedule, key::fragment) && (dots_.empty() || on_matrix_unit)) {
      found.push_back({.key = key::fragment.name,
                       .why = on_matrix_unit ? fmt::format("the matrix unit computes blocks of {0} x {0}", pair_block)
                                             : "it is the block of a dot's accumulator, and this kernel has no dot",
                       .is_everywhere = dots_.empty()});
    }
    if (entry::node(schedule, key::packing) && dots_.empty()) {
      found.push_back({.key = key::packing.name,
                       .why = "it copies operands of a dot, and this kernel has no dot",
                       .is_everywhere = true});
    }
    return found;
  }

  /// Those and what shows once the loops are written.
  void tell_unused(UnusedKeyReport& report, const FragmentStages& stages) {
    namespace key = schedule::key;
    if (context_.machine->is_gpu()) return;
    std::optional<int64_t> unroll = entry::read(kernel_->attr(attr::Kernel::schedule), key::unroll);
    if (unroll && !stages.unrolls()) {
      unused_.push_back({.key = key::unroll.name,
                         .why = "it copies steps of the loop of a dot that multiplies and adds vectors, and this "
                                "kernel has no such loop",
                         .is_everywhere = dots_.empty()});
    } else if (unroll && *unroll != shape_.unroll) {
      unused_.push_back({.key = key::unroll.name,
                         .why = fmt::format("{} copies do not divide the {} steps that the loop takes at a time: it is "
                                            "compiled with unroll={}",
                                            *unroll, shape_.run, shape_.unroll),
                         .part = fmt::format("'{}={}'", key::unroll.name, *unroll)});
    }
    report.tell(kernel_, unused_);
  }

  /// Whether elements are combined along something else than the columns.
  bool combines_rows() const {
    std::set<int> combined = combined_axes();
    combined.erase(column_);
    return !combined.empty();
  }

  /// Whether nothing is stored that runs along what is combined.
  bool only_combines() const {
    std::set<int> combined = combined_axes();
    auto is_stored = [&](int axis) {
      return std::ranges::any_of(stores_, [&](Op* store) { return runs_along(store->in(in::Store::value), axis); });
    };
    return scatters_.empty() && !combined.empty() && std::ranges::none_of(combined, is_stored);
  }

  /// As many columns as there are, in whole warps, and rows for the other threads: each thread then has independent
  /// loads in flight, and none is idle where the columns are few.
  void choose_gpu_columns() {
    constexpr int64_t warp = 32, most_unknown = 128;
    std::optional<int64_t> extent = axes_.extent(column_)->constant();
    int64_t columns = std::min(extent.value_or(most_unknown), shape_.width);
    column_extent_ = warp;
    while (column_extent_ < columns) column_extent_ *= 2;
    shape_.steps = std::max<int64_t>(shape_.width / column_extent_, 1);
  }

  /// Whether a matrix unit computes back-to-back dots: the columns at hand are then as many as it
  /// takes.
  bool uses_matrix_unit(const Machine& machine) const {
    if (!back_to_back_ || pair_unit(machine) != PairUnit::Matrix) return false;
    return std::any_of(dots_.begin(), dots_.end(), [&](Op* dot) {
      return back_to_back_forms(dot, column_, pair_block, pair_block, axes_).has_value();
    });
  }

  static PairUnit pair_unit(const Machine& machine) {
    if (machine.has_bf16_tiles) return PairUnit::Matrix;
    return machine.has_bf16_pairs ? PairUnit::Vectors : PairUnit::None;
  }

  /// Whether the kernel has dots of pairs and their epilogues, and nothing else.
  bool takes_pairs() const {
    bool packs = entry::read(kernel_->attr(attr::Kernel::schedule), schedule::key::packing).value_or("both") == "both";
    if (!packs || row_ < 0 || !column_outside_) return false;
    return std::all_of(roots_.begin(), roots_.end(), [&](Op* root) {
      return root->is(tile::info(OpKind::Dot)) && root->block() == kernel_->region()->front() &&
             axes_.of(root->result(), 0) == row_ && axes_.of(root->result(), 1) == column_ &&
             is_pair_dot(root, axes_);
    });
  }

  /// Rows x columns of the accumulators: three quarters of the registers, wider where there are
  /// fewer rows.
  void choose_register_block(const Machine& machine) {
    bool many = machine.vector_registers >= 32;
    int64_t bytes = 4;
    for (Op* dot : dots_) bytes = std::max<int64_t>(bytes, byte_size(dot->result()->type()->dtype));
    int64_t budget = (many ? 24 : 12) / (bytes / 4) / int64_t(dots_.size());
    int64_t rows = (many ? 8 : 6) / std::min<int64_t>(int64_t(dots_.size()), many ? 4 : 3);
    std::optional<int64_t> extent = row_ < 0 ? 1 : axes_.extent(row_)->constant();
    if (extent) rows = std::min(rows, *extent);
    shape_.rows = std::max<int64_t>(rows, 1);
    int64_t vectors = std::clamp<int64_t>(budget / shape_.rows, 1, 8);
    column_extent_ = vectors * shape_.lanes;
    extent = column_ < 0 ? std::nullopt : axes_.extent(column_)->constant();
    if (extent) {
      int64_t needed = (*extent + shape_.lanes - 1) / shape_.lanes * shape_.lanes;
      column_extent_ = std::min(column_extent_, std::max(needed, shape_.lanes));
    }
  }

  /// The same for back-to-back dots: each has the registers for itself, and the ops between them
  /// compute fragments of one row.
  void choose_back_to_back_block(const Machine& machine) {
    int64_t vectors = machine.vector_registers >= 32 ? 4 : 2;
    int64_t bytes = 4;
    for (Op* dot : dots_) bytes = std::max<int64_t>(bytes, byte_size(dot->result()->type()->dtype));
    shape_.rows = 4;
    column_extent_ = std::max<int64_t>(1, vectors * 4 / bytes) * shape_.lanes;
  }

  /// The limit that every store has on an axis, of what others see; null where it has none or they differ, which loads
  /// and stores then see to themselves.
  Value* common_limit(int axis) const {
    std::set<Value*> limits;
    Value* limit = nullptr;
    for (Op* store : stores_) {
      if (is_private_store(store)) continue;
      Value* value = store->in(in::Store::value);
      for (size_t i = 0; i < value->type()->rank(); ++i) {
        if (axes_.of(value, i) != axis) continue;
        limit = tile_limit(store, in::Store::limits, i, value->type()->dims[i]);
        limits.insert(limit);
      }
    }
    return limits.size() == 1 ? limit : nullptr;
  }

  void write(UnusedKeyReport& report) {
    OpState state;
    state.info = &kernel_->info();
    state.loc = kernel_->loc();
    state.attributes.assign(kernel_->attributes().begin(), kernel_->attributes().end());
    Op* split = kernel_->module()->create(state);
    split->move_before(kernel_);
    Block* body = split->region()->add_block();
    FragmentEmitter emitter(kernel_, context_, axes_, body, sharing_.add_parameters(body));
    FragmentStages stages(emitter, shape_);
    emitter.set_copies(shape_.copies);
    pack(emitter);
    multiply_back_to_back(emitter, stages);
    emitter.set_shape(row_, column_);
    outer_loop(emitter, stages, 0);
    emitter.builder().op(tile::info(OpKind::Return), {}, {});
    failed_ = emitter.failed();
    tell_unused(report, stages);
    if (!failed_) sharing_.launch(split);
    kernel_->erase();
    if (!failed_ && context_.machine->is_gpu()) refuse_scratch(split);
  }

  /// Programs of a GPU have no memory of their own. Then a variant for some sizes replaces the
  /// kernel for any size.
  void refuse_scratch(Op* split) {
    Op* scratch = nullptr;
    for (Op* op : *split->region()->front()) {
      if (!scratch && op->is(tile::info(OpKind::Alloc))) scratch = op;
    }
    if (!scratch) return;
    if (drop_choice(split)) return split->erase();
    context_.diagnostics
        .report(diag::unsupported_tile_split, scratch->loc(), std::string(symbol_name(split)),
                "its reduction along several axes does not fit the registers of a GPU's program")
        .help("combine along one axis at a time: in a loop over the elements of the other (`tile.range` with a block "
              "of 1), or in a kernel of its own; small constant extents need neither");
    failed_ = true;
  }

  int64_t extent_of(int axis) const {
    return axis == row_ ? shape_.rows : axis == column_ ? column_fragment() : 1;
  }
  int64_t column_fragment() const { return column_extent_ ? column_extent_ : shape_.width; }

  /// Which panels each dot has, and which of them kernels of their own pack.
  void choose_panels() {
    if (!column_outside_ || dots_.empty() || back_to_back_ || context_.machine->is_gpu()) return;
    PanelShape shape{row_,
                     column_,
                     shape_.rows,
                     column_fragment(),
                     shape_.run,
                     row_ < 0 ? nullptr : common_limit(row_),
                     common_limit(column_)};
    for (Op* dot : dots_) {
      forms_.push_back(
          panel_forms(dot, shape, kernel_->attr(attr::Kernel::schedule), unit_, axes_));
      for (const PanelForm& form : forms_.back()) sharing_.add(form);
    }
  }

  /// The panels of a factor, filled once however many dots read them.
  const Panels& filled(FragmentEmitter& emitter, const PanelForm& form) {
    for (const Panels& known : panels_) {
      if (known.form().factor == form.factor) return known;
    }
    Panels& panels = panels_.emplace_back(emitter, form);
    if (!sharing_.find(panels, emitter)) {
      panels.allocate();
      panels.fill();
    }
    return panels;
  }

  void pack(FragmentEmitter& emitter) {
    for (size_t i = 0; i < forms_.size(); ++i) {
      std::vector<const Panels*> made;
      for (const PanelForm& form : forms_[i]) made.push_back(&filled(emitter, form));
      if (unit_ == PairUnit::None) continue;
      pair_dots_.emplace_back(emitter, dots_[i], *made[1], *made[0], unit_).allocate();
    }
    // Panels are filled from the factors themselves, so that those are known last.
    if (unit_ != PairUnit::None) return;
    for (Panels& panels : panels_) panels.keep();
  }

  /// Back-to-back dots of pairs.
  void multiply_back_to_back(FragmentEmitter& emitter, FragmentStages& stages) {
    PairUnit unit = pair_unit(*context_.machine);
    if (!back_to_back_ || unit == PairUnit::None) return;
    int64_t rows = unit == PairUnit::Matrix ? pair_block : shape_.rows;
    for (Op* dot : dots_) {
      auto forms = back_to_back_forms(dot, column_, rows, column_extent_, axes_);
      if (!forms) continue;
      BackToBackDot& made = back_to_back_dots_.emplace_back(emitter, dot, forms->first, forms->second, unit);
      stages.multiply_by(dot, &made);
      paired_.insert(dot);
    }
  }

  /// All that the kernel does for the fragments at hand.
  void fragment(FragmentEmitter& emitter, FragmentStages& stages) {
    Block* body = kernel_->region()->front();
    for (PairDot& each : pair_dots_) each.multiply();
    auto kept = emitter.kept();
    for (BackToBackDot& made : back_to_back_dots_) made.fill_early();
    for (Op* dot : dots_) {
      if (back_to_back_ && !paired_.contains(dot)) stages.transpose_operands(dot);
    }
    if (unit_ == PairUnit::Matrix) {
      constexpr int64_t rows_at_once = 4;
      emitter.subdivide(row_, rows_at_once, Reach::Present, {},
                        [&](const FragmentEmitter::Values&) {
                          stages.block(body);
                          return FragmentEmitter::Values{};
                        });
    } else {
      stages.block(body);
    }
    if (!pair_dots_.empty()) emitter.take_panels();
    emitter.set_kept(std::move(kept));
  }

  void outer_loop(FragmentEmitter& emitter, FragmentStages& stages, size_t depth) {
    if (depth == outer_.size()) return fragment(emitter, stages);
    int axis = outer_[depth];
    emitter.loop(axis, extent_of(axis), common_limit(axis), TailKind::Limited, {},
                 [&](const FragmentEmitter::Values&) {
                   outer_loop(emitter, stages, depth + 1);
                   return FragmentEmitter::Values{};
                 });
  }

  Op* kernel_;
  PassContext& context_;
  TileAxes axes_;
  std::vector<Op*> stores_, scatters_, dots_, accesses_;
  std::vector<Op*> roots_;  ///< with results
  std::set<int> crossed_;
  std::vector<int> outer_;  ///< axes with loops outside of everything, outermost first
  int row_ = -1;
  int column_ = -1;
  bool transposes_ = false;    ///< memory runs along the rows of fragments, too
  bool back_to_back_ = false;  ///< the rows of the dots are the columns of fragments
  bool column_outside_ = false;
  std::vector<UnusedKey> unused_;  ///< keys of the schedule
  int64_t column_extent_ = 0;
  FragmentChoice shape_;
  PairUnit unit_ = PairUnit::None;  ///< what multiplies pairs, where all dots are of pairs
  PanelSharing sharing_;
  std::vector<std::vector<PanelForm>> forms_;  ///< per dot
  std::deque<Panels> panels_;
  std::deque<PairDot> pair_dots_;
  std::deque<BackToBackDot> back_to_back_dots_;
  std::set<Op*> paired_;  ///< the back-to-back dots of pairs
  bool failed_ = false;
};

/// On a GPU a program keeps its tiles in registers as they are, if they fit.
bool fits_registers(Op* kernel, const Machine& machine) {
  int64_t most = gpu_schedule(kernel, machine).most_elements();
  bool fits = true;
  bool has_dot = false;
  walk(kernel, [&](Op* op) {
    has_dot |= op->is(tile::info(OpKind::Dot));
    for (unsigned i = 0; i < op->result_count(); ++i) {
      Type type = op->result(i)->type();
      int64_t elements = 1;
      for (Dim dim : type->dims) elements *= std::min(dim->constant().value_or(most + 1), most + 1);
      fits &= !type->is(TypeKind::Tile) || elements <= most;
    }
  });
  return fits || has_dot;
}

/// Operands of dots lie in shared memory, whose extents are numbers: each of their axes needs a
/// block.
Status check_dots(Op* kernel, PassContext& context) {
  Status checked = success;
  walk(kernel, [&](Op* op) {
    for (unsigned i = 0; op->is(tile::info(OpKind::Dot)) && i < op->operand_count(); ++i) {
      Type type = op->operand(i)->type();
      if (!type->is(TypeKind::Tile) || checked.failed()) continue;
      auto open = std::find_if(type->dims.begin(), type->dims.end(), [](Dim dim) { return !dim->constant(); });
      if (open == type->dims.end()) continue;
      context.diagnostics
          .report(diag::unsupported_tile_split, op->loc(), std::string(op->name()),
                  "the extent " + (*open)->text + " of its operand is not known")
          .help("give each axis of a dot a block in the schedule");
      checked = failure;
    }
  });
  return checked;
}

Status split_kernel(Op* kernel, PassContext& context, UnusedKeyReport& report) {
  separate_axes(kernel);
  detour_repeated(kernel, !context.machine->is_gpu());
  return KernelSplit(kernel, context).run(report);
}

}  // namespace

Status split_to_fragments(Module& module, PassContext& context) {
  UnusedKeyReport report(context);
  for (Op* kernel : *module.body()) {
    bool is_kernel = kernel->is(tile::info(OpKind::Kernel));
    if (is_kernel && split_kernel(kernel, context, report).failed()) return failure;
  }
  drop_fallbacks(module);
  return success;
}

Status split_large_tiles(Module& module, PassContext& context) {
  UnusedKeyReport report(context);
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(OpKind::Kernel))) continue;
    if (check_dots(kernel, context).failed()) return failure;
    if (fits_registers(kernel, *context.machine)) continue;
    branches_to_selects(kernel);
    if (split_kernel(kernel, context, report).failed()) return failure;
  }
  drop_fallbacks(module);
  return success;
}

}  // namespace tessera
