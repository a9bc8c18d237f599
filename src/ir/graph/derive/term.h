#pragma once
// Formulas of rules: values with operators. Operands of one shape and dtype.

#include "ir/graph/build.h"

namespace tessera::graph {

struct Term {
  Builder* builder = nullptr;
  Value* value = nullptr;  ///< null: 0, or left out

  explicit operator bool() const { return value != nullptr; }
  Term apply(ElementwiseKind kind) const { return {builder, elementwise(*builder, kind, {value})}; }
  Term apply(ElementwiseKind kind, Term other) const {
    return {builder, elementwise(*builder, kind, {value, other.value})};
  }
  /// Everywhere that number.
  Term filled(double number) const {
    return {builder, full(*builder, number, value->type()->dims, value->type()->dtype)};
  }
  Term in(DType dtype) const { return {builder, cast(*builder, value, dtype)}; }
};

inline Term operator+(Term a, Term b) { return a.apply(ElementwiseKind::Add, b); }
inline Term operator-(Term a, Term b) { return a.apply(ElementwiseKind::Sub, b); }
inline Term operator*(Term a, Term b) { return a.apply(ElementwiseKind::Mul, b); }
inline Term operator/(Term a, Term b) { return a.apply(ElementwiseKind::Div, b); }
inline Term operator-(Term a) { return a.apply(ElementwiseKind::Neg); }
inline Term operator+(Term a, double b) { return a + a.filled(b); }
inline Term operator*(Term a, double b) { return a * a.filled(b); }
inline Term operator-(double a, Term b) { return b.filled(a) - b; }
inline Term operator/(double a, Term b) { return b.filled(a) / b; }
inline Term where(Term condition, Term a, Term b) {
  return {a.builder, select(*a.builder, condition.value, a.value, b.value)};
}

/// The dtype that derivatives of values of a float dtype are computed in: f32 for all that are narrower.
DType derivative_dtype(DType dtype);
/// A value in that dtype; without policies.
Term wide(Builder& builder, Value* value);
/// Whether it is a float and 0 everywhere.
bool is_zero(Value* value);

/// The sum along axes, in derivative_dtype, rounded once to the dtype of x.
Value* sum(Builder& builder, Value* x, const std::vector<int64_t>& axes, bool keep = false);
/// Each element as often as `dims` say, along axes that were combined: `x` has the dims without them, or 1 there.
Value* spread(Builder& builder, Value* x, const std::vector<int64_t>& axes, std::vector<Dim> dims);
/// The sum of two derivatives of one value. Where what is not 0 lies side by side along an axis, as of slices of it,
/// the result is made of these parts, and nothing is added.
Value* total(Builder& builder, Value* a, Value* b);
/// Element i of x along an axis is element start + i * step, of `extent` elements; all others are 0.
Value* scattered(Builder& builder, Value* x, int64_t axis, Dim start, int64_t step, Dim extent);

}  // namespace tessera::graph
