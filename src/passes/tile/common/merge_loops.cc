// Undoes blocking along a loop axis where the order of the work does not depend on it.
//
// A dot is written as a loop over blocks of k that adds each block's dot to an accumulator.
// `tile.dot` adds in the order of k, so the loop is one dot over all of k, with operands that take
// the axis whole:
//
//   for k in 0 .. ceildiv(K, T): acc = dot(load a[i, k*T], load b[k*T, j], acc)   becomes
//   acc = dot(load a[i, 0], load b[0, j], init)       with tiles of extent K along k
//
// The same holds for reductions, acc = max(acc, reduce max of a block), whose order is ours to
// choose. split_to_fragments then picks its own steps along k. A loop is merged only if each
// carried value is combined in one of these forms and used nowhere else in the body, and if the
// index serves only to place loads (and the coordinates that tile.iota counts).
//
// The body's tiles then become wholes, so that element i of each iteration's tile has to be element
// k*T + i of the whole. What is loaded or counted along the axis at another place than k*T (the
// same block in each iteration, or the block of a loop around this one) keeps the loop as it is.

#include <algorithm>
#include <optional>
#include <set>

#include "ir/core/common_attributes.h"
#include "ir/tile/build.h"
#include "passes/pass.h"
#include "passes/tile/common/tile_axes.h"

namespace tessera {

namespace {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

class LoopMerge {
 public:
  LoopMerge(Op* loop, const TileAxes& axes)
      : loop_(loop), axes_(axes), body_(loop->region()->front()) {}

  bool run() {
    if (tile::known_index(loop_->in(in::For::lo)) != 0) return false;
    if (tile::known_index(loop_->in(in::For::step)) != 1) return false;
    if (!find_offsets() || !find_axes() || !check_body() || !check_yields()) return false;
    rewrite();
    return true;
  }

 private:
  Context& context() { return loop_->module()->context(); }

  bool is_inside(Op* op) const { return op && op->block() == body_; }

  /// The index may be used only multiplied by constants: k*T.
  bool find_offsets() {
    for (Use* use = body_->arg(0)->first_use(); use; use = use->next()) {
      Op* op = use->owner();
      if (!is_inside(op) || op->info().elementwise != ElementwiseKind::Mul) return false;
      Value* other = op->operand(1 - use->index());
      std::optional<int64_t> block = tile::known_index(other);
      if (!block) return false;
      offsets_.insert(op->result());
      block_ = block_.value_or(*block);
      if (block_ != block) return false;
    }
    return block_.has_value();
  }

  /// Every axis of a load that starts at k*T has extent T and runs along a dim of one size, of
  /// which the loop covers all.
  bool find_axes() {
    for (Op* op : *body_) {
      if (!op->is(tile::info(OpKind::Load))) continue;
      Type type = op->result()->type(), memory = op->in(in::Load::memory)->type();
      if (type->rank() != memory->rank()) return false;
      for (size_t i = 0; i < type->rank(); ++i) {
        if (!offsets_.contains(op->in(in::Load::offsets, unsigned(i)))) continue;
        int axis = axes_.of(op->result(), i);
        if (axis < 0 || !type->dims[i]->is_constant(*block_)) return false;
        if (size_ && size_ != memory->dims[i]) return false;
        size_ = memory->dims[i];
        merged_.insert(axis);
      }
    }
    if (!size_) return false;
    Dim blocks = context().dims().ceildiv(size_, context().dims().constant(*block_));
    Value* hi = loop_->in(in::For::hi);
    std::optional<int64_t> known = tile::known_index(hi);
    if (known) return blocks->is_constant(*known);
    return hi->def() && hi->def()->is(tile::info(OpKind::Dim)) &&
           hi->def()->attr(attr::Dim::value) == blocks;
  }

  bool has_merged_axis(Value* value) const {
    for (int axis : axes_.of(value)) {
      if (merged_.contains(axis)) return true;
    }
    return false;
  }

  bool check_body() {
    for (Op* op : *body_) {
      if (op->is_terminator()) continue;
      if (op->region_count() || (!op->is_pure() && !op->is(tile::info(OpKind::Load)))) return false;
      // A block is scanned or sorted for itself.
      if (common::is_along_axis(op) && !op->is(tile::info(OpKind::Reduce))) return false;
      // What ends within a block does not end within the whole.
      if (op->is(tile::info(OpKind::Within)) && has_merged_axis(op->result())) return false;
      for (unsigned i = 0; i < op->operand_count(); ++i) {
        Value* operand = op->operand(i);
        // An operand from outside must not run along the axis: only what is loaded here can be
        // widened.
        bool outside = !operand->def() || !is_inside(operand->def());
        if (outside && operand->type()->is(TypeKind::Tile) && has_merged_axis(operand))
          return false;
        if (offsets_.contains(operand) && !is_placing(op, i)) return false;
      }
      if (!moves_with_index(op)) return false;
    }
    return true;
  }

  /// Does element i of a block along a merged axis stay element k*T + i of the whole, in each tile
  /// that the op reads or makes?
  bool moves_with_index(Op* op) {
    std::vector<AxisLink> links = axis_links(op);
    auto is_linked = [&](auto matches) { return std::ranges::any_of(links, matches); };
    for (unsigned i = 0; i < op->operand_count(); ++i) {
      auto has_axis = [&, at = i](size_t axis) {
        return is_linked([&](const AxisLink& link) { return link.operand == at && link.axis == axis; });
      };
      if (!holds_along_merged(op->operand(i), has_axis)) return false;
    }
    for (unsigned i = 0; i < op->result_count(); ++i) {
      auto has_axis = [&, to = op->result(i)](size_t axis) {
        return is_linked([&](const AxisLink& link) { return link.to == to && link.place == axis; }) ||
               is_made_whole(op, axis);
      };
      if (!holds_along_merged(op->result(i), has_axis)) return false;
    }
    return true;
  }

  template <typename Test>
  bool holds_along_merged(Value* value, Test test) const {
    std::vector<int> axes = axes_.of(value);
    for (size_t i = 0; i < axes.size(); ++i) {
      if (merged_.contains(axes[i]) && !test(i)) return false;
    }
    return true;
  }

  /// Of an axis that no operand has: does the op make the block of this iteration, or the same
  /// element all along?
  bool is_made_whole(Op* op, size_t axis) {
    switch (tile::kind_of(op)) {
      case OpKind::Load: return offsets_.contains(op->in(in::Load::offsets, unsigned(axis)));
      case OpKind::Iota: return size_t(op->attr(attr::Iota::axis)) != axis || is_counted_on(op->result());
      case OpKind::Full:
      case OpKind::Splat:
      case OpKind::Broadcast: return true;
      default: return false;
    }
  }

  /// iota + k*T, wherever the iota is used.
  bool is_counted_on(Value* iota) {
    for (Use* use = iota->first_use(); use; use = use->next()) {
      Op* other = added_at(use);
      if (!other || !other->is(tile::info(OpKind::Splat)) || !offsets_.contains(other->operand(0))) return false;
    }
    return true;
  }

  /// What makes the value that is added at a use; null for other uses.
  static Op* added_at(Use* use) {
    Op* op = use->owner();
    return op->info().elementwise == ElementwiseKind::Add ? op->operand(1 - use->index())->def() : nullptr;
  }

  /// Is this use of an offset one that stays right when the offset becomes 0 and the tile grows?
  bool is_placing(Op* op, unsigned position) {
    if (op->is(tile::info(OpKind::Load))) {
      return position >= op->slot_begin(in::Load::offsets) &&
             position < op->slot_begin(in::Load::limits);
    }
    if (op->info().elementwise == ElementwiseKind::Sub && position == 1)
      return only_limits(op->result());
    if (op->is(tile::info(OpKind::Splat))) return only_counts(op->result());
    return false;
  }

  /// K - k*T, which is then the limit of that axis and goes away with it.
  bool only_limits(Value* value) {
    for (Use* use = value->first_use(); use; use = use->next()) {
      Op* op = use->owner();
      if (!op->is(tile::info(OpKind::Load))) return false;
      unsigned first = op->slot_begin(in::Load::limits);
      if (use->index() < first) return false;
      if (!offsets_.contains(op->in(in::Load::offsets, use->index() - first))) return false;
    }
    return true;
  }

  /// iota + k*T along the axis: the coordinate in the whole.
  bool only_counts(Value* splat) {
    for (Use* use = splat->first_use(); use; use = use->next()) {
      Op* other = added_at(use);
      if (!other || !other->is(tile::info(OpKind::Iota))) return false;
      if (!merged_.contains(axes_.of(other->result(), size_t(other->attr(attr::Iota::axis)))))
        return false;
    }
    return true;
  }

  bool check_yields() {
    for (unsigned i = 0; i + 1 < body_->arg_count(); ++i) {
      Value* carried = body_->arg(i + 1);
      Op* last = body_->back()->operand(i)->def();
      if (!carried->has_one_use() || carried->first_use()->owner() != last || !is_inside(last))
        return false;
      if (!last->result()->has_one_use() || has_merged_axis(carried)) return false;
      if (last->is(tile::info(OpKind::Dot))) {
        if (last->in(in::Dot::c) != carried || last->in(in::Dot::limit)) return false;
        if (!merged_.contains(axes_.of(last->in(in::Dot::a), 1))) return false;
      } else if (!combines_reduction(last, carried)) {
        return false;
      }
    }
    return all_reductions_are_carried();
  }

  bool combines_reduction(Op* last, Value* carried) {
    if (last->info().elementwise == ElementwiseKind::None || last->operand_count() != 2)
      return false;
    Op* reduce = last->operand(last->operand(0) == carried ? 1 : 0)->def();
    while (reduce &&
           (reduce->is(tile::info(OpKind::Reshape)) || reduce->is(tile::info(OpKind::Broadcast)))) {
      reduce = reduce->operand(0)->def();
    }
    if (!reduce || !is_inside(reduce) || !reduce->is(tile::info(OpKind::Reduce))) return false;
    if (tile::reduction_op(reduce->attr(attr::Reduce::kind)) != last->info().elementwise)
      return false;
    return merged_.contains(axes_.of(reduce->operand(0), size_t(reduce->attr(attr::Reduce::axis))));
  }

  /// A reduction or dot along the axis that has other uses sees one block at a time: it
  /// stops the merge.
  bool all_reductions_are_carried() {
    size_t combining = 0;
    for (Op* op : *body_)
      combining += op->is(tile::info(OpKind::Dot)) || op->is(tile::info(OpKind::Reduce));
    return combining == body_->arg_count() - 1u;
  }

  void rewrite() {
    Builder builder(*loop_->module());
    builder.set_before(loop_);
    builder.set_loc(loop_->loc());
    Value* zero = tile::index(builder, 0);
    for (Op* op : *body_) {
      if (op->is(tile::info(OpKind::Load))) drop_limits(op);
    }
    for (Value* offset : offsets_) offset->replace_all_uses(zero);
    for (unsigned i = 0; i + 1 < body_->arg_count(); ++i) {
      body_->arg(i + 1)->replace_all_uses(loop_->in(in::For::inits, i));
      loop_->result(i)->replace_all_uses(body_->back()->operand(i));
    }
    body_->back()->erase();
    for (Op* op : *body_) {
      for (unsigned i = 0; i < op->result_count(); ++i) widen(op->result(i));
      op->move_before(loop_);
    }
    // Only the old dots use the index, and nothing uses these any more.
    for (Value* offset : offsets_) offset->def()->erase();
    loop_->erase();
  }

  void drop_limits(Op* load) {
    std::vector<Value*> limits = load->ins(in::Load::limits);
    if (limits.empty()) return;
    Builder builder(*load->module());
    builder.set_before(loop_);
    bool limited = false;
    for (size_t i = 0; i < limits.size(); ++i) {
      Dim extent = load->result()->type()->dims[i];
      if (offsets_.contains(load->in(in::Load::offsets, unsigned(i)))) {
        limits[i] = tile::dim(builder, size_);
      } else {
        limited |= tile_limit(load, in::Load::limits, i, extent) != nullptr;
      }
    }
    if (!limited) limits.clear();
    load->set_slot(in::Load::limits, limits);
  }

  void widen(Value* value) {
    if (!value->type()->is(TypeKind::Tile)) return;
    std::vector<Dim> dims = value->type()->dims;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (merged_.contains(axes_.of(value, i))) dims[i] = size_;
    }
    value->set_type(context().tile(dims, value->type()->dtype));
  }

  Op* loop_;
  const TileAxes& axes_;
  Block* body_;
  std::optional<int64_t> block_;
  std::set<Value*> offsets_;
  std::set<int> merged_;
  Dim size_ = nullptr;
};

}  // namespace

Status merge_loops(Module& module, PassContext&) {
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(OpKind::Kernel))) continue;
    separate_axes(kernel);
    bool changed = true;
    while (changed) {
      changed = false;
      TileAxes axes(kernel);
      std::vector<Op*> loops;
      walk(kernel, [&](Op* op) {
        if (op->is(tile::info(OpKind::For))) loops.push_back(op);
      });
      // A merge moves ops and changes types, so that the axes are found anew after each.
      for (size_t i = loops.size(); i-- > 0 && !changed;) changed = LoopMerge(loops[i], axes).run();
    }
  }
  return success;
}

}  // namespace tessera
