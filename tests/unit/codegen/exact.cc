#include "unit/codegen/exact.h"

#include <stdexcept>

namespace tessera::test {

namespace {

using Kind = ElementwiseKind;

void sigmoid(mpfr_ptr y, mpfr_ptr x) {
  mpfr_neg(y, x, MPFR_RNDN);
  mpfr_exp(y, y, MPFR_RNDN);
  mpfr_add_ui(y, y, 1, MPFR_RNDN);
  mpfr_ui_div(y, 1, y, MPFR_RNDN);
}

/// x sigmoid(sqrt(8/pi) (x + 0.044715 x^3)), which is the tanh form.
void gelu(mpfr_ptr y, mpfr_ptr x) {
  ExactNumber t, c;
  mpfr_set_str(c, "0.044715", 10, MPFR_RNDN);
  mpfr_sqr(t, x, MPFR_RNDN);
  mpfr_mul(t, t, c, MPFR_RNDN);
  mpfr_add_ui(t, t, 1, MPFR_RNDN);
  mpfr_mul(t, t, x, MPFR_RNDN);
  mpfr_const_pi(c, MPFR_RNDN);
  mpfr_ui_div(c, 8, c, MPFR_RNDN);
  mpfr_sqrt(c, c, MPFR_RNDN);
  mpfr_mul(t, t, c, MPFR_RNDN);
  sigmoid(y, t);
  mpfr_mul(y, y, x, MPFR_RNDN);
}

/// From the interpreter's double two steps of Newton's method, which square its error. Near 1 the complement is
/// compared, which does not cancel.
void erfinv(mpfr_ptr y, mpfr_ptr x) {
  Element operand{.f = mpfr_get_d(x, MPFR_RNDN)};
  mpfr_set_d(y, evaluate_elementwise(Kind::Erfinv, DType::F64, DType::F64, {&operand, 1}).f, MPFR_RNDN);
  if (!mpfr_number_p(y) || mpfr_zero_p(y)) return;
  ExactNumber size, error, slope;
  mpfr_abs(size, x, MPFR_RNDN);
  mpfr_abs(y, y, MPFR_RNDN);
  for (int step = 0; step < 2; ++step) {
    if (mpfr_cmp_d(size, 0.5) < 0) {
      mpfr_erf(error, y, MPFR_RNDN);
      mpfr_sub(error, error, size, MPFR_RNDN);
    } else {
      mpfr_erfc(error, y, MPFR_RNDN);
      mpfr_ui_sub(slope, 1, size, MPFR_RNDN);
      mpfr_sub(error, slope, error, MPFR_RNDN);
    }
    mpfr_sqr(slope, y, MPFR_RNDN);
    mpfr_exp(slope, slope, MPFR_RNDN);
    mpfr_mul(error, error, slope, MPFR_RNDN);
    mpfr_const_pi(slope, MPFR_RNDN);
    mpfr_sqrt(slope, slope, MPFR_RNDN);
    mpfr_mul(error, error, slope, MPFR_RNDN);
    mpfr_div_ui(error, error, 2, MPFR_RNDN);
    mpfr_sub(y, y, error, MPFR_RNDN);
  }
  mpfr_copysign(y, y, x, MPFR_RNDN);
}

}  // namespace

void exact(Kind kind, mpfr_ptr y, mpfr_ptr x) {
  switch (kind) {
    case Kind::Exp: mpfr_exp(y, x, MPFR_RNDN); return;
    case Kind::Exp2: mpfr_exp2(y, x, MPFR_RNDN); return;
    case Kind::Expm1: mpfr_expm1(y, x, MPFR_RNDN); return;
    case Kind::Log: mpfr_log(y, x, MPFR_RNDN); return;
    case Kind::Log2: mpfr_log2(y, x, MPFR_RNDN); return;
    case Kind::Log1p: mpfr_log1p(y, x, MPFR_RNDN); return;
    case Kind::Sqrt: mpfr_sqrt(y, x, MPFR_RNDN); return;
    case Kind::Rsqrt: mpfr_rec_sqrt(y, x, MPFR_RNDN); return;
    case Kind::Reciprocal: mpfr_ui_div(y, 1, x, MPFR_RNDN); return;
    case Kind::Sin: mpfr_sin(y, x, MPFR_RNDN); return;
    case Kind::Cos: mpfr_cos(y, x, MPFR_RNDN); return;
    case Kind::Tanh: mpfr_tanh(y, x, MPFR_RNDN); return;
    case Kind::Sigmoid: sigmoid(y, x); return;
    case Kind::Erf: mpfr_erf(y, x, MPFR_RNDN); return;
    case Kind::Erfinv: erfinv(y, x); return;
    case Kind::Gelu: gelu(y, x); return;
    case Kind::Silu:
      sigmoid(y, x);
      mpfr_mul(y, y, x, MPFR_RNDN);
      return;
    case Kind::Relu:
      mpfr_set(y, x, MPFR_RNDN);
      if (mpfr_sgn(x) <= 0) mpfr_set_zero(y, 1);
      return;
    case Kind::Abs: mpfr_abs(y, x, MPFR_RNDN); return;
    case Kind::Neg: mpfr_neg(y, x, MPFR_RNDN); return;
    case Kind::Sign: mpfr_set_si(y, mpfr_sgn(x) > 0 ? 1 : -1, MPFR_RNDN); return;  // of no zero
    case Kind::Floor: mpfr_rint_floor(y, x, MPFR_RNDN); return;
    case Kind::Ceil: mpfr_rint_ceil(y, x, MPFR_RNDN); return;
    case Kind::Round: mpfr_rint_roundeven(y, x, MPFR_RNDN); return;
    case Kind::Trunc: mpfr_rint_trunc(y, x, MPFR_RNDN); return;
    default: throw std::logic_error("a function without a reference");
  }
}

}  // namespace tessera::test
