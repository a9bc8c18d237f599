#include "ir/numbers/dtype.h"

#include <cmath>
#include <limits>

#include "support/check.h"

namespace tessera {

namespace {

/// Shape of a binary float format narrower than f64.
struct FloatFormat {
  int mantissa_bits;
  int exponent_bits;
  bool has_infinity;  ///< f8e4m3 has none: its only special value is NaN, S.1111.111
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};

constexpr FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::F32: return {23, 8, true};
    case DType::TF32: return {10, 8, true};
    case DType::BF16: return {7, 8, true};
    case DType::F16: return {10, 5, true};
    case DType::F8E4M3: return {3, 4, false};
    case DType::F8E5M2: return {2, 5, true};
    default: TSR_UNREACHABLE("not a narrow float dtype");
  }
}

/// tf32 is stored in the high bits of an f32 word.
int storage_shift(DType dtype) { return dtype == DType::TF32 ? 13 : 0; }

uint64_t quiet_nan(const FloatFormat& f) {
  uint64_t exponent = (uint64_t(1) << f.exponent_bits) - 1;
  uint64_t mantissa = f.has_infinity ? uint64_t(1) << (f.mantissa_bits - 1)
                                     : (uint64_t(1) << f.mantissa_bits) - 1;
  return exponent << f.mantissa_bits | mantissa;
}

uint64_t largest_finite(const FloatFormat& f) {
  uint64_t all = (uint64_t(1) << (f.exponent_bits + f.mantissa_bits)) - 1;
  return f.has_infinity ? all - (uint64_t(1) << f.mantissa_bits) : all - 1;
}

/// Rounds the magnitude of a finite non-zero double to the format, ties to even, without range check:
/// the result may be the pattern just past the largest finite value.
uint64_t round_magnitude(const FloatFormat& f, double magnitude) {
  int exponent;
  std::frexp(magnitude, &exponent);
  int e = exponent - 1;
  int min_exponent = 1 - f.bias();
  int quantum = std::max(e, min_exponent) - f.mantissa_bits;
  // Exact: scaling by a power of two, then round-to-nearest-even of the current rounding mode.
  double scaled = std::nearbyint(std::ldexp(magnitude, -quantum));
  uint64_t units = uint64_t(scaled);
  if (e < min_exponent) return units;  // subnormal; a carry gives the smallest normal
  uint64_t biased = uint64_t(e + f.bias());
  return ((biased - 1) << f.mantissa_bits) + units;
}

}  // namespace

std::optional<DType> parse_dtype(std::string_view text) {
  for (size_t i = 0; i < std::size(dtype_table); ++i) {
    if (dtype_table[i].text == text) return DType(i);
  }
  return std::nullopt;
}

double decode_float(DType dtype, uint64_t bits) {
  if (dtype == DType::F64) return std::bit_cast<double>(bits);
  if (dtype == DType::F32) return double(std::bit_cast<float>(uint32_t(bits)));
  FloatFormat f = format_of(dtype);
  bits >>= storage_shift(dtype);
  uint64_t mantissa = bits & ((uint64_t(1) << f.mantissa_bits) - 1);
  int exponent = int(bits >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1);
  bool negative = bits >> (f.mantissa_bits + f.exponent_bits) & 1;
  bool top = exponent == (1 << f.exponent_bits) - 1;
  double value;
  if (exponent != 0 && !top) {  // by far the most: a double holds the same digits
    uint64_t biased = uint64_t(exponent - f.bias() + 1023);
    value = std::bit_cast<double>(biased << 52 | mantissa << (52 - f.mantissa_bits));
  } else if (top && f.has_infinity) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (top && mantissa == (uint64_t(1) << f.mantissa_bits) - 1) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(double(mantissa), 1 - f.bias() - f.mantissa_bits);
  } else {
    double significand = double(mantissa | uint64_t(1) << f.mantissa_bits);
    value = std::ldexp(significand, exponent - f.bias() - f.mantissa_bits);
  }
  return negative ? -value : value;
}

namespace {

/// Rounds a double to the digits of bf16 in one step; only for results in the normal range of bf16.
double round_normal_to_bf16(double value) {
  constexpr int dropped = 52 - 7;
  uint64_t bits = std::bit_cast<uint64_t>(value);
  bits += (uint64_t(1) << (dropped - 1)) - 1 + (bits >> dropped & 1);
  return std::bit_cast<double>(bits >> dropped << dropped);
}

uint64_t encode_slowly(DType dtype, double value, bool saturate) {
  FloatFormat f = format_of(dtype);
  uint64_t sign = uint64_t(std::signbit(value)) << (f.mantissa_bits + f.exponent_bits);
  uint64_t magnitude;
  if (std::isnan(value)) {
    magnitude = quiet_nan(f);
  } else if (value == 0) {
    magnitude = 0;
  } else {
    uint64_t overflow = f.has_infinity ? largest_finite(f) + 1 : quiet_nan(f);
    magnitude = std::isinf(value) ? overflow : round_magnitude(f, std::fabs(value));
    if (magnitude > largest_finite(f)) magnitude = saturate ? largest_finite(f) : overflow;
  }
  return (sign | magnitude) << storage_shift(dtype);
}

}  // namespace

IntegerRange integer_range(DType dtype) {
  if (dtype == DType::Bool) return {0, 1};
  int bits = int(dtype_info(dtype).bits);
  if (is_float(dtype)) {
    double greatest = decode_float(dtype, encode_float(dtype, std::numeric_limits<double>::infinity(), true));
    return {greatest < 0x1p63 ? -int64_t(greatest) : INT64_MIN, greatest < 0x1p64 ? uint64_t(greatest) : UINT64_MAX};
  }
  uint64_t greatest = UINT64_MAX >> (64 - bits);
  if (dtype_info(dtype).cls == DTypeClass::Unsigned) return {0, greatest};
  return {-int64_t(greatest >> 1) - 1, greatest >> 1};
}

uint64_t encode_float(DType dtype, double value, bool saturate) {
  if (dtype == DType::F64) return std::bit_cast<uint64_t>(value);
  // Numbers that are finite and normal in both formats need no case analysis.
  constexpr double largest_f32 = 0x1.fffffep127, smallest_normal = 0x1p-126;
  double magnitude = std::fabs(value);
  if (magnitude >= smallest_normal && magnitude <= largest_f32) {
    if (dtype == DType::F32) return std::bit_cast<uint32_t>(float(value));
    if (dtype == DType::BF16 && magnitude < 0x1.fep127) {
      return std::bit_cast<uint32_t>(float(round_normal_to_bf16(value))) >> 16;
    }
  }
  return encode_slowly(dtype, value, saturate);
}

}  // namespace tessera
