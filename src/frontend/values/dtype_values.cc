#include "frontend/values/dtype_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::frontend {

std::pair<int64_t, int64_t> integer_range(DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  bool is_signed = info.cls == DTypeClass::Signed;
  int bits = int(info.bits) - (is_signed ? 1 : 0);
  int64_t greatest = bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t(1) << bits) - 1;
  return {is_signed ? -greatest - 1 : 0, greatest};
}

bool has_integer(DType dtype, int64_t value) {
  auto [least, greatest] = integer_range(dtype);
  return least <= value && value <= greatest;
}

bool has_number(DType dtype, double value) {
  if (std::isnan(value)) return true;
  double rounded = decode_float(dtype, encode_float(dtype, value));
  return std::isinf(value) ? std::isinf(rounded) : std::isfinite(rounded);
}

bool has_size(DType dtype, Dim size, DimTable& dims, const std::vector<DimFact>& facts) {
  if (!is_integer(dtype)) return is_float(dtype);
  if (dtype_info(dtype).bits >= 32) return true;
  auto [least, greatest] = integer_range(dtype);
  auto holds = [&](Dim low, Dim high) { return decide(dims, {Relation::LessEqual, low, high}, facts) == true; };
  return holds(dims.constant(least), size) && holds(size, dims.constant(greatest));
}

DType wide_enough(DType a, DType b) {
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  unsigned bits = std::max(dtype_info(a).bits, dtype_info(b).bits);
  if (is_float(a)) return dtype_info(a).bits == dtype_info(b).bits ? DType::F32 : dtype_info(a).bits == bits ? a : b;
  // A signed and an unsigned one, of which this has no fewer bits.
  return bits <= 8 ? DType::I16 : bits <= 16 ? DType::I32 : DType::I64;
}

}  // namespace tessera::frontend
