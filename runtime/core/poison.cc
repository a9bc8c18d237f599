#include "runtime/core/poison.h"

#include <cmath>
#include <cstring>

namespace tessera::runtime {

namespace {

using format::Dtype;

/// A binary float: sign, exponent, mantissa from the highest bit down.
struct FloatForm {
  int bits;
  int mantissa;
  bool has_infinity;  ///< else the exponent of ones is of numbers, but for one NaN
};

FloatForm form_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::F64: return {64, 52, true};
    case Dtype::Bf16: return {16, 7, true};
    case Dtype::F16: return {16, 10, true};
    case Dtype::F8E4M3: return {8, 3, false};
    case Dtype::F8E5M2: return {8, 2, true};
    default: return {32, 23, true};
  }
}

/// The value of finite bits.
double value_of(uint64_t bits, FloatForm form) {
  int exponent_bits = form.bits - 1 - form.mantissa;
  int64_t exponent = int64_t((bits >> form.mantissa) & ((uint64_t(1) << exponent_bits) - 1));
  uint64_t fraction = bits & ((uint64_t(1) << form.mantissa) - 1);
  int bias = (1 << (exponent_bits - 1)) - 1;
  uint64_t significand = exponent == 0 ? fraction : fraction | (uint64_t(1) << form.mantissa);
  double size =
      std::ldexp(double(significand), int((exponent == 0 ? 1 : exponent) - bias - form.mantissa));
  return bits >> (form.bits - 1) & 1 ? -size : size;
}

template <typename Bits>
FloatScan scan(FloatForm form, uint64_t poison, std::string_view bytes, double low, double high) {
  const uint64_t fraction = (uint64_t(1) << form.mantissa) - 1;
  const uint64_t special = ((uint64_t(1) << (form.bits - 1)) - 1) & ~fraction;
  const bool is_bounded = low > -HUGE_VAL || high < HUGE_VAL;
  FloatScan found;
  int64_t count = int64_t(bytes.size() / sizeof(Bits));
  for (int64_t i = 0; i < count; ++i) {
    Bits stored;
    std::memcpy(&stored, bytes.data() + size_t(i) * sizeof(Bits), sizeof(Bits));
    uint64_t bits = stored;
    bool is_special = (bits & special) == special;
    if (is_special && !form.has_infinity) is_special = (bits & fraction) == fraction;
    if (is_special) {
      bool is_infinite = form.has_infinity && (bits & fraction) == 0;
      Found& kind = bits == poison ? found.poison : is_infinite ? found.infinite : found.nan;
      kind.add(i);
      // Infinities are numbers that no bounds have, and NaN lies between none.
      if (is_bounded && bits != poison) found.outside.add(i);
    } else if (is_bounded) {
      double value = value_of(bits, form);
      if (value < low || value > high) found.outside.add(i);
    }
  }
  return found;
}

}  // namespace

bool is_float(Dtype dtype) {
  return dtype <= Dtype::F8E5M2;
}

Poison poison_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::F64: return {0x7ff4deadbeef5a5a, 8};
    case Dtype::F32:
    case Dtype::Tf32: return {0x7fa0dead, 4};
    case Dtype::Bf16: return {0x7fa5, 2};
    case Dtype::F16: return {0x7d5a, 2};
    case Dtype::F8E4M3: return {0xff, 1};
    case Dtype::F8E5M2: return {0x7d, 1};
    default: return {0xa5, 1};
  }
}

FloatScan scan_floats(Dtype dtype, std::string_view bytes, double low, double high) {
  FloatForm form = form_of(dtype);
  uint64_t poison = poison_of(dtype).pattern;
  switch (form.bits) {
    case 64: return scan<uint64_t>(form, poison, bytes, low, high);
    case 32: return scan<uint32_t>(form, poison, bytes, low, high);
    case 16: return scan<uint16_t>(form, poison, bytes, low, high);
    default: return scan<uint8_t>(form, poison, bytes, low, high);
  }
}

}  // namespace tessera::runtime
