#include "ir/numbers/elementwise.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "support/check.h"

namespace tessera {

namespace {

using enum ElementwiseCost;

constexpr ElementwiseInfo elementwise_table[] = {
    {"None", 0, ElementwiseClass::Arithmetic, Instruction},
#define ELEMENTWISE(Name, operands, cls, traits, cost) {#Name, operands, ElementwiseClass::cls, cost},
#include "ir/numbers/elementwise.def"
};

using Kind = ElementwiseKind;

// The meaning of an op is written once, for one element. The loops over many elements are instances
// of the same functions for a constant kind, so that each switch below folds away: hence the
// inlining.
#define TSR_FOLDS [[gnu::always_inline]] inline

/// Rounds a double to a dtype as compiled code does: once to f32, and from there to narrower ones.
/// For + - * / and sqrt the two roundings equal one (f32 has more than twice the digits of f16 and bf16).
TSR_FOLDS double round_to(DType dtype, double value) {
  if (dtype == DType::F64) return value;
  double single = double(float(value));
  if (dtype == DType::F32) return single;
  return decode_float(dtype, encode_float(dtype, single));
}

// What rows of MATH mean.
namespace reference {

using std::cos, std::erf, std::exp, std::exp2, std::expm1, std::log, std::log1p, std::log2, std::sin, std::tanh;

// In long double, so that what is rounded to f64 is right: an exponential takes the error of a large argument times
// that argument, and is still a number where its reciprocal is denormal.
TSR_FOLDS double sigmoid(double x) { return double(1.0L / (1.0L + std::exp(-static_cast<long double>(x)))); }

TSR_FOLDS double silu(double x) {
  if (std::isinf(x)) return x > 0 ? x : -0.0;
  return double(x / (1.0L + std::exp(-static_cast<long double>(x))));
}

// 1 + tanh(u) = 2 / (1 + exp(-2 u)), which does not cancel where u is negative.
TSR_FOLDS double gelu(double x) {
  if (std::isinf(x)) return x > 0 ? x : -0.0;
  constexpr long double twice_scale = 1.595769121605730711759784L;  // 2 sqrt(2 / pi)
  long double wide = x;
  return double(wide / (1.0L + std::exp(-twice_scale * (wide + 0.044715L * wide * wide * wide))));
}

// An estimate by S. Winitzki (A handy approximation for the error function and its inverse, 2008), good to 1/500, then
// steps of Halley's method, which cube the error. Near 1 the complement is compared, which does not cancel.
double erfinv(double x) {
  using Limits = std::numeric_limits<double>;
  if (!(std::fabs(x) < 1)) return std::fabs(x) == 1 ? x * Limits::infinity() : Limits::quiet_NaN();
  constexpr long double a = 0.147L, pi = 3.141592653589793238463L, half_root_pi = 0.886226925452758013649L;
  long double wide = std::fabs(x), distance = std::log((1 - wide) * (1 + wide));
  long double middle = 2 / (pi * a) + distance / 2;
  long double y = std::sqrt(std::sqrt(middle * middle - distance / a) - middle);
  for (int step = 0; step < 4; ++step) {
    long double error = wide < 0.5L ? std::erf(y) - wide : (1 - wide) - std::erfc(y);
    long double newton = error * half_root_pi * std::exp(y * y);
    y -= newton / (1 + y * newton);
  }
  return std::copysign(double(y), x);
}

}  // namespace reference

TSR_FOLDS double float_unary(Kind kind, DType dtype, double x) {
  switch (kind) {
    case Kind::Neg: return -x;
    case Kind::Abs: return std::fabs(x);
    case Kind::Sign: return x > 0 ? 1.0 : x < 0 ? -1.0 : x;
    case Kind::Sqrt: return std::sqrt(x);
    case Kind::Rsqrt: return 1.0 / (dtype == DType::F64 ? std::sqrt(x) : double(std::sqrt(float(x))));
    case Kind::Reciprocal: return 1.0 / x;
    case Kind::Relu: return x > 0 || std::isnan(x) ? x : 0.0;
    case Kind::Floor: return std::floor(x);
    case Kind::Ceil: return std::ceil(x);
    case Kind::Round: return std::nearbyint(x);
    case Kind::Trunc: return std::trunc(x);
#define MATH(Name, name, ...) \
  case Kind::Name: return reference::name(x);
#include "ir/numbers/elementwise.def"
    default: TSR_UNREACHABLE("not a float op of one operand");
  }
}

TSR_FOLDS double minimum(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

TSR_FOLDS double maximum(double a, double b) { return -minimum(-a, -b); }

double modulo(double a, double b) {
  if (b == 0) return std::numeric_limits<double>::quiet_NaN();
  double r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

TSR_FOLDS double float_binary(Kind kind, DType dtype, double a, double b) {
  switch (kind) {
    case Kind::Add: return a + b;
    case Kind::Sub: return a - b;
    case Kind::Mul: return a * b;
    case Kind::Div: return a / b;
    case Kind::FloorDiv: return std::floor(round_to(dtype, a / b));
    case Kind::Mod: return modulo(a, b);
    case Kind::Pow: return std::pow(a, b);
    case Kind::Min: return minimum(a, b);
    case Kind::Max: return maximum(a, b);
    default: TSR_UNREACHABLE("not a float op of two operands");
  }
}

TSR_FOLDS int64_t wrap(DType dtype, uint64_t bits) {
  if (dtype == DType::Bool) return bits & 1;
  unsigned width = dtype_info(dtype).bits;
  if (width == 64) return int64_t(bits);
  uint64_t low = bits & ((uint64_t(1) << width) - 1);
  if (dtype_info(dtype).cls == DTypeClass::Unsigned) return int64_t(low);
  return int64_t(low << (64 - width)) >> (64 - width);
}

bool is_unsigned(DType dtype) { return dtype_info(dtype).cls == DTypeClass::Unsigned; }

/// Unsigned 64-bit values fill the word, so orderings and divisions ask for the dtype.
bool less(DType dtype, int64_t a, int64_t b) {
  return is_unsigned(dtype) ? uint64_t(a) < uint64_t(b) : a < b;
}

int64_t divide(DType dtype, int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (is_unsigned(dtype)) return int64_t(uint64_t(a) / uint64_t(b));
  return b == -1 ? int64_t(0 - uint64_t(a)) : a / b;
}

int64_t remainder(DType dtype, int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (is_unsigned(dtype)) return int64_t(uint64_t(a) % uint64_t(b));
  return b == -1 ? 0 : a % b;
}

int64_t floor_divide(DType dtype, int64_t a, int64_t b) {
  int64_t r = remainder(dtype, a, b);
  bool adjust = !is_unsigned(dtype) && r != 0 && (r < 0) != (b < 0);
  return divide(dtype, a, b) - (adjust ? 1 : 0);
}

int64_t floor_modulo(DType dtype, int64_t a, int64_t b) {
  int64_t r = remainder(dtype, a, b);
  return !is_unsigned(dtype) && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

int64_t shift_right(DType dtype, int64_t a, int64_t amount) {
  bool outside = amount < 0 || amount >= dtype_info(dtype).bits;
  if (is_unsigned(dtype)) return outside ? 0 : int64_t(uint64_t(a) >> amount);
  if (outside) return a < 0 ? -1 : 0;
  return a >> amount;
}

TSR_FOLDS uint64_t int_result(Kind kind, DType dtype, int64_t a, int64_t b) {
  switch (kind) {
    case Kind::Neg: return 0 - uint64_t(a);
    case Kind::Abs: return !is_unsigned(dtype) && a < 0 ? 0 - uint64_t(a) : uint64_t(a);
    case Kind::Sign: return a == 0 ? 0 : less(dtype, a, 0) ? uint64_t(-1) : 1;
    case Kind::Relu: return less(dtype, a, 0) ? 0 : uint64_t(a);
    case Kind::Not: return ~uint64_t(a);
    case Kind::Add: return uint64_t(a) + uint64_t(b);
    case Kind::Sub: return uint64_t(a) - uint64_t(b);
    case Kind::Mul: return uint64_t(a) * uint64_t(b);
    case Kind::Div: return uint64_t(divide(dtype, a, b));
    case Kind::FloorDiv: return uint64_t(floor_divide(dtype, a, b));
    case Kind::Mod: return uint64_t(floor_modulo(dtype, a, b));
    case Kind::Min: return uint64_t(less(dtype, b, a) ? b : a);
    case Kind::Max: return uint64_t(less(dtype, a, b) ? b : a);
    case Kind::And: return uint64_t(a) & uint64_t(b);
    case Kind::Or: return uint64_t(a) | uint64_t(b);
    case Kind::Xor: return uint64_t(a) ^ uint64_t(b);
    case Kind::Shl: return b < 0 || b >= dtype_info(dtype).bits ? 0 : uint64_t(a) << b;
    case Kind::Shr: return uint64_t(shift_right(dtype, a, b));
    default: TSR_UNREACHABLE("not an integer op");
  }
}

TSR_FOLDS bool compare(Kind kind, DType dtype, Element a, Element b) {
  if (is_float(dtype)) {
    switch (kind) {
      case Kind::Eq: return a.f == b.f;
      case Kind::Ne: return a.f != b.f;
      case Kind::Lt: return a.f < b.f;
      case Kind::Le: return a.f <= b.f;
      case Kind::Gt: return a.f > b.f;
      case Kind::Ge: return a.f >= b.f;
      default: TSR_UNREACHABLE("not a comparison");
    }
  }
  switch (kind) {
    case Kind::Eq: return a.i == b.i;
    case Kind::Ne: return a.i != b.i;
    case Kind::Lt: return less(dtype, a.i, b.i);
    case Kind::Le: return !less(dtype, b.i, a.i);
    case Kind::Gt: return less(dtype, b.i, a.i);
    case Kind::Ge: return !less(dtype, a.i, b.i);
    default: TSR_UNREACHABLE("not a comparison");
  }
}

/// Clamps to the range of an integer dtype, towards zero; NaN gives 0.
int64_t float_to_integer(DType to, double value) {
  if (std::isnan(value)) return 0;
  value = std::trunc(value);
  unsigned width = dtype_info(to).bits;
  if (is_unsigned(to)) {
    if (value <= 0) return 0;
    if (value >= std::ldexp(1.0, int(width))) return wrap(to, ~uint64_t(0));
    return int64_t(uint64_t(value));
  }
  double limit = std::ldexp(1.0, int(width) - 1);
  if (value >= limit) return int64_t((uint64_t(1) << (width - 1)) - 1);
  if (value < -limit) return wrap(to, uint64_t(1) << (width - 1));
  return int64_t(value);
}

/// A 64-bit integer rounded once to a float dtype. A double holds 53 bits; for narrower results the lost
/// bits are kept as a sticky bit, so that the second rounding sees on which side of a tie the value was.
double integer_to_float(DType from, DType to, int64_t value) {
  bool negative = !is_unsigned(from) && value < 0;
  uint64_t magnitude = negative ? 0 - uint64_t(value) : uint64_t(value);
  double result;
  if (to == DType::F64) {
    result = double(magnitude);
  } else {
    if (magnitude >> 53) {
      bool sticky = magnitude & 0xfff;
      magnitude = (magnitude & ~uint64_t(0xfff)) | (sticky ? uint64_t(0x1000) : 0);
    }
    result = to == DType::F32 ? double(float(double(magnitude)))
                              : decode_float(to, encode_float(to, double(magnitude)));
  }
  return negative ? -result : result;
}

TSR_FOLDS Element cast(DType from, DType to, Element a) {
  if (is_float(from)) {
    if (to == DType::Bool) return {.i = a.f != 0};
    if (!is_float(to)) return {.i = float_to_integer(to, a.f)};
    return {.f = to == DType::F64 ? a.f : decode_float(to, encode_float(to, a.f))};
  }
  if (is_float(to)) return {.f = integer_to_float(from, to, a.i)};
  if (to == DType::Bool) return {.i = a.i != 0};
  return {.i = wrap(to, uint64_t(a.i))};
}

TSR_FOLDS Element with_bits(DType from, DType to, Element a) {
  uint64_t bits = is_float(from) ? encode_float(from, a.f) : uint64_t(a.i);
  if (is_float(to)) return {.f = decode_float(to, bits & (~uint64_t(0) >> (64 - 8 * byte_size(to))))};
  return {.i = wrap(to, bits)};
}

TSR_FOLDS Element float_fma(DType dtype, double a, double b, double c) {
  if (dtype == DType::F64) return {.f = std::fma(a, b, c)};
  return {.f = round_to(dtype, double(std::fmaf(float(a), float(b), float(c))))};
}

TSR_FOLDS Element evaluate(Kind kind, DType dtype, DType result, const Element* operands) {
  const ElementwiseInfo& row = elementwise_table[size_t(kind)];
  if (kind == Kind::Bits) return with_bits(dtype, result, operands[0]);
  if (row.cls == ElementwiseClass::Convert) return cast(dtype, result, operands[0]);
  if (row.cls == ElementwiseClass::Choose) return operands[0].i ? operands[1] : operands[2];
  if (row.cls == ElementwiseClass::Compare) return {.i = compare(kind, dtype, operands[0], operands[1])};
  if (kind == Kind::Fma) return float_fma(dtype, operands[0].f, operands[1].f, operands[2].f);
  if (is_float(dtype)) {
    double value = row.operands == 1 ? float_unary(kind, dtype, operands[0].f)
                                     : float_binary(kind, dtype, operands[0].f, operands[1].f);
    return {.f = round_to(dtype, value)};
  }
  int64_t b = row.operands == 2 ? operands[1].i : 0;
  return {.i = wrap(dtype, int_result(kind, dtype, operands[0].i, b))};
}

using Operands = std::span<const Element* const>;

TSR_FOLDS void evaluate_loop(Kind kind, DType dtype, DType result, Operands operands, Element* out,
                             size_t count) {
  const unsigned arity = elementwise_table[size_t(kind)].operands;
  for (size_t i = 0; i < count; ++i) {
    Element values[3] = {};
    for (unsigned o = 0; o < arity; ++o) values[o] = operands[o][i];
    out[i] = evaluate(kind, dtype, result, values);
  }
}

/// The loop for one kind; the commonest dtypes get an instance where dtype is a constant too.
template <Kind kind>
void evaluate_many(DType dtype, DType result, Operands operands, Element* out, size_t count) {
  if (kind != Kind::Cast && dtype == DType::F32) {
    evaluate_loop(kind, DType::F32, result, operands, out, count);
  } else if (kind != Kind::Cast && dtype == DType::F64) {
    evaluate_loop(kind, DType::F64, result, operands, out, count);
  } else {
    evaluate_loop(kind, dtype, result, operands, out, count);
  }
}

using ManyFunction = void (*)(DType, DType, Operands, Element*, size_t);

constexpr ManyFunction many_table[] = {
    nullptr,
#define ELEMENTWISE(Name, ...) evaluate_many<Kind::Name>,
#include "ir/numbers/elementwise.def"
};

#undef TSR_FOLDS

}  // namespace

const ElementwiseInfo& elementwise_info(ElementwiseKind kind) { return elementwise_table[size_t(kind)]; }

bool is_transcendental(ElementwiseKind kind) {
  ElementwiseCost cost = elementwise_info(kind).cost;
  return cost == Function || cost == InF64;
}

bool has_code(ElementwiseKind kind, DType dtype) {
  ElementwiseCost cost = elementwise_info(kind).cost;
  return dtype != DType::F64 || (cost != InF64 && cost != Remainder);
}

unsigned element_cost(ElementwiseKind kind, DType dtype) {
  constexpr unsigned of_functions = 16, of_f64 = 96, in_f64 = 128, wide_division = 64;
  ElementwiseCost cost = elementwise_info(kind).cost;
  bool divides = cost == Division || cost == Remainder;
  if (divides && !is_float(dtype)) return byte_size(dtype) == 8 ? wide_division : of_functions;
  switch (cost) {
    case Instruction:
    case Division: return 1;
    case Remainder:
    case InF64: return in_f64;
    case Function: return dtype == DType::F64 ? of_f64 : of_functions;
  }
  TSR_UNREACHABLE("a cost of elementwise ops");
}

bool accepts(ElementwiseClass cls, DType dtype) {
  switch (cls) {
    case ElementwiseClass::Arithmetic: return dtype != DType::Bool;
    case ElementwiseClass::Real: return is_float(dtype);
    case ElementwiseClass::Logical: return !is_float(dtype);
    case ElementwiseClass::Compare:
    case ElementwiseClass::Choose:
    case ElementwiseClass::Convert: return true;
  }
  TSR_UNREACHABLE("a class of elementwise ops");
}

Element evaluate_elementwise(ElementwiseKind kind, DType dtype, DType result,
                             std::span<const Element> operands) {
  TSR_CHECK(operands.size() == elementwise_info(kind).operands, "wrong number of operands");
  return evaluate(kind, dtype, result, operands.data());
}

void evaluate_elementwise_many(ElementwiseKind kind, DType dtype, DType result,
                               std::span<const Element* const> operands, Element* out, size_t count) {
  TSR_CHECK(operands.size() == elementwise_info(kind).operands, "wrong number of operands");
  many_table[size_t(kind)](dtype, result, operands, out, count);
}

Element load_element(DType dtype, const void* address) {
  uint64_t bits = 0;
  std::memcpy(&bits, address, byte_size(dtype));
  if (is_float(dtype)) return {.f = decode_float(dtype, bits)};
  return {.i = wrap(dtype, dtype == DType::Bool ? bits != 0 : bits)};
}

void store_element(DType dtype, Element value, void* address) {
  uint64_t bits = is_float(dtype) ? encode_float(dtype, value.f) : uint64_t(value.i);
  std::memcpy(address, &bits, byte_size(dtype));
}

void load_elements(DType dtype, const void* address, Element* out, size_t count) {
  if (dtype == DType::F32) {
    const float* values = static_cast<const float*>(address);
    for (size_t i = 0; i < count; ++i) out[i].f = double(values[i]);
  } else if (dtype == DType::BF16) {
    const uint16_t* values = static_cast<const uint16_t*>(address);
    for (size_t i = 0; i < count; ++i) out[i].f = double(bf16_to_f32(values[i]));
  } else {
    const char* bytes = static_cast<const char*>(address);
    for (size_t i = 0; i < count; ++i) out[i] = load_element(dtype, bytes + i * byte_size(dtype));
  }
}

void store_elements(DType dtype, const Element* values, void* address, size_t count) {
  if (dtype == DType::F32) {
    uint32_t* out = static_cast<uint32_t*>(address);
    for (size_t i = 0; i < count; ++i) out[i] = uint32_t(encode_float(DType::F32, values[i].f));
  } else {
    char* bytes = static_cast<char*>(address);
    for (size_t i = 0; i < count; ++i) store_element(dtype, values[i], bytes + i * byte_size(dtype));
  }
}

}  // namespace tessera
