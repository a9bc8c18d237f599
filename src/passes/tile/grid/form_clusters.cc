// Makes clusters of programs that load the same tiles, each a part of them for all (GPU).
//
// Programs of a matmul that differ along the rows of the result read the same columns of the right factor. As programs
// of a cluster they run at the same time on neighbouring multiprocessors, and the copy engine can write one copy to the
// shared memory of all of them: the second-level cache is asked once. The schedule says how many programs along which
// axes of the grid (`cluster`). This pass checks that it can be done and marks the copies that are the same. How
// programs are numbered, and what the barriers of the ring wait for, the passes behind it do: make_persistent,
// insert_barriers.
//
// Each program of a cluster fills slots of all the others, so all go through the same iterations. The grid gets whole
// clusters. Where that adds programs, they lie past the end of the axis: the copy engine reads zeros there, and every
// other access has to have a limit that keeps it from happening.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "ir/layout/text.h"
#include "ir/schedule/schedule_keys.h"
#include "ir/text/entries.h"
#include "ir/tile/ops.h"
#include "ir/tile/shared_memory.h"
#include "passes/analysis/divisibility.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/pass.h"
#include "passes/tile/common/unused_keys.h"
#include "passes/tile/pipeline/builders.h"
#include "support/check.h"

namespace tessera {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

using Kind = ElementwiseKind;

/// Which values differ between programs that differ along one axis of the grid.
class Variation {
 public:
  explicit Variation(int64_t axis) : axis_(axis) {}

  bool of(Value* value) {
    auto [known, is_new] = known_.try_emplace(value, true);
    if (is_new) {
      bool found = differs(value);
      known_[value] = found;
    }
    return known_.at(value);
  }

  bool of_any(const std::vector<Value*>& values) {
    return std::ranges::any_of(values, [&](Value* value) { return of(value); });
  }

 private:
  bool differs(Value* value) {
    Op* def = value->def();
    if (!def) {
      Op* owner = value->parent_block()->parent_op();
      if (!owner->is(tile::info(OpKind::For))) return false;  // a parameter of the kernel
      return value->index() > 0 || of(owner->in(in::For::lo)) || of(owner->in(in::For::step));
    }
    if (def->is(tile::info(OpKind::ProgramId))) return def->attr(attr::ProgramId::axis) == axis_;
    if (def->region_count() > 0 || !def->ins(ValueClass::ReadMemory).empty()) return true;
    for (unsigned i = 0; i < def->operand_count(); ++i) {
      if (of(def->operand(i))) return true;
    }
    return false;
  }

  int64_t axis_;
  std::map<Value*, bool> known_;
};

class Clusters {
 public:
  Clusters(Op* kernel, const GpuSchedule& schedule)
      : kernel_(kernel), extents_(schedule.cluster), has_load_role_(schedule.load_groups > 0) {
    for (size_t axis = 0; axis < extents_.size(); ++axis) variations_.emplace_back(int64_t(axis));
    walk(kernel, [&](Op* op) {
      if (op->is(tile::info(OpKind::CopyAsync)) && op->in(in::CopyAsync::barrier)) copies_.push_back(op);
    });
  }

  /// Forms the clusters; otherwise says why there can be none.
  std::optional<std::string> form() {
    size_t axes = kernel_->attr(attr::Kernel::grid).size();
    if (extents_.size() > axes)
      return fmt::format("it has {} extents, and the grid {} {}", extents_.size(), axes, axes == 1 ? "axis" : "axes");
    int64_t programs = std::accumulate(extents_.begin(), extents_.end(), int64_t(1), std::multiplies());
    if (programs > tile::most_programs_of_cluster)
      return fmt::format("a cluster has at most {} programs, not {}", tile::most_programs_of_cluster, programs);
    if (copies_.empty() || !has_load_role_)
      return "a cluster shares what the copy engine loads: operands of dots, for warps of other 'roles'";
    for (size_t axis = 0; axis < extents_.size(); ++axis) {
      if (extents_[axis] == 1) continue;
      if (std::optional<std::string> why = why_not_along(axis)) return why;
    }
    std::vector<std::vector<int64_t>> shared;
    for (Op* copy : copies_) shared.push_back(shared_along(copy));
    if (std::ranges::all_of(shared, [](const std::vector<int64_t>& axes) { return axes.empty(); }))
      return "programs of a cluster load no tile that is the same and has a multiple of 8 rows for each of them";
    for (size_t i = 0; i < copies_.size(); ++i) {
      if (!shared[i].empty()) copies_[i]->set(attr::CopyAsync::shared_along, shared[i]);
    }
    fill_up_grid();
    return std::nullopt;
  }

 private:
  std::optional<std::string> why_not_along(size_t axis) {
    if (kernel_->attr(attr::Kernel::grid)[axis]->is_constant(1))
      return fmt::format("axis {} of the grid has one program", axis);
    for (Op* copy : copies_) {
      for (Op* parent = copy->parent(); parent != kernel_; parent = parent->parent()) {
        bool is_loop = parent->is(tile::info(OpKind::For));
        std::vector<Value*> decided_by = is_loop ? std::vector<Value*>{parent->in(in::For::lo), parent->in(in::For::hi),
                                                                       parent->in(in::For::step)}
                                                 : std::vector<Value*>{parent->operand(0)};
        if (variations_[axis].of_any(decided_by))
          return fmt::format("programs along axis {} of the grid do not all load in the same iterations", axis);
      }
    }
    if (is_multiple(axis) || ends_are_masked(axis)) return std::nullopt;
    return fmt::format("axis {} of the grid is not known to have a multiple of {} programs, and not all that programs "
                       "past its end would do is masked",
                       axis, extents_[axis]);
  }

  bool is_multiple(size_t axis) const {
    return Divisibility(kernel_).of(kernel_->attr(attr::Kernel::grid)[axis]) % extents_[axis] == 0;
  }

  /// Whether no program past the end of the axis accesses memory: the copy engine knows where tensors end.
  bool ends_are_masked(size_t axis) {
    bool all = true;
    walk(kernel_, [&](Op* op) { all &= op == kernel_ || is_masked(op, axis); });
    return all;
  }

  struct Slots {
    unsigned offsets, limits;
  };
  static std::optional<Slots> access_slots(Op* op) {
    switch (tile::kind_of(op)) {
      case OpKind::Load: return Slots{in::Load::offsets, in::Load::limits};
      case OpKind::Store: return Slots{in::Store::offsets, in::Store::limits};
      case OpKind::CopyAsync: return Slots{in::CopyAsync::offsets, in::CopyAsync::limits};
      default: return std::nullopt;
    }
  }

  /// Whether the op does nothing where its tile lies past the end of the axis.
  bool is_masked(Op* op, size_t axis) {
    if (op->region_count() > 0) return true;
    if (op->is(tile::info(OpKind::CopyAsync)) && op->in(in::CopyAsync::barrier)) return true;
    std::optional<Slots> slots = access_slots(op);
    if (!slots) {
      bool has_memory = !op->ins(ValueClass::ReadMemory).empty() || !op->ins(ValueClass::WrittenMemory).empty();
      bool is_number = op->result_count() == 1 && op->result()->type()->is(TypeKind::Scalar);
      // Other ops on tiles have limits of their own, which may be below 0 there.
      return is_number || op->is(tile::info(OpKind::Iota)) ||
             (!has_memory && !variations_[axis].of_any(op->ins(ValueClass::Index)));
    }
    std::vector<Value*> offsets = op->ins(slots->offsets), limits = op->ins(slots->limits);
    // What is the same for all programs those past the end may read, but not write.
    if (!variations_[axis].of_any(offsets)) return !op->is(tile::info(OpKind::Store));
    size_t lead = offsets.size() - std::min(limits.size(), offsets.size());
    for (size_t i = lead; i < offsets.size(); ++i) {
      if (is_nothing_past_end(limits[i - lead], offsets[i], axis)) return true;
    }
    return false;
  }

  /// Whether the offset is the program's block along the axis, and the limit what remains of an extent that the blocks
  /// of the grid cover.
  bool is_nothing_past_end(Value* limit, Value* offset, size_t axis) {
    std::optional<int64_t> block = block_of(offset, axis);
    Op* def = limit->def();
    if (!block || !def || def->info().elementwise != Kind::Sub || def->operand(1) != offset) return false;
    DimTable& dims = kernel_->module()->context().dims();
    std::optional<int64_t> known = tile::known_index(def->operand(0));
    Op* size = def->operand(0)->def();
    if (!known && (!size || !size->is(tile::info(OpKind::Dim)))) return false;
    Dim extent = known ? dims.constant(*known) : size->attr(attr::Dim::value);
    return dims.ceildiv(extent, dims.constant(*block)) == kernel_->attr(attr::Kernel::grid)[axis];
  }

  /// The number by which the program's index along the axis is multiplied, where the offset is no more than that.
  static std::optional<int64_t> block_of(Value* offset, size_t axis) {
    Op* def = offset->def();
    if (!def) return std::nullopt;
    if (def->is(tile::info(OpKind::ProgramId))) {
      bool is_own = def->attr(attr::ProgramId::axis) == int64_t(axis);
      return is_own ? std::optional<int64_t>(1) : std::nullopt;
    }
    if (def->info().elementwise != Kind::Mul) return std::nullopt;
    std::optional<int64_t> by = tile::known_index(def->operand(1));
    return by && *by > 0 && block_of(def->operand(0), axis) == 1 ? by : std::nullopt;
  }

  /// The axes of the grid along which programs of a cluster load the same tile and can share the work.
  std::vector<int64_t> shared_along(Op* copy) {
    std::vector<int64_t> axes;
    int64_t parts = 1;
    for (size_t axis = 0; axis < extents_.size(); ++axis) {
      if (extents_[axis] == 1 || variations_[axis].of_any(copy->ins(in::CopyAsync::offsets))) continue;
      axes.push_back(int64_t(axis));
      parts *= extents_[axis];
    }
    std::optional<layout::SharedLayout> shared =
        layout::parse_shared_layout(copy->in(in::CopyAsync::to)->type()->layout);
    TSR_CHECK(shared, "the copy engine writes to memory with a layout");
    return tile::is_cut_in(*shared, parts) ? axes : std::vector<int64_t>();
  }

  void fill_up_grid() {
    std::vector<Dim> grid = kernel_->attr(attr::Kernel::grid);
    DimTable& dims = kernel_->module()->context().dims();
    for (size_t axis = 0; axis < extents_.size(); ++axis) {
      if (is_multiple(axis)) continue;
      Dim by = dims.constant(extents_[axis]);
      grid[axis] = dims.mul(dims.ceildiv(grid[axis], by), by);
      keep_limits_natural(variations_[axis]);
    }
    kernel_->set(attr::Kernel::grid, grid);
    kernel_->set(attr::Kernel::cluster, extents_);
  }

  /// What remains of an axis past its end is nothing.
  void keep_limits_natural(Variation& variation) {
    Builder builder(*kernel_->module());
    walk(kernel_, [&](Op* op) {
      if (op == kernel_) return;
      std::optional<Slots> slots = access_slots(op);
      if (!slots) return;
      for (unsigned i = 0; i < op->slot_size(slots->limits); ++i) {
        unsigned position = op->slot_begin(slots->limits) + i;
        if (!variation.of(op->operand(position))) continue;
        builder.set_before(op);
        builder.set_loc(op->loc());
        op->set_operand(position,
                        tile::elementwise(builder, Kind::Max, {op->operand(position), tile::index(builder, 0)}));
      }
    });
  }

  Op* kernel_;
  std::vector<int64_t> extents_;
  bool has_load_role_;
  std::vector<Variation> variations_;
  std::vector<Op*> copies_;
};

}  // namespace

Status form_clusters(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "form_clusters needs a machine");
  if (!context.machine->gpu.has_clusters) return success;
  // The key has an effect where one variant of the kernel has clusters.
  struct Asked {
    Op* kernel;
    std::string why;
    bool is_formed = false;
  };
  std::vector<Asked> asked;
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(OpKind::Kernel))) continue;
    GpuSchedule schedule = gpu_schedule(kernel, *context.machine);
    if (schedule.cluster.empty()) continue;
    std::optional<std::string> why = Clusters(kernel, schedule).form();
    auto known = std::ranges::find(asked, kernel->loc(), [](const Asked& each) { return each.kernel->loc(); });
    if (known == asked.end()) known = asked.insert(known, {kernel, why.value_or("")});
    known->is_formed |= !why;
  }
  UnusedKeyReport report(context);
  for (const Asked& each : asked) {
    if (!each.is_formed) report.tell(each.kernel, {{.key = schedule::key::cluster.name, .why = each.why}});
  }
  return success;
}

}  // namespace tessera
