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
  Clusters(Op* kernel, std::vector<int64_t> extents) : kernel_(kernel), extents_(std::move(extents)) {
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
    constexpr int64_t most_programs = 16;
    int64_t programs = std::accumulate(extents_.begin(), extents_.end(), int64_t(1), std::multiplies());
    if (programs > most_programs)
      return fmt::format("a cluster has at most {} programs, not {}", most_programs, programs);
    if (copies_.empty())
      return "a cluster shares what the copy engine loads: operands of dots, for warps of other 'roles'";
    for (size_t axis = 0; axis < extents_.size(); ++axis) {
      if (extents_[axis] == 1) continue;
      if (std::optional<std::string> why = why_not_along(axis)) return why;
    }
    std::vector<std::vector<int64_t>> shared;
    for (Op* copy : copies_) shared.push_back(shared_along(copy));
    if (std::ranges::all_of(shared, [](const std::vector<int64_t>& axes) { return axes.empty(); }))
      return "programs of a cluster load no tile that is the same and has 8 rows or more for each of them";
    for (size_t i = 0; i < copies_.size(); ++i) {
      if (!shared[i].empty()) copies_[i]->set(attr::CopyAsync::shared_along, shared[i]);
    }
    fill_up_grid();
    return std::nullopt;
  }

 private:
  std::optional<std::string> why_not_along(size_t axis) {
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
    return fmt::format("axis {} of the grid is not known to have a multiple of {} programs, and nothing masks what "
                       "programs past its end would store",
                       axis, extents_[axis]);
  }

  bool is_multiple(size_t axis) const {
    return Divisibility(kernel_).of(kernel_->attr(attr::Kernel::grid)[axis]) % extents_[axis] == 0;
  }

  /// Whether no program past the end of the axis accesses memory: the copy engine knows where tensors end.
  bool ends_are_masked(size_t axis) {
    bool all = true;
    walk(kernel_, [&](Op* op) { all &= op == kernel_ || is_masked(op, variations_[axis]); });
    return all;
  }

  static std::optional<unsigned> limits_slot(Op* op) {
    switch (tile::kind_of(op)) {
      case OpKind::Load: return in::Load::limits;
      case OpKind::Store: return in::Store::limits;
      case OpKind::CopyAsync: return in::CopyAsync::limits;
      default: return std::nullopt;
    }
  }

  /// Whether the op does nothing where its tile lies past the end of the axis.
  static bool is_masked(Op* op, Variation& variation) {
    if (op->is(tile::info(OpKind::CopyAsync)) || op->region_count() > 0) return true;
    if (op->is(tile::info(OpKind::Load)) || op->is(tile::info(OpKind::Store))) {
      bool is_load = op->is(tile::info(OpKind::Load));
      std::vector<Value*> offsets = op->ins(is_load ? unsigned(in::Load::offsets) : unsigned(in::Store::offsets));
      std::vector<Value*> limits = op->ins(*limits_slot(op));
      // What is the same for all programs is loaded or stored by those at the end, too.
      return !variation.of_any(offsets) || variation.of_any(limits);
    }
    bool is_number = op->result_count() == 1 && op->result()->type()->is(TypeKind::Scalar);
    bool has_memory = !op->ins(ValueClass::ReadMemory).empty() || !op->ins(ValueClass::WrittenMemory).empty();
    return is_number || (!has_memory && !variation.of_any(op->ins(ValueClass::Index)));
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
    constexpr int64_t rows_of_swizzle = 8;
    bool is_cut = shared->rank() == 2 &&
                  shared->extents()[size_t(1 - shared->contiguous_axis())] % (rows_of_swizzle * parts) == 0;
    return is_cut ? axes : std::vector<int64_t>();
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
      std::optional<unsigned> slot = limits_slot(op);
      if (!slot) return;
      for (unsigned i = 0; i < op->slot_size(*slot); ++i) {
        unsigned position = op->slot_begin(*slot) + i;
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
  std::vector<Variation> variations_;
  std::vector<Op*> copies_;
};

}  // namespace

Status form_clusters(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "form_clusters needs a machine");
  if (!context.machine->gpu.has_clusters) return success;
  UnusedKeyReport report(context);
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(OpKind::Kernel))) continue;
    std::vector<int64_t> extents = gpu_schedule(kernel, *context.machine).cluster;
    if (extents.empty()) continue;
    if (std::optional<std::string> why = Clusters(kernel, extents).form())
      report.tell(kernel, {{.key = schedule::key::cluster.name, .why = *why}});
  }
  return success;
}

}  // namespace tessera
