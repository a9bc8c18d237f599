#pragma once
// Functions on f32 and f64 registers and scalars, written as arithmetic. The same formulas serve both dtypes with
// polynomials of their own (coefficients.inc, derived by tools/math/minimax.py); docs/numerics.md has the errors.
//
// Every function takes any value: NaN gives NaN, denormals are numbers, and what overflows or underflows does so
// where the exact value does. There are no branches, so lanes with special values cost nothing extra.

#include <cmath>
#include <span>

#include "passes/target/target_builder.h"

namespace tessera::math {

/// Arithmetic in one dtype and shape.
class Arithmetic {
 public:
  /// With `approximates` the machine has the approx_ ops of nv_ops.def, and min and max that pass NaN on. With
  /// `flushes` 0 will do for a result that is smaller than normal numbers are, and with `is_rounded` about 15 digits
  /// for one that is rounded to fewer.
  Arithmetic(TargetBuilder& builder, Type type, bool approximates = false, bool flushes = false,
             bool is_rounded = false)
      : b(builder), type_(type), approximates_(approximates), flushes_(flushes), is_rounded_(is_rounded) {}

  Type type() const { return type_; }
  bool approximates() const { return approximates_; }
  bool flushes() const { return flushes_; }
  bool is_rounded() const { return is_rounded_; }
  bool is_double() const { return type_->dtype == DType::F64; }
  /// The signed integers of the same size.
  Type integer_type() const { return b.like(type_, is_double() ? DType::I64 : DType::I32); }
  int mantissa_bits() const { return is_double() ? 52 : 23; }
  int bias() const { return is_double() ? 1023 : 127; }
  /// Added to a number it rounds that to an integer, which the low bits then hold.
  double magic() const { return is_double() ? 0x1.8p52 : 0x1.8p23; }

  Value* number(double value) { return b.number(type_, value); }
  Value* integer(int64_t value) { return b.integer(integer_type(), value); }
  Value* neg(Value* a) { return b.op(ElementwiseKind::Neg, a); }
  Value* abs(Value* a) { return b.op(ElementwiseKind::Abs, a); }
  Value* less(Value* a, double than) { return b.op(ElementwiseKind::Lt, a, number(than)); }
  Value* greater(Value* a, double than) { return b.op(ElementwiseKind::Gt, a, number(than)); }
  Value* equal(Value* a, double to) { return b.op(ElementwiseKind::Eq, a, number(to)); }
  /// `a`, or `bound` where a is below or above it; NaN stays.
  Value* at_least(Value* a, double bound) {
    return approximates_ ? b.max(a, number(bound)) : b.select(less(a, bound), number(bound), a);
  }
  Value* at_most(Value* a, double bound) {
    return approximates_ ? b.min(a, number(bound)) : b.select(greater(a, bound), number(bound), a);
  }
  /// a * x + c with constants.
  Value* fma(Value* a, double x, Value* c) { return b.fma(a, number(x), c); }
  /// The polynomial with these coefficients, lowest first, by Horner's rule.
  Value* polynomial(Value* x, std::span<const double> coefficients);
  Value* bits(Value* a) { return b.bitcast(a, integer_type()->dtype); }
  Value* from_bits(Value* a) { return b.bitcast(a, type_->dtype); }
  /// |magnitude| with the sign of `sign`.
  Value* with_sign_of(Value* magnitude, Value* sign);
  /// 2^n of integers n for which that is a normal number.
  Value* power_of_two(Value* n);
  /// The same of whole numbers.
  Value* power_of_whole(Value* n);
  /// a * 2^n, rounded once, for |n| up to twice the largest exponent.
  Value* scale(Value* a, Value* n);

  TargetBuilder& b;

 private:
  Type type_;
  bool approximates_, flushes_, is_rounded_;
};

/// e^x as expm1 and n: e^x = 2^n * (1 + expm1), for x bounded so that n fits `scale`.
struct Exponential {
  Value* expm1;
  Value* n;         ///< integer
  Value* n_number;  ///< the same as a number
};
/// Of the sum x + low, `low` being much smaller or null.
Exponential reduce_exponential(Arithmetic& m, Value* x, Value* low = nullptr);

// The functions of the rows.
#define MATH(Name, name, ...) Value* name(Arithmetic& m, Value* x);
#include "ir/numbers/elementwise.def"

// Where the arithmetic approximates.
Value* approximate_exp(Arithmetic& m, Value* x);
Value* approximate_exp2(Arithmetic& m, Value* x);
/// a / b for b of an ordinary size.
Value* approximate_quotient(Arithmetic& m, Value* a, Value* b);
/// numerator / (1 + e^-(y + low)), where y below `lowest` counts as that.
Value* approximate_logistic(Arithmetic& m, Value* y, Value* low, Value* numerator, double lowest);
/// The same, to about 15 digits, for half of y log2(e).
Value* rounded_logistic(Arithmetic& m, Value* half, Value* numerator);

/// f32 only: computed in f64.
Value* pow(Arithmetic& m, Value* x, Value* y);

/// The exact remainder with the sign of b.
Value* mod(Arithmetic& m, Value* a, Value* b);

}  // namespace tessera::math
