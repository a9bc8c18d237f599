// Decides which thread holds which element of every tile (GPU).
//
// The axes of a program (tile_axes.h) make this one decision instead of many: a *base* is a layout over some of them,
// and every tile whose axes are among a base's gets the base with the other axes sliced away. Elementwise ops,
// broadcasts, reductions, transposes and reshapes then agree without a conversion, whatever order axes stand in. Where
// an op has tiles of two bases, one is converted (gpu/layout_agreement.h).
//
// MMAs come first: the accumulator of each gives a base, the map of the instruction that the
// machine has for it (wgmma, mma.sync, else blocks of fused multiply-adds). A factor that an MMA reads from registers
// gives another. The other ops have their largest tile as base: a blocked layout whose vectors run along the axis that
// is contiguous where the tile is loaded or stored.

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <set>

#include "ir/core/common_attributes.h"
#include "ir/core/kernel_size.h"
#include "ir/layout/families.h"
#include "ir/layout/text.h"
#include "ir/schedule/schedule_keys.h"
#include "ir/tile/build.h"
#include "ir/tile/shared_memory.h"
#include "passes/analysis/divisibility.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/pass.h"
#include "passes/tile/common/tile_axes.h"
#include "passes/tile/gpu/layout_agreement.h"
#include "passes/tile/gpu/mma_unit.h"
#include "passes/tile/gpu/register_footprint.h"
#include "passes/tile/gpu/tensor_copies.h"
#include "support/check.h"
#include "support/diagnostic_rows.h"

namespace tessera {

using layout::Layout;
using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

constexpr int vector_bytes = 16;

class LayoutAssignment {
 public:
  explicit LayoutAssignment(Op* kernel)
      : kernel_(kernel), context_(kernel->module()->context()), axes_(kernel), known_(kernel) {}

  /// A value that no layout can hold, since it runs along one axis twice; null if there is none.
  Value* repeated() const { return axes_.repeated(); }

  void run() {
    collect();
    std::vector<Op*> mmas;
    for (Value* value : tiles_) {
      Op* def = value->def();
      if (def && def->is(tile::info(OpKind::Mma))) mmas.push_back(def);
    }
    // The layout of the sums of wgmma serves the others, too.
    auto is_by_warps = [](Op* mma) {
      const MmaInstruction* instruction = instruction_of(mma);
      return !instruction ? 2 : instruction->unit == MmaUnit::Wgmma ? 0 : 1;
    };
    std::ranges::stable_sort(mmas, {}, is_by_warps);
    for (Op* mma : mmas) add_mma(mma->result(), mma);
    for (Op* mma : mmas) {
      if (mma->in(in::Mma::a)->type()->is(TypeKind::Tile)) add_factor(mma->in(in::Mma::a), mma);
    }
    // The largest first: the others are slices of it.
    std::vector<Value*> by_size = tiles_;
    std::stable_sort(by_size.begin(), by_size.end(),
                     [&](Value* a, Value* b) { return elements(a->type()) > elements(b->type()); });
    for (Value* value : by_size) {
      if (!base_of(value)) add_blocked(value, by_size);
    }
    for (Value* value : tiles_) {
      Layout layout = slice(*base_of(value), value);
      value->set_type(context_.with_layout(value->type(), layout::print(layout)));
    }
    walk(kernel_, [&](Op* op) { find_crossing(op); });
    // Sums along the same axes have one layout. An instruction that leaves them elsewhere cannot compute these.
    for (Op* mma : mmas) {
      const MmaInstruction* instruction = instruction_of(mma);
      std::optional<Layout> layout = layout::parse_layout(mma->result()->type()->layout);
      if (instruction && !tile::leaves_sums(*instruction, *layout)) mma->remove(attr::Mma::instruction);
    }
  }

  /// Loads and stores of memory that the layout of their tile runs across, and a layout that runs along it.
  const LayoutsOfAccesses& crossing() const { return crossing_; }

  /// What to do where a thread holds too much: most often its elements are those that other threads hold, too.
  std::string advice(const Machine& machine) {
    const Base* worst = nullptr;
    for (const Base& base : bases_) {
      bool worse = !worst || base.layout.registers_per_thread() > worst->layout.registers_per_thread();
      if (worse && base.extents.size() == 2 && !divides(base.layout, base.extents)) worst = &base;
    }
    std::string counts = worst ? other_warps(*worst, machine) : std::string();
    if (!counts.empty()) {
      return fmt::format("{} warps, which halve extents, cannot divide {} x {} elements: use {}",
                         worst->layout.warps(), worst->extents[0], worst->extents[1], counts);
    }
    std::optional<std::vector<int32_t>> next = worst ? next_extents(*worst) : std::nullopt;
    if (!next) return "use more warps or smaller blocks";
    return fmt::format("{} threads, which halve extents, cannot divide {} x {} elements; they can divide {} x {}",
                       32 * worst->layout.warps(), worst->extents[0], worst->extents[1], (*next)[0], (*next)[1]);
  }

 private:
  /// A layout over program axes, made for a tile of these extents: the sums of `mma`, if there is one.
  struct Base {
    std::vector<int> axes;
    Layout layout;
    std::vector<int32_t> extents;
    Op* mma = nullptr;
  };

  /// Whether each element is in one thread.
  static bool divides(const Layout& layout, const std::vector<int32_t>& extents) {
    int64_t held = int64_t(layout.registers_per_thread()) * 32 * layout.warps();
    return held <= std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
  }

  /// The fewest elements with extents from these up that threads divide among them.
  std::optional<std::vector<int32_t>> next_extents(const Base& base) {
    constexpr int32_t step = 8;
    std::optional<std::vector<int32_t>> best;
    auto up = [](int32_t extent) { return (extent + step - 1) / step * step; };
    for (int32_t m = up(base.extents[0]); m <= 2 * up(base.extents[0]); m += step) {
      for (int32_t n = up(base.extents[1]); n <= 2 * up(base.extents[1]); n += step) {
        if (best && int64_t(m) * n >= int64_t((*best)[0]) * (*best)[1]) break;
        int warps = base.layout.warps();
        Layout layout = base.mma ? mma_layout(m, n, base.mma, warps) : plain_layout(m, n, warps);
        if (divides(layout, {m, n})) best = {m, n};
      }
    }
    return best;
  }

  /// What the schedule may say instead where the number of warps is no power of two, "warps = 4 or 8": the powers
  /// beside it that divide the elements, as far as registers hold them.
  std::string other_warps(const Base& base, const Machine& machine) {
    constexpr int64_t warps_of_group = 4;
    auto warps = uint64_t(base.layout.warps());
    if (std::has_single_bit(warps)) return {};
    Attr roles = kernel_->attr(attr::Kernel::schedule)->get(schedule::key::roles.name);
    bool has_roles = of_role(roles, "mma") > 0;
    const schedule::ScheduleKey& key = *schedule::find_schedule_key(has_roles ? "roles" : "warps");
    std::vector<int64_t> counts;
    for (int64_t each : {int64_t(std::bit_floor(warps)), int64_t(std::bit_ceil(warps))}) {
      int64_t count = has_roles ? each / warps_of_group : each;
      int32_t m = base.extents[0], n = base.extents[1];
      bool fits = int64_t(m) * n < 32 * each * machine.gpu.registers_per_thread;
      if (!fits || count < 1 || count > key.high) continue;
      Layout layout = base.mma ? mma_layout(m, n, base.mma, int(each)) : plain_layout(m, n, int(each));
      if (divides(layout, base.extents)) counts.push_back(count);
    }
    if (counts.empty()) return {};
    return fmt::format("{} {}", has_roles ? "\"mma\":" : "warps =", fmt::join(counts, " or "));
  }

  void collect() {
    walk(kernel_, [&](Op* op) {
      if (common::is_along_axis(op) && op->info().has(Exchanges)) {
        combined_.insert(axes_.of(op->operand(0), size_t(op->attr(common::Along::axis))));
      }
      for (unsigned i = 0; i < op->result_count(); ++i) add(op->result(i));
      for (unsigned r = 0; r < op->region_count(); ++r) {
        Block* block = op->region(r)->front();
        for (unsigned i = 0; block && i < block->arg_count(); ++i) add(block->arg(i));
      }
    });
  }
  void add(Value* value) {
    if (value->type()->is(TypeKind::Tile)) tiles_.push_back(value);
  }

  static int64_t elements(Type tile) {
    int64_t count = 1;
    for (Dim dim : tile->dims) count *= *dim->constant();
    return count;
  }
  std::vector<int32_t> extents(Type tile) {
    std::vector<int32_t> out;
    for (Dim dim : tile->dims) out.push_back(int32_t(*dim->constant()));
    return out;
  }

  /// Warps that run the op: those of its role, or all.
  int warps_of(Op* op) {
    for (; op; op = op->parent()) {
      if (op->is(tile::info(OpKind::Role))) return int(op->attr(attr::Role::warps));
    }
    return int(kernel_->required(attr::Kernel::threads) / 32);
  }
  static Op* place_of(Value* value) { return value->def() ? value->def() : value->block()->parent_op(); }

  const Base* base_of(Value* value) {
    int warps = warps_of(place_of(value));
    std::vector<int> wanted = axes_.of(value);
    for (const Base& base : bases_) {
      bool has_all = base.layout.warps() == warps;
      for (int axis : wanted) has_all &= axis < 0 || std::ranges::find(base.axes, axis) != base.axes.end();
      if (has_all) return &base;
    }
    return nullptr;
  }

  void add_mma(Value* value, Op* mma) {
    if (base_of(value)) return;
    Type type = value->type();
    std::vector<int> axes = axes_.of(value);
    int32_t m = extents(type)[0], n = extents(type)[1];
    bases_.push_back({axes, mma_layout(m, n, mma, warps_of(mma)), {m, n}, mma});
  }

  /// A left factor in registers lies as sums do.
  void add_factor(Value* value, Op* mma) {
    const Base* sums = base_of(mma->result());
    std::optional<Layout> layout = tile::factor_layout(slice(*sums, mma->result()), extents(value->type())[1]);
    if (!base_of(value) && layout) bases_.push_back({axes_.of(value), *layout, extents(value->type()), mma});
  }

  /// Whether the MMA reads its left factor from registers, and that is computed of memory that runs along its rows.
  bool runs_along_rows(Op* mma) {
    Value* value = mma->in(in::Mma::a);
    if (!value->type()->is(TypeKind::Tile)) return false;
    std::set<Value*> seen;
    while (seen.insert(value).second) {
      Op *def = value->def(), *loop = def ? nullptr : value->block()->parent_op();
      if (def && def->info().elementwise != ElementwiseKind::None) {
        bool is_number = def->operand(0)->def() && def->operand(0)->def()->is(tile::info(OpKind::Full));
        value = def->operand(is_number && def->operand_count() > 1 ? 1 : 0);
      } else if (loop && loop->is(tile::info(OpKind::For))) {
        value = value->block()->terminator()->operand(value->index() - 1);
      }
    }
    Op* load = value->def();
    if (!load || !load->is(tile::info(OpKind::Load))) return false;
    std::optional<layout::SharedLayout> shared = tile::shared_layout_of(load->in(in::Load::memory)->type());
    return (shared ? shared->contiguous_axis() : contiguous(load_of(load))) == 0;
  }

  Layout mma_layout(int32_t m, int32_t n, Op* mma, int warps) {
    const MmaInstruction* instruction = instruction_of(mma);
    std::optional<Layout> found;
    // What a thread then reads of memory is one vector.
    if (instruction && runs_along_rows(mma)) found = tile::sum_layout_by_threads(*instruction, m, n, warps);
    if (found && tile::factor_layout(*found, extents(mma->in(in::Mma::a)->type())[1])) return *found;
    found = instruction ? tile::sum_layout(*instruction, m, n, warps) : multiply_add_layout(m, n, mma, warps);
    return found ? *found : plain_layout(m, n, warps);
  }

  /// The layout of sums that no matrix instruction computes. Along an axis that an operand's memory runs along, threads
  /// have neighbours; what is combined later stays within a warp.
  std::optional<Layout> multiply_add_layout(int32_t m, int32_t n, Op* mma, int warps) {
    constexpr int64_t most = 4, vector_bytes = 16;
    auto vector = [&](Value* operand, size_t axis, int32_t extent) {
      std::optional<layout::SharedLayout> memory = tile::shared_layout_of(operand->type());
      if (!memory || memory->contiguous_axis() != int(axis)) return 1;
      return int(std::gcd(int64_t{extent}, std::min(most, vector_bytes / byte_size(operand->type()->dtype))));
    };
    auto warps_along = [&](size_t axis) { return combined_.contains(axes_.of(mma->result(), axis)) ? 1 : warps; };
    return layout::outer_product(m, n, vector(mma->in(in::Mma::a), 0, m / 4), vector(mma->in(in::Mma::b), 1, n / 8),
                                 warps, warps_along(0), warps_along(1));
  }

  static Layout plain_layout(int32_t m, int32_t n, int warps) {
    std::optional<Layout> found = layout::blocked(std::vector<int32_t>{m, n}, n % 4 == 0 ? 4 : 1, 32, warps);
    TSR_CHECK(found, "no layout for a tile");
    return *found;
  }

  void add_blocked(Value* value, const std::vector<Value*>& by_size) {
    std::vector<int> axes = axes_.of(value);
    // Along which axis, and how wide, the tile (or another with these axes) is loaded or stored.
    int fastest = int(axes.size()) - 1;
    int widest = 1, bytes = 0;
    bool gathers = false;
    for (Value* other : by_size) {
      if (axes_.of(other) != axes) continue;
      for (const MemoryAccess& access : accesses(other)) {
        int axis = contiguous(access);
        if (axis < 0) continue;
        fastest = axis;
        widest = std::max(widest, int(width(access, size_t(axis), warps_of(place_of(other)))));
        bytes = std::max(bytes, int(byte_size(access.tile->dtype)));
      }
      gathers |= other->def() && other->def()->is(tile::info(OpKind::Gather));
    }
    std::optional<Layout> layout;
    if (gathers && value->type()->rank() == 2 && fastest == 1) layout = gathered_rows(value, widest, bytes);
    if (!layout) layout = blocked_along(value, fastest, widest, combined_);
    TSR_CHECK(layout, "no layout for " + value->type()->text);
    bases_.push_back({axes, *layout, extents(value->type())});
  }

  /// A layout for rows that are found one by one, which takes a thread longer than an element of them: lanes move a
  /// sector of memory together, and a thread has elements of few rows. Nothing where vectors are wide, or rows short.
  /// `bytes`: of an element in memory.
  std::optional<Layout> gathered_rows(Value* value, int vector, int bytes) {
    constexpr int sector_bytes = 32;
    std::vector<int32_t> shape = extents(value->type());
    if (bytes == 0) return std::nullopt;
    int run = sector_bytes / bytes;
    if (2 * vector * bytes >= vector_bytes || shape[1] % (2 * run) != 0) return std::nullopt;
    const int order[] = {1, 0}, warp_order[] = {0, 1};
    int warps = warps_of(place_of(value));
    std::optional<Layout> made = layout::blocked(shape, vector, 32, warps, order, warp_order, run / vector);
    return made && !made->is_replicated() ? made : std::nullopt;
  }

  /// A layout whose vectors run along that axis. What is combined stays within a warp, as far as there is something
  /// else for warps to share.
  std::optional<Layout> blocked_along(Value* value, int fastest, int vector, const std::set<int>& combined) {
    std::vector<int32_t> shape = extents(value->type());
    std::vector<int> order;
    if (!shape.empty()) order.push_back(fastest);
    for (int i = int(shape.size()); i-- > 0;) {
      if (i != fastest) order.push_back(i);
    }
    while (vector > 1 && (shape.empty() || shape[size_t(fastest)] % vector)) vector /= 2;
    std::vector<int> warp_order = order;
    std::ranges::stable_partition(warp_order, [&](int i) { return !combined.contains(axes_.of(value, size_t(i))); });
    return layout::blocked(shape, vector, 32, warps_of(place_of(value)), order, warp_order);
  }

  /// Lanes that move less than a sector of memory together move it for little: such an access has a layout of its own.
  void find_crossing(Op* op) {
    constexpr int64_t sector_bytes = 32;
    bool loads = op->is(tile::info(OpKind::Load)), stores = op->is(tile::info(OpKind::Store));
    if (!loads && !stores) return;
    Value* value = loads ? op->result() : op->in(in::Store::value);
    const Base* base = base_of(value);
    MemoryAccess access = loads ? load_of(op) : store_of(op);
    bool shared = access.memory->is(TypeKind::View) && access.memory->space != MemorySpace::Global;
    int axis = contiguous(access);
    if (base->mma || shared || axis < 0 || value->type()->rank() < 2) return;
    Layout layout = *layout::parse_layout(value->type()->layout);
    auto run_of = [&](const Layout& each) {
      int64_t run = each.vector_width(axis);
      for (const layout::Point& basis : each.bases(layout::InputDim::Lane)) run *= basis[size_t(axis)] ? 2 : 1;
      return run * byte_size(value->type()->dtype);
    };
    if (run_of(layout) >= sector_bytes) return;
    std::optional<Layout> along = blocked_along(value, axis, int(width(access, size_t(axis), warps_of(op))), {});
    if (along && run_of(*along) > run_of(layout)) crossing_.emplace(op, *along);
  }

  /// How a tile is loaded or stored.
  struct MemoryAccess {
    Type memory, tile;
    std::vector<Value*> offsets, limits;
  };

  std::vector<MemoryAccess> accesses(Value* value) {
    std::vector<MemoryAccess> found;
    Op* def = value->def();
    if (def && def->is(tile::info(OpKind::Load))) found.push_back(load_of(def));
    if (def && def->is(tile::info(OpKind::Gather))) {
      found.push_back({def->in(in::Gather::table)->type(), value->type(), {nullptr, def->in(in::Gather::column)},
                       def->ins(in::Gather::limits)});
    }
    for (Use* use = value->first_use(); use; use = use->next()) {
      Op* user = use->owner();
      if (user->is(tile::info(OpKind::Store)) && user->in(in::Store::value) == value) found.push_back(store_of(user));
    }
    return found;
  }
  static MemoryAccess load_of(Op* op) {
    return {op->in(in::Load::memory)->type(), op->result()->type(), op->ins(in::Load::offsets),
            op->ins(in::Load::limits)};
  }
  static MemoryAccess store_of(Op* op) {
    return {op->in(in::Store::memory)->type(), op->in(in::Store::value)->type(), op->ins(in::Store::offsets),
            op->ins(in::Store::limits)};
  }

  int contiguous(const MemoryAccess& access) {
    std::vector<Dim> strides = tile::strides_of(context_, access.memory);
    size_t lead = access.memory->rank() - access.tile->rank();
    for (size_t i = access.tile->rank(); i-- > 0;) {
      if (strides[lead + i]->is_constant(1) && !access.tile->dims[i]->is_constant(1)) return int(i);
    }
    return -1;
  }

  /// How many elements along that axis a thread may move at once: all its vectors are aligned, and each is below the
  /// limit or past it. Shared memory that has no strides of its own allows all; where it has some, no thread goes
  /// without elements, as all threads reach it equally fast.
  int64_t width(const MemoryAccess& access, size_t axis, int warps) {
    int64_t multiple = vector_bytes / byte_size(access.tile->dtype);
    bool is_view = access.memory->is(TypeKind::View);
    if (is_view && access.memory->space == MemorySpace::Shared) {
      if (is_whole(access.memory)) return multiple;
      int64_t elements = 1;
      for (int32_t extent : extents(access.tile)) elements *= extent;
      multiple = std::gcd(multiple, std::max<int64_t>(elements / (32 * warps), 1));
    }
    if (is_view) multiple = std::gcd(multiple, known_.of(access.memory->offset));
    std::vector<Dim> strides = tile::strides_of(context_, access.memory);
    size_t lead = strides.size() - access.tile->rank();
    for (size_t i = 0; i < strides.size(); ++i) {
      // Along other axes of the tile any index may occur.
      bool any = i >= lead && i != lead + axis && !access.tile->dims[i - lead]->is_constant(1);
      int64_t index = any || !access.offsets[i] ? 1 : known_.of(access.offsets[i]);
      multiple = std::gcd(multiple, index * known_.of(strides[i]));
    }
    Value* limit = access.limits.empty() ? nullptr : access.limits[axis];
    bool whole = !limit || tile::known_index(limit).value_or(-1) >= *access.tile->dims[axis]->constant();
    return whole ? multiple : std::gcd(multiple, known_.of(limit));
  }

  /// Whether elements lie one after the other, from the start of their memory on.
  bool is_whole(Type view) {
    return view->strides == context_.contiguous_view(view->dims, view->dtype, view->space)->strides &&
           view->offset->is_constant(0);
  }

  /// The base without the axes that the value does not have, in the value's order, with its extents of 1.
  Layout slice(const Base& base, Value* value) {
    std::vector<int> wanted = axes_.of(value), left = base.axes;
    Layout layout = base.layout;
    for (size_t i = left.size(); i-- > 0;) {
      if (left[i] >= 0 && std::ranges::find(wanted, left[i]) != wanted.end()) continue;
      layout = layout.slice(int(i), false).layout;
      left.erase(left.begin() + int64_t(i));
    }
    std::vector<int> perm;
    for (int axis : wanted) {
      if (axis >= 0) perm.push_back(int(std::ranges::find(left, axis) - left.begin()));
    }
    layout = layout.transpose(perm);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] < 0) layout = layout.insert_axis(int(i));
    }
    return layout;
  }

  Op* kernel_;
  Context& context_;
  TileAxes axes_;
  Divisibility known_;
  std::set<int> combined_;  ///< axes along which elements are combined
  std::vector<Value*> tiles_;
  std::vector<Base> bases_;
  LayoutsOfAccesses crossing_;
};

}  // namespace

namespace {

/// Where the source says how many warps there are, or else how large tiles are.
Loc place_of_warps(Op* kernel) {
  namespace key = schedule::key;
  for (std::string_view name : {key::roles.name, key::warps.name, key::block.name}) {
    if (Loc place = schedule::place_of_key(kernel, name); !(place == kernel->loc())) return place;
  }
  return kernel->loc();
}

/// Tiles that a thread holds at once have room in its registers, of which a role may have its own number.
Status check_registers(Op* kernel, const Machine& machine, LayoutAssignment& assignment,
                       DiagnosticEngine& diagnostics) {
  std::vector<Op*> scopes;
  for (Op* op : *kernel->region()->front()) {
    if (op->is(tile::info(OpKind::Role))) scopes.push_back(op);
  }
  if (scopes.empty()) scopes.push_back(kernel);
  for (Op* scope : scopes) {
    std::optional<int64_t> own = scope->attr(attr::Role::registers);
    int64_t available = std::min<int64_t>(
        own ? *own : launch_registers(machine, kernel->required(attr::Kernel::threads)),
        machine.gpu.registers_per_thread);
    int64_t held = held_registers(scope);
    if (held <= available) continue;
    diagnostics.report(diag::schedule_tiles, place_of_warps(kernel), kernel_name(kernel), held, available,
                       held - available)
        .help(assignment.advice(machine));
    return failure;
  }
  return success;
}

}  // namespace

Status assign_layouts(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "assign_layouts needs a machine");
  for (Op* op : *module.body()) {
    if (!op->is(tile::info(OpKind::Kernel))) continue;
    separate_axes(op);
    detour_repeated(op, false);
    LayoutAssignment assignment(op);
    if (Value* twice = assignment.repeated()) {
      Op* place = twice->def() ? twice->def() : op;
      context.diagnostics
          .report(diag::unsupported_tile_split, place->loc(), std::string(place->name()),
                  "the value of type " + twice->type()->text + " runs along one axis twice")
          .help(
              "loop-carried values, and loads from memory that the kernel writes, cannot be "
              "computed twice: write the "
              "value to a tensor, and read it in a later kernel");
      return failure;
    }
    assignment.run();
    agree_on_layouts(op, assignment.crossing());
    if (check_registers(op, *context.machine, assignment, context.diagnostics).failed()) return failure;
  }
  return success;
}

}  // namespace tessera
