// Masks tiles only where the mask is not true everywhere (GPU).
//
//   y = select(mask, x, other)   becomes   y = if <the mask holds everywhere> { x } else { select(mask, x, other) }
//
// In causal attention every row attends to all keys of a block, except in the last blocks. Whether
// a comparison of coordinates holds everywhere follows from the least and the greatest number of
// either side, which are scalars: one comparison per iteration serves all elements.
//
// Where elements are compared one by one, 32 bits are enough. Either side is a tile of coordinates,
// which are small, plus a scalar. Only the difference of the two scalars matters, and it may be
// clamped beyond the range of the coordinates. A mask of many terms stays as it is: a value that is
// added to itself again and again is no coordinate.

#include <algorithm>

#include "ir/tile/build.h"
#include "passes/analysis/loop_bounds.h"
#include "passes/pass.h"

namespace tessera {

using tile::OpKind;
using Kind = ElementwiseKind;
namespace at = tile::at;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

/// Elements of a tile from which on a branch is cheaper than a mask.
constexpr int64_t fewest_elements = 1024;
/// More than sums of as many coordinates of tiles differ by.
constexpr int64_t farthest = int64_t(1) << 30;
constexpr int most_terms = 64;

class MaskSkipping {
 public:
  explicit MaskSkipping(Op* select) : select_(select), builder_(*select->module()) {}

  void run() {
    Value* mask = select_->operand(0);
    if (!has_ranges(mask)) return;
    builder_.set_before(select_);
    builder_.set_loc(select_->loc());
    Value* everywhere = holds(mask);
    Op* choice = builder_.op(tile::info(OpKind::If), {{everywhere}}, {select_->result()->type()});
    Block* whole = choice->region(at::If::then)->add_block();
    Block* masked = choice->region(at::If::otherwise)->add_block();
    builder_.set_end(whole);
    tile::yield(builder_, {select_->operand(1)});
    choice->result()->set_name(select_->result()->name());
    select_->result()->replace_all_uses(choice->result());
    builder_.set_end(masked);
    select_->set_operand(0, narrow(mask));
    tile::yield(builder_, {select_->result()});
    select_->move_before(masked->back());
  }

 private:
  struct Range {
    Value* low;
    Value* high;
  };

  /// Whether the mask compares numbers whose ranges scalars give.
  bool has_ranges(Value* mask) {
    Op* def = mask->def();
    if (!def) return false;
    if (passes_on(def)) return has_ranges(def->operand(0));
    switch (def->info().elementwise) {
      case Kind::And: return has_ranges(def->operand(0)) && has_ranges(def->operand(1));
      case Kind::Lt:
      case Kind::Le:
      case Kind::Gt:
      case Kind::Ge: return has_range(def->operand(0)) && has_range(def->operand(1));
      default: return false;
    }
  }

  static bool passes_on(Op* op) { return op->is(tile::info(OpKind::Broadcast)) || op->is(tile::info(OpKind::Reshape)); }

  bool has_range(Value* value) {
    Op* def = value->def();
    if (!def || value->type()->dtype != DType::I64 || ++terms_ > most_terms) return false;
    if (passes_on(def)) return has_range(def->operand(0));
    if (def->is(tile::info(OpKind::Iota)) || def->is(tile::info(OpKind::Splat)) || def->is(tile::info(OpKind::Full)))
      return true;
    bool sum = def->info().elementwise == Kind::Add || def->info().elementwise == Kind::Sub;
    return sum && has_range(def->operand(0)) && has_range(def->operand(1));
  }

  Value* holds(Value* mask) {
    Op* def = mask->def();
    if (passes_on(def)) return holds(def->operand(0));
    Kind kind = def->info().elementwise;
    if (kind == Kind::And) {
      Value *first = holds(def->operand(0)), *second = holds(def->operand(1));
      return tile::elementwise(builder_, Kind::And, {first, second});
    }
    Range a = range(def->operand(0)), b = range(def->operand(1));
    bool less = kind == Kind::Lt || kind == Kind::Le;
    return tile::elementwise(builder_, kind, {less ? a.high : a.low, less ? b.low : b.high});
  }

  Range range(Value* value) {
    Op* def = value->def();
    if (passes_on(def)) return range(def->operand(0));
    if (def->is(tile::info(OpKind::Splat))) return {def->operand(0), def->operand(0)};
    if (def->is(tile::info(OpKind::Full))) {
      Attr value = def->attr(attr::Full::value);
      Value* number = tile::index(builder_, value->is(AttrKind::Int) ? value->integer : int64_t(value->number));
      return {number, number};
    }
    if (def->is(tile::info(OpKind::Iota))) {
      Value* start = def->in(in::Iota::start);
      Value* low = start ? start : tile::index(builder_, 0);
      int64_t extent = *value->type()->dims[size_t(def->attr(attr::Iota::axis))]->constant();
      return {low, tile::add(builder_, low, tile::index(builder_, extent - 1))};
    }
    Range a = range(def->operand(0)), b = range(def->operand(1));
    if (def->info().elementwise == Kind::Add)
      return {tile::add(builder_, a.low, b.low), tile::add(builder_, a.high, b.high)};
    return {tile::sub(builder_, a.low, b.high), tile::sub(builder_, a.high, b.low)};
  }

  /// A number of each element as coordinates (null: 0) and a scalar.
  struct Sum {
    Value* tile;
    Value* scalar;
  };

  Type narrowed(Type tile) { return builder_.context().with_dtype(tile, DType::I32); }

  Sum sum(Value* value) {
    Op* def = value->def();
    if (def->is(tile::info(OpKind::Splat))) return {nullptr, def->operand(0)};
    if (def->is(tile::info(OpKind::Full))) return {nullptr, range(value).low};
    if (def->is(tile::info(OpKind::Iota))) {
      Value* start = def->in(in::Iota::start);
      Value* tile =
          builder_.value(tile::info(OpKind::Iota), {{}}, narrowed(value->type()),
                         {attr::Iota::axis(def->node(attr::Iota::axis))});
      return {tile, start ? start : tile::index(builder_, 0)};
    }
    Sum a = sum(def->operand(0));
    if (passes_on(def)) {
      if (a.tile) a.tile = builder_.value(&def->info(), {{a.tile}}, narrowed(value->type()));
      return a;
    }
    Sum b = sum(def->operand(1));
    bool adds = def->info().elementwise == Kind::Add;
    Sum all{a.tile, adds ? tile::add(builder_, a.scalar, b.scalar) : tile::sub(builder_, a.scalar, b.scalar)};
    if (!b.tile) return all;
    if (!a.tile) all.tile = tile::full(builder_, b.tile->type(), builder_.context().integer(0));
    if (!a.tile && adds) return {b.tile, all.scalar};
    all.tile = tile::elementwise(builder_, def->info().elementwise, {all.tile, b.tile});
    return all;
  }

  /// a - b, cut where it is farther; such as where b is the least number, for no limit at all.
  Value* difference(Value* a, Value* b) {
    Value *least = tile::index(builder_, -farthest), *most = tile::index(builder_, farthest);
    Value* apart = tile::sub(builder_, a, b);
    Value* is_less = tile::elementwise(builder_, Kind::Lt, {a, b});
    Value* is_negative = tile::elementwise(builder_, Kind::Lt, {apart, tile::index(builder_, 0)});
    Value* wraps = tile::elementwise(builder_, Kind::Xor, {is_less, is_negative});
    Value* far = tile::elementwise(builder_, Kind::Select, {is_less, least, most});
    Value* cut = tile::min(builder_, tile::elementwise(builder_, Kind::Max, {apart, least}), most);
    return tile::elementwise(builder_, Kind::Select, {wraps, far, cut});
  }

  Value* narrow(Value* mask) {
    Op* def = mask->def();
    if (passes_on(def)) return builder_.value(&def->info(), {{narrow(def->operand(0))}}, mask->type());
    Kind kind = def->info().elementwise;
    if (kind == Kind::And) {
      Value *first = narrow(def->operand(0)), *second = narrow(def->operand(1));
      return tile::elementwise(builder_, Kind::And, {first, second});
    }
    Sum a = sum(def->operand(0)), b = sum(def->operand(1));
    Value* more = tile::cast(builder_, difference(b.scalar, a.scalar), DType::I32);
    Type type = narrowed(def->operand(0)->type());
    Value* left = a.tile ? a.tile : tile::full(builder_, type, builder_.context().integer(0));
    Value* right = builder_.value(tile::info(OpKind::Splat), {{more}}, type);
    if (b.tile) right = tile::elementwise(builder_, Kind::Add, {b.tile, right});
    return tile::elementwise(builder_, kind, {left, right});
  }

  Op* select_;
  Builder builder_;
  int terms_ = 0;  ///< of the mask, counted as often as they occur
};

bool is_large(Type tile) {
  int64_t elements = 1;
  for (Dim dim : tile->dims) elements *= dim->constant().value_or(0);
  return elements >= fewest_elements;
}

}  // namespace

Status skip_masks(Module& module, PassContext&) {
  std::vector<Op*> selects;
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(OpKind::Kernel))) continue;
    walk(kernel, [&](Op* op) {
      bool chooses = op->info().elementwise == Kind::Select && op->result()->type()->is(TypeKind::Tile);
      if (chooses && is_in_iteration(op) && is_large(op->result()->type())) selects.push_back(op);
    });
  }
  for (Op* select : selects) MaskSkipping(select).run();
  return success;
}

}  // namespace tessera
