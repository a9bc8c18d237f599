// Lets threads divide whole rows evenly (GPU).
//
// Lanes and warps halve a tile's axis again and again. 1000 elements in vectors of 8 leave 125
// vectors, an odd number that cannot be halved and would stay in one thread. So the pass takes each
// axis that a tile has whole and whose extent is a number, and rounds its extent up to one that all
// threads divide. Loads, stores and ops that combine elements along the axis get the old extent as
// their limit. An axis without elements gets one, which is masked. Blocks that a schedule asks for
// stay as they are.

#include <algorithm>
#include <bit>
#include <map>

#include "ir/core/common_attributes.h"
#include "ir/tile/build.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/pass.h"
#include "passes/tile/common/tile_axes.h"
#include "support/check.h"

namespace tessera {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

/// Elements that a thread moves at once, at most.
constexpr int64_t vector_elements = 8;

class Padding {
 public:
  Padding(Op* kernel, const Machine& machine)
      : kernel_(kernel),
        threads_(32 * gpu_schedule(kernel, machine).compute_warps),
        axes_(kernel),
        padded_(axes_.count()),
        builder_(*kernel->module()) {}

  void run() {
    walk(kernel_, [&](Op* op) {
      if (op->is(tile::info(OpKind::Load))) find_whole(op, op->result());
      if (op->is(tile::info(OpKind::Store))) find_whole(op, op->in(in::Store::value));
      if (op->is(tile::info(OpKind::Gather))) find_whole(op, op->result());
      for (unsigned i = 0; i < op->result_count(); ++i) find_empty(op->result(i));
    });
    walk(kernel_, [&](Op* op) {
      if (op->is(tile::info(OpKind::Load))) keep_shared(op->in(in::Load::memory), op->result());
      if (op->is(tile::info(OpKind::Store))) keep_shared(op->in(in::Store::memory), op->in(in::Store::value));
    });
    if (std::none_of(padded_.begin(), padded_.end(), [](int64_t extent) { return extent > 0; })) return;
    walk(kernel_, [&](Op* op) { set_limits(op); });
    walk(kernel_, [&](Op* op) { set_extents(op); });
  }

 private:
  /// An extent that the threads divide.
  int64_t even(int64_t extent) const {
    int64_t line = threads_ * vector_elements;
    if (extent > line) return (extent + line - 1) / line * line;
    return int64_t(std::bit_ceil(uint64_t(extent)));
  }

  void find_whole(Op* access, Value* value) {
    Type memory = access->operand(access->is(tile::info(OpKind::Store)) ? 1 : 0)->type(), tile = value->type();
    size_t lead = memory->rank() - tile->rank();
    for (size_t i = 0; i < tile->rank(); ++i) {
      std::optional<int64_t> extent = tile->dims[i]->constant();
      int axis = axes_.of(value, i);
      if (axis < 0 || !extent || memory->dims[lead + i] != tile->dims[i]) continue;
      if (even(*extent) != *extent) padded_[size_t(axis)] = even(*extent);
    }
  }

  /// No layout has an axis without elements, loaded or not.
  void find_empty(Value* value) {
    if (!value->type()->is(TypeKind::Tile)) return;
    for (size_t i = 0; i < value->type()->rank(); ++i) {
      int axis = axes_.of(value, i);
      if (axis >= 0 && value->type()->dims[i]->is_constant(0)) padded_[size_t(axis)] = even(0);
    }
  }

  /// Memory by name has the extents that were asked for.
  void keep_shared(Value* memory, Value* tile) {
    bool shared = memory->type()->is(TypeKind::View) && memory->type()->space == MemorySpace::Shared;
    for (int axis : axes_.of(tile)) {
      if (shared && axis >= 0) padded_[size_t(axis)] = 0;
    }
  }

  int64_t padded(Value* value, size_t i) const {
    int axis = axes_.of(value, i);
    return axis < 0 ? 0 : padded_[size_t(axis)];
  }

  Value* limited(Value* limit, Value* extent) {
    std::optional<int64_t> known = limit ? tile::known_index(limit) : std::nullopt;
    if (!limit || (known && *known >= *tile::known_index(extent))) return extent;
    return known ? limit : tile::min(builder_, limit, extent);
  }

  /// One value for each extent, so that what ends at the same element is seen to.
  Value* extent_of(Value* value, size_t i) {
    Dim extent = value->type()->dims[i];
    Value*& known = extents_[extent];
    if (known) return known;
    Builder here = builder_;
    builder_.set_before(kernel_->region()->front()->front());
    known = tile::dim(builder_, extent);
    builder_ = here;
    return known;
  }

  /// The limits of an access, each at most the extent that the axis has now.
  void limit_access(Op* op, Value* value, unsigned slot) {
    std::vector<Value*> limits = op->ins(slot);
    bool needed = false;
    for (size_t i = 0; i < value->type()->rank(); ++i) needed |= padded(value, i) > 0;
    if (!needed) return;
    bool has = !limits.empty();
    limits.resize(value->type()->rank());
    for (size_t i = 0; i < limits.size(); ++i) {
      if (!has || padded(value, i)) limits[i] = limited(has ? limits[i] : nullptr, extent_of(value, i));
    }
    op->set_slot(slot, limits);
  }

  void set_limits(Op* op) {
    builder_.set_before(op);
    builder_.set_loc(op->loc());
    if (op->is(tile::info(OpKind::Load))) return limit_access(op, op->result(), in::Load::limits);
    if (op->is(tile::info(OpKind::Store))) return limit_access(op, op->in(in::Store::value), in::Store::limits);
    if (op->is(tile::info(OpKind::Gather))) return limit_access(op, op->result(), in::Gather::limits);
    if (op->is(tile::info(OpKind::Scatter))) return limit_access(op, op->in(in::Scatter::value), in::Scatter::limits);
    if (!common::is_along_axis(op)) return;
    size_t axis = size_t(op->attr(common::Along::axis));
    if (!padded(op->operand(0), axis)) return;
    unsigned slot = op->slot_count() - 1;
    op->set_slot(slot, std::vector{limited(op->in(slot), extent_of(op->operand(0), axis))});
  }

  void set_extents(Op* op) {
    for (unsigned i = 0; i < op->result_count(); ++i) set_extents(op->result(i));
    for (unsigned r = 0; r < op->region_count(); ++r) {
      Block* block = op->region(r)->front();
      for (unsigned i = 0; i < block->arg_count(); ++i) set_extents(block->arg(i));
    }
  }

  void set_extents(Value* value) {
    Type type = value->type();
    if (!type->is(TypeKind::Tile)) return;
    Context& context = builder_.context();
    std::vector<Dim> dims = type->dims;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (int64_t extent = padded(value, i)) dims[i] = context.dims().constant(extent);
    }
    if (dims != type->dims) value->set_type(context.tile(std::move(dims), type->dtype));
  }

  Op* kernel_;
  int64_t threads_;
  TileAxes axes_;
  std::vector<int64_t> padded_;  ///< by program axis: its new extent, 0: it keeps its own
  std::map<Dim, Value*> extents_;
  Builder builder_;
};

/// Excludes dots, whose blocks the schedule gives, and axes of unknown extent, which are cut into
/// fragments.
bool divides(Op* kernel) {
  bool all = true;
  walk(kernel, [&](Op* op) {
    all &= !op->is(tile::info(OpKind::Dot));
    for (unsigned i = 0; i < op->result_count(); ++i) {
      for (Dim dim : op->result(i)->type()->dims) all &= !op->result(i)->type()->is(TypeKind::Tile) || dim->constant();
    }
  });
  return all;
}

}  // namespace

Status pad_tiles(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "pad_tiles needs a machine");
  for (Op* op : *module.body()) {
    if (op->is(tile::info(OpKind::Kernel)) && divides(op)) Padding(op, *context.machine).run();
  }
  return success;
}

}  // namespace tessera
