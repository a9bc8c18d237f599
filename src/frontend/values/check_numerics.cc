// Dtypes: their spellings in the language, widening between them, and the dtype a value is computed
// in.

#include "frontend/values/check_numerics.h"

#include <algorithm>

namespace tessera::frontend {

namespace {

struct DTypeName {
  std::string_view text;
  DType dtype;
};

/// The IR's spellings and the aliases of the language.
constexpr DTypeName names[] = {
#define DTYPE(Name, bits, cls, text) {text, DType::Name},
#include "ir/numbers/dtypes.def"
#undef DTYPE
#define DTYPE_NAME(text, Name) {text, DType::Name},
#include "frontend/values/dtype_names.def"
#undef DTYPE_NAME
};

/// Bits of the significand (with the hidden one), and the range of exponents, of a float dtype.
struct FloatFormat {
  int significand;
  int least_exponent;  ///< of the smallest subnormal
  int greatest_exponent;
};

FloatFormat format(DType dtype) {
  switch (dtype) {
    case DType::F64:
      return {53, -1074, 1023};
    case DType::F32:
      return {24, -149, 127};
    case DType::TF32:
      return {11, -136, 127};
    case DType::BF16:
      return {8, -133, 127};
    case DType::F16:
      return {11, -24, 15};
    case DType::F8E4M3:
      return {4, -9, 8};
    case DType::F8E5M2:
      return {3, -16, 15};
    default:
      return {0, 0, 0};
  }
}

/// Value bits: without the sign bit.
int magnitude_bits(DType dtype) {
  return int(dtype_info(dtype).bits) - (is_signed(dtype) ? 1 : 0);
}

}  // namespace

std::optional<DType> dtype_by_name(std::string_view name) {
  for (const DTypeName& row : names) {
    if (row.text == name) return row.dtype;
  }
  return std::nullopt;
}

std::vector<std::string_view> dtype_names() {
  std::vector<std::string_view> list;
  for (const DTypeName& row : names) list.push_back(row.text);
  return list;
}

DType default_accum(DType dtype) {
  bool narrow = is_float(dtype) && dtype != DType::F64;
  return narrow ? DType::F32 : dtype;
}

DType compute_dtype(DType storage, const Policies& policies) {
  return policies.accum.value_or(default_accum(storage));
}

DType contraction_dtype(DType storage, const Policies& policies) {
  if (policies.accum) return *policies.accum;
  if (!is_integer(storage)) return default_accum(storage);
  if (dtype_info(storage).bits == 64) return storage;
  return is_signed(storage) ? DType::I32 : DType::U32;
}

bool widens_to(DType from, DType to) {
  if (from == to) return true;
  if (from == DType::Bool || to == DType::Bool) return false;
  if (is_float(from)) {
    if (!is_float(to)) return false;
    FloatFormat a = format(from), b = format(to);
    return a.significand <= b.significand && a.least_exponent >= b.least_exponent &&
           a.greatest_exponent <= b.greatest_exponent;
  }
  if (is_float(to)) {
    FloatFormat b = format(to);
    return magnitude_bits(from) <= b.significand && magnitude_bits(from) <= b.greatest_exponent;
  }
  if (is_signed(from) && !is_signed(to)) return false;
  return magnitude_bits(from) <= magnitude_bits(to);
}

}  // namespace tessera::frontend
