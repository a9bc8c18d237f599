// Dots of fragments: for each k, each row of the result adds a(row, k), in every lane, times row k
// of b.
//
// All lanes need the same element of a. Where a comes straight from memory it is loaded as scalars,
// so that instructions with a broadcast operand can use it: a row of the dot then costs one
// instruction and no register.

#include "ir/tile/ops.h"
#include "passes/tile/x86/kernel_lowering.h"

namespace tessera {

using Kind = ElementwiseKind;
using tile::OpKind;
namespace in = tile::in;

namespace {

bool is_cast(Op* op) { return op && op->info().elementwise == Kind::Cast; }

/// Every use is as the first factor of a dot, perhaps after casts.
bool used_as_factor(Value* value) {
  if (value->unused()) return false;
  for (Use* use = value->first_use(); use; use = use->next()) {
    Op* user = use->owner();
    if (is_cast(user) && used_as_factor(user->result())) continue;
    if (user->is(tile::info(OpKind::Dot)) && use->index() == user->slot_begin(in::Dot::a)) continue;
    return false;
  }
  return true;
}

}  // namespace

bool KernelLowering::only_multiplies(Value* value) const {
  Op* def = value->def();
  if (!def) return false;
  if (is_cast(def)) return only_multiplies(def->operand(0));
  bool load = def->is(tile::info(OpKind::Load)) && def->slot_size(in::Load::limits) == 0;
  return load && used_as_factor(value);
}

void KernelLowering::lower_dot(Op* op) {
  Fragment a = fragment(op->in(in::Dot::a));
  Fragment factor = fragment(op->in(in::Dot::b));
  Fragment sum = fragment(op->in(in::Dot::c));
  DType dtype = op->result()->type()->dtype;
  Value* limit = op->in(in::Dot::limit) ? scalar(op->in(in::Dot::limit)) : nullptr;
  int64_t per_row = sum.shape.parts_per_row();
  for (int64_t k = 0; k < a.shape.columns(); ++k) {
    Value* there = limit ? b_.op(Kind::Lt, b_.index(k), limit) : nullptr;
    if (there && b_.as_constant(there) == 0) break;
    std::vector<Value*> row_of_b;
    for (int64_t part = 0; part < per_row; ++part) row_of_b.push_back(b_.cast(factor.part(k, part), dtype));
    for (int64_t row = 0; row < sum.shape.rows(); ++row) {
      Value* one = b_.cast(element(a, row, k), dtype);
      for (int64_t part = 0; part < per_row; ++part) {
        int64_t lanes = sum.shape.lanes(part);
        Value*& into = sum.parts[size_t(row * per_row + part)];
        Value* spread = lanes > 1 ? b_.splat(one, lanes) : one;
        Value* next = is_float(dtype) ? b_.fma(spread, row_of_b[size_t(part)], into)
                                      : b_.add(into, b_.mul(spread, row_of_b[size_t(part)]));
        Value* keep = there && lanes > 1 ? b_.splat(there, lanes) : there;
        into = keep ? b_.select(keep, next, into) : next;
      }
    }
  }
  define(op->result(), std::move(sum.parts));
}

}  // namespace tessera
