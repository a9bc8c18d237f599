#include "passes/tile/common/neighbours.h"

#include <algorithm>
#include <numeric>

#include "ir/core/common_attributes.h"
#include "ir/tile/axes.h"
#include "ir/tile/ops.h"

namespace tessera {

using tile::OpKind;
using Kind = ElementwiseKind;

namespace {

/// The greatest power of two that divides the number, 0 among them.
int64_t power_of_two(int64_t number) { return std::gcd(number % Neighbours::widest, Neighbours::widest); }

bool is_view(Op* op) {
  return op->is(tile::info(OpKind::Broadcast)) || op->is(tile::info(OpKind::Reshape)) ||
         op->is(tile::info(OpKind::Transpose));
}

}  // namespace

Neighbours::Facts Neighbours::of(Value* tile, int axis) {
  auto [it, is_new] = known_.try_emplace({tile, axis});
  if (!is_new) return it->second;
  Facts found = compute(tile, axis);
  if (tile->type()->dims[size_t(axis)]->is_constant(1)) found.equal = widest;
  return known_[{tile, axis}] = found;
}

Neighbours::Facts Neighbours::compute(Value* tile, int axis) {
  Op* def = tile->def();
  if (!def) return {};
  if (is_view(def)) return of_view(def, axis);
  if (def->info().elementwise != Kind::None) return of_elementwise(def, axis);
  if (def->is(tile::info(OpKind::ConvertLayout))) return of(def->operand(0), axis);
  if (def->is(tile::info(OpKind::Splat))) {
    return {.equal = widest, .multiple = power_of_two(divisibility_.of(def->operand(0)))};
  }
  if (def->is(tile::info(OpKind::Full))) {
    Attr value = def->attr(tile::attr::Full::value);
    return {.equal = widest, .multiple = value->is(AttrKind::Int) ? power_of_two(value->integer) : 1};
  }
  if (!def->is(tile::info(OpKind::Iota))) return {};
  if (int(def->attr(common::Along::axis)) != axis) return {.equal = widest};
  Value* start = def->in(tile::in::Iota::start);
  return {.counting = start ? power_of_two(divisibility_.of(start)) : widest};
}

Neighbours::Facts Neighbours::of_view(Op* op, int axis) {
  std::vector<int> axes = *tile::axes_in_result(op);
  auto seen = std::ranges::find(axes, axis);
  // What an inserted axis repeats has the multiples that it has along any other one.
  if (seen != axes.end()) return of(op->operand(0), int(seen - axes.begin()));
  return {.equal = widest, .multiple = axes.empty() ? 1 : of(op->operand(0), 0).multiple};
}

Neighbours::Facts Neighbours::of_elementwise(Op* op, int axis) {
  Facts found{.equal = widest};
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    found.equal = std::min(found.equal, of(op->operand(i), axis).equal);
  }
  // A number that wraps keeps its remainder.
  if (!is_integer(op->result()->type()->dtype) || !is_integer(op->operand(0)->type()->dtype)) return found;
  Facts a = of(op->operand(0), axis);
  switch (op->info().elementwise) {
    case Kind::Cast: return a;
    case Kind::Add:
    case Kind::Sub: {
      Facts b = of(op->operand(1), axis);
      bool adds = op->info().elementwise == Kind::Add;
      found.counting = std::min({a.counting, b.equal, b.multiple});
      if (adds) found.counting = std::max(found.counting, std::min({b.counting, a.equal, a.multiple}));
      found.multiple = std::min(a.multiple, b.multiple);
      return found;
    }
    case Kind::Mul:
      found.multiple = std::min(widest, a.multiple * of(op->operand(1), axis).multiple);
      return found;
    default: return found;
  }
}

}  // namespace tessera
