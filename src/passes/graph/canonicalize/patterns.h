#pragma once
// The patterns of `canonicalize`, by subject. Each set is in its own file, where every pattern says
// why it is exact.

#include <initializer_list>
#include <span>

#include "ir/core/rewrite.h"
#include "ir/graph/ops.h"

namespace tessera::canonical {

/// Values known at compile time (constants.cc).
std::span<const Pattern> constant_patterns();
/// Conversions between dtypes (casts.cc).
std::span<const Pattern> cast_patterns();
/// Laws of arithmetic that hold for every operand (algebra.cc).
std::span<const Pattern> algebra_patterns();
/// Signs, bounds, comparisons, and reductions whose order has no say (order.cc).
std::span<const Pattern> order_patterns();
/// Tensors without elements, and what is computed from them (empty.cc).
std::span<const Pattern> empty_patterns();
/// The same elements under other dims (views.cc).
std::span<const Pattern> view_patterns();

/// True if users of the op's result may take `value` instead: it has the same type, or the types
/// differ in policies alone and no function returns the result, whose policies callers see.
bool may_stand_for(Op* op, Value* value);
/// Replaces the op by an existing value where that may stand for it.
bool replace_by(Op* op, Value* value, Rewriter& rewriter);

inline bool is(Op* op, ElementwiseKind kind) { return op->info().elementwise == kind; }

inline DType dtype_of(Value* value) { return value->type()->dtype; }

/// An elementwise op of the same type as the op that is rewritten, in its place.
bool replace_with_op(Op* op, ElementwiseKind kind, std::initializer_list<Value*> operands, Rewriter& rewriter);

/// The op of that kind that defines a value, else null.
inline Op* def_of(Value* value, ElementwiseKind kind) {
  Op* op = value->def();
  return op && is(op, kind) ? op : nullptr;
}
inline Op* def_of(Value* value, graph::OpKind kind) {
  Op* op = value->def();
  return op && graph::kind_of(op) == kind ? op : nullptr;
}

}  // namespace tessera::canonical
