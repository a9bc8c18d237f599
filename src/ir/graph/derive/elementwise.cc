// Derivatives of ops on single elements: d/dx f(x) * t for each operand x with a tangent t. Those of narrow floats are
// computed in f32 and rounded once. Where a function has two derivatives, at 0 of |x| or between equal operands of a
// maximum, it is the mean of both.

#include <cmath>
#include <numbers>

#include "ir/graph/derive/backward.h"
#include "ir/graph/derive/term.h"
#include "ir/graph/op_facts.h"
#include "support/check.h"

namespace tessera::graph {

namespace {

using Kind = ElementwiseKind;

/// The operands of an op with their tangents, in the dtype of derivatives.
class Operands {
 public:
  Operands(Op* op, Forward& forward) : op_(op), forward_(&forward) {}

  Term operator[](unsigned i) const { return wide(forward_->builder(), op_->operand(i)); }
  Term result() const { return wide(forward_->builder(), op_->result()); }
  /// None where it is 0.
  Term tangent(unsigned i) const {
    Value* tangent = forward_->tangent(op_->operand(i));
    return tangent ? wide(forward_->builder(), tangent) : Term{};
  }
  Term tangent_or_zero(unsigned i) const {
    return wide(forward_->builder(), forward_->tangent_or_zero(op_->operand(i)));
  }

 private:
  Op* op_;
  Forward* forward_;
};

Term plus(Term a, Term b) {
  if (!a || !b) return a ? a : b;
  return a + b;
}
Term times(Term tangent, Term factor) { return tangent ? tangent * factor : tangent; }

// The functions of a real number, for the tangents in the rows of elementwise.def.
namespace row {

using std::numbers::inv_sqrtpi;
using std::numbers::ln2;
#define MATH(Name, name, ...) \
  [[maybe_unused]] Term name(Term x) { return x.apply(Kind::Name); }
#include "ir/numbers/elementwise.def"

/// d/dx of x/2 * (1 + tanh(u)) with u = sqrt(2/pi) * (x + 0.044715 x^3).
Term gelu_slope(Term x) {
  const double a = std::sqrt(2 / std::numbers::pi), b = 0.044715;
  Term square = x * x;
  Term bend = tanh(x * a * (square * b + 1.0));
  return (bend + 1.0) * 0.5 + x * 0.5 * (1.0 - bend * bend) * ((square * (3 * b) + 1.0) * a);
}

/// d/dx of x * sigmoid(x).
Term silu_slope(Term x) {
  Term s = sigmoid(x);
  return s * (x * (1.0 - s) + 1.0);
}

/// That of y = name(x); t, of x.
#define MATH(Name, name, f32, f64, gpu, tangent) \
  Term tangent_of_##name([[maybe_unused]] Term x, [[maybe_unused]] Term y, Term t) { return tangent; }
#include "ir/numbers/elementwise.def"

}  // namespace row

/// a^b by a, and by b: b * a^(b - 1), which is 0 for b = 0, and a^b * log(a), which is 0 for a = 0.
Term power_tangent(const Operands& x) {
  Term a = x[0], b = x[1], zero = a.filled(0), one = a.filled(1);
  Term by_base, by_exponent;
  if (x.tangent(0)) {
    Term slope = where(b.apply(Kind::Eq, zero), zero, b * a.apply(Kind::Pow, b - one));
    by_base = x.tangent(0) * slope;
  }
  if (x.tangent(1)) {
    Term logarithm = where(a.apply(Kind::Eq, zero), one, a).apply(Kind::Log);
    by_exponent = x.tangent(1) * (x.result() * logarithm);
  }
  return plus(by_base, by_exponent);
}

/// That of the operand chosen; half of each where both are equal.
Term extreme_tangent(const Operands& x, Kind wins) {
  Term chosen = where(x[0].apply(wins, x[1]), x.tangent_or_zero(0), x.tangent_or_zero(1));
  return where(x[0].apply(Kind::Eq, x[1]), plus(x.tangent(0), x.tangent(1)) * 0.5, chosen);
}

/// None where the derivative is 0 everywhere.
Term tangent_of(Op* op, Forward& forward) {
  Operands x(op, forward);
  Builder& builder = forward.builder();
  switch (op->info().elementwise) {
#define MATH(Name, name, ...) \
  case Kind::Name: return row::tangent_of_##name(x[0], x.result(), x.tangent(0));
#include "ir/numbers/elementwise.def"
    case Kind::Neg: return -x.tangent(0);
    case Kind::Abs: return x.tangent(0) * x[0].apply(Kind::Sign);
    case Kind::Sqrt: return x.tangent(0) * (0.5 / x.result());
    case Kind::Rsqrt: return x.tangent(0) * (x.result() / x[0] * -0.5);
    case Kind::Reciprocal: return x.tangent(0) * -(x.result() * x.result());
    case Kind::Relu: return where(x[0].apply(Kind::Gt, x[0].filled(0)), x.tangent(0), x[0].filled(0));
    case Kind::Add: return plus(x.tangent(0), x.tangent(1));
    case Kind::Sub: return x.tangent(1) ? plus(x.tangent(0), -x.tangent(1)) : x.tangent(0);
    case Kind::Mul: return plus(times(x.tangent(0), x[1]), times(x.tangent(1), x[0]));
    case Kind::Div: {
      Term by_divisor = times(x.tangent(1), -x.result());
      return plus(x.tangent(0), by_divisor) / x[1];
    }
    case Kind::Mod: return plus(x.tangent(0), times(x.tangent(1), -x[0].apply(Kind::FloorDiv, x[1])));
    case Kind::Pow: return power_tangent(x);
    case Kind::Min: return extreme_tangent(x, Kind::Lt);
    case Kind::Max: return extreme_tangent(x, Kind::Gt);
    case Kind::Select: {
      Term condition{&builder, op->operand(0)};
      return where(condition, x.tangent_or_zero(1), x.tangent_or_zero(2));
    }
    case Kind::Fma:
      return plus(plus(times(x.tangent(0), x[1]), times(x.tangent(1), x[0])), x.tangent(2));
    case Kind::Cast: return x.tangent(0);
    // Steps: constant but where they jump.
    case Kind::Sign:
    case Kind::Floor:
    case Kind::Ceil:
    case Kind::Round:
    case Kind::Trunc:
    case Kind::FloorDiv:
      return {};
    // Results that are no floats, and bits, which are no numbers.
    case Kind::Bits:
    case Kind::Not:
    case Kind::And:
    case Kind::Or:
    case Kind::Xor:
    case Kind::Shl:
    case Kind::Shr:
    case Kind::Eq:
    case Kind::Ne:
    case Kind::Lt:
    case Kind::Le:
    case Kind::Gt:
    case Kind::Ge:
      return {};
    case Kind::None: break;
  }
  TSR_CHECK(false, "an elementwise op has a meaning");
}

}  // namespace


void jvp_elementwise(Op* op, Forward& forward) {
  Term tangent = tangent_of(op, forward);
  if (tangent) forward.set(op->result(), tangent.in(op->result()->type()->dtype).value);
}

void transpose_elementwise(Op* op, Backward& backward) {
  Builder& builder = backward.builder();
  Term g{&builder, backward.cotangent(op->result())};
  auto linear = [&](unsigned i) { return backward.is_linear(op->operand(i)); };
  auto operand = [&](unsigned i) { return Term{&builder, op->operand(i)}; };
  auto add = [&](unsigned i, Term term) {
    if (linear(i)) backward.add(op->operand(i), term.value);
  };
  switch (op->info().elementwise) {
    case Kind::Neg: return add(0, -g);
    case Kind::Add:
      add(0, g);
      return add(1, g);
    case Kind::Sub:
      add(0, g);
      if (linear(1)) add(1, -g);
      return;
    case Kind::Mul: return linear(0) ? add(0, g * operand(1)) : add(1, g * operand(0));
    case Kind::Div: return add(0, g / operand(1));
    case Kind::Select:
      if (linear(1)) add(1, where(operand(0), g, g.filled(0)));
      if (linear(2)) add(2, where(operand(0), g.filled(0), g));
      return;
    case Kind::Cast: return add(0, g.in(op->operand(0)->type()->dtype));
    default: break;  // tangents are made of those above
  }
  backward.refuse(op, "is not linear");
}

}  // namespace tessera::graph
