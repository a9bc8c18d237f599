// Reductions: the tree of tile.reduce, register by register and then within one register.
//
// The tree combines element i with element i + h for h = half the extent rounded up to a power of two, then h/2, and
// so on. While h is a multiple of a register's lanes that combines whole registers; below, the halves of one
// register. Missing elements are replaced by the identity of the reduction, for which nothing changes: -0 for a sum
// (x + -0 is x for every x), 1 for a product, the least and greatest value for max and min.

#include <bit>

#include "ir/tile/ops.h"
#include "passes/tile/x86/kernel_lowering.h"
#include "support/check.h"

namespace tessera {

using Kind = ElementwiseKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

Kind combiner(std::string_view kind) {
  if (kind == "sum") return Kind::Add;
  if (kind == "prod") return Kind::Mul;
  return kind == "max" ? Kind::Max : Kind::Min;
}

int64_t extreme(DType dtype, bool greatest) {
  Element infinity{.f = greatest ? HUGE_VAL : -HUGE_VAL};
  return evaluate_elementwise(Kind::Cast, DType::F64, dtype, {&infinity, 1}).i;
}

/// `part` with lanes added that hold `identity`.
Value* padded(TargetBuilder& b, Value* part, int64_t lanes, Value* identity) {
  if (part->type()->is(TypeKind::Scalar)) {
    return lanes == 1 ? part : b.insert(b.splat(identity, lanes), part, 0);
  }
  int64_t own = part->type()->lanes;
  if (own == lanes) return part;
  std::vector<int64_t> picks;
  for (int64_t i = 0; i < lanes; ++i) picks.push_back(std::min(i, own));
  return b.shuffle(part, b.splat(identity, own), picks);
}

}  // namespace

Value* KernelLowering::neutral_of(Kind kind, DType dtype) {
  Type type = b_.context().scalar(dtype);
  bool real = is_float(dtype);
  switch (kind) {
    case Kind::Add: return real ? b_.number(type, -0.0) : b_.integer(type, 0);
    case Kind::Mul: return real ? b_.number(type, 1.0) : b_.integer(type, 1);
    case Kind::Max: return real ? b_.number(type, -HUGE_VAL) : b_.integer(type, extreme(dtype, false));
    case Kind::Min: return real ? b_.number(type, HUGE_VAL) : b_.integer(type, extreme(dtype, true));
    default: TSR_UNREACHABLE("no such reduction");
  }
}

/// Replaces elements at or past the limit along the axis (null: none are) by `with`; gives the limit, or null where all
/// elements are below it.
Value* KernelLowering::mask_past(Fragment& from, size_t axis, Value* tile_limit, Value* with) {
  Value* limit = tile_limit ? scalar(tile_limit) : nullptr;
  if (!limit || b_.as_constant(limit).value_or(0) >= from.shape.extents[axis]) return nullptr;
  Access bounds{nullptr, from.shape, with->type()->dtype, {}, std::vector<Value*>(from.shape.extents.size())};
  bounds.limits[axis] = limit;
  for (int64_t n = 0; n < from.shape.part_count(); ++n) {
    int64_t part = n % from.shape.parts_per_row();
    int64_t lanes = from.shape.lanes(part);
    Value* left = b_.sub(row_count(bounds, from.shape.row_index(n / from.shape.parts_per_row())),
                         b_.index(part * from.shape.chunk));
    Value* there = lanes > 1 ? b_.mask(left, lanes) : b_.op(Kind::Gt, left, b_.index(0));
    Value*& value = from.parts[size_t(n)];
    value = b_.select(there, value, lanes > 1 ? b_.splat(with, lanes) : with);
  }
  return limit;
}

Value* KernelLowering::combine(Kind kind, std::vector<Value*> values) {
  for (size_t n = values.size(); n > 1;) {
    size_t half = std::bit_ceil(n) / 2;
    for (size_t i = 0; i + half < n; ++i) values[i] = b_.op(kind, values[i], values[i + half]);
    n = half;
  }
  return values[0];
}

Value* KernelLowering::reduce_row(Kind kind, std::vector<Value*> parts, Value* identity) {
  if (parts.empty()) return identity;
  int64_t last = std::max<int64_t>(parts.back()->type()->lanes, 1);
  int64_t lanes = parts.size() > 1 ? lanes_ : int64_t(std::bit_ceil(uint64_t(last)));
  parts.back() = padded(b_, parts.back(), lanes, identity);
  Value* all = combine(kind, std::move(parts));
  while (lanes > 1) {
    lanes /= 2;
    Value* halves[2];
    for (int64_t n = 0; n < 2; ++n) {
      std::vector<int64_t> picks;
      for (int64_t i = 0; i < lanes; ++i) picks.push_back(n * lanes + i);
      halves[n] = lanes == 1 ? b_.extract(all, n) : b_.shuffle(all, all, picks);
    }
    all = b_.op(kind, halves[0], halves[1]);
  }
  return all;
}

void KernelLowering::lower_reduce(Op* op) {
  Fragment from = fragment(op->in(in::Reduce::a));
  size_t axis = size_t(op->attr(attr::Reduce::axis));
  Kind kind = combiner(op->attr(attr::Reduce::kind));
  DType dtype = op->result()->type()->dtype;
  // The sum of no element is +0, while -0 is neutral.
  bool is_float_sum = kind == Kind::Add && is_float(dtype);
  Value* identity = neutral_of(kind, dtype);
  if (is_float_sum && from.shape.extents[axis] == 0) identity = b_.number(identity->type(), 0.0);
  bool along_lanes = axis + 1 == from.shape.extents.size();
  Value* limit = mask_past(from, axis, op->in(in::Reduce::limit), identity);

  Fragment kept{from.shape, {}};
  kept.shape.extents[axis] = 1;
  if (along_lanes) {
    int64_t per_row = from.shape.parts_per_row();
    for (int64_t row = 0; row < from.shape.rows(); ++row) {
      auto first = from.parts.begin() + row * per_row;
      kept.parts.push_back(reduce_row(kind, {first, first + per_row}, identity));
    }
  } else {
    for (int64_t row = 0; row < kept.shape.rows(); ++row) {
      std::vector<int64_t> index = kept.shape.row_index(row);
      for (int64_t part = 0; part < kept.shape.parts_per_row(); ++part) {
        std::vector<Value*> values;
        for (index[axis] = 0; index[axis] < from.shape.extents[axis]; ++index[axis]) {
          values.push_back(from.part(from.shape.row_of(index), part));
        }
        int64_t lanes = kept.shape.lanes(part);
        Value* none = lanes > 1 ? b_.splat(identity, lanes) : identity;
        kept.parts.push_back(values.empty() ? none : combine(kind, std::move(values)));
      }
    }
  }
  if (limit && is_float_sum) {
    Value* some = b_.op(Kind::Gt, limit, b_.index(0));
    for (Value*& part : kept.parts) {
      Type type = part->type();
      Value* condition = type->is(TypeKind::Reg) ? b_.splat(some, type->lanes) : some;
      part = b_.select(condition, part, b_.zero(type));
    }
  }
  define_reshaped(op->result(), kept);
}

}  // namespace tessera
