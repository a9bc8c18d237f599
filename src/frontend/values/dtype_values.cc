#include "frontend/values/dtype_values.h"

#include <algorithm>
#include <cmath>

namespace tessera::frontend {

bool has_integer(DType dtype, int64_t value) {
  IntegerRange held = integer_range(dtype);
  return held.least <= value && (value < 0 || uint64_t(value) <= held.greatest);
}

bool has_number(DType dtype, double value) {
  if (std::isnan(value)) return true;
  double rounded = decode_float(dtype, encode_float(dtype, value));
  if (value != 0 && rounded == 0) return false;
  return std::isinf(value) ? std::isinf(rounded) : std::isfinite(rounded);
}

bool has_size(DType dtype, Dim size, DimTable& dims, const std::vector<DimFact>& facts) {
  if (!is_integer(dtype)) return is_float(dtype);
  if (dtype_info(dtype).bits >= 32) return true;
  IntegerRange held = integer_range(dtype);
  auto holds = [&](Dim low, Dim high) { return decide(dims, {Relation::LessEqual, low, high}, facts) == true; };
  return holds(dims.constant(held.least), size) && holds(size, dims.constant(int64_t(held.greatest)));
}

DType wide_enough(DType a, DType b) {
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  unsigned bits = std::max(dtype_info(a).bits, dtype_info(b).bits);
  if (is_float(a)) return dtype_info(a).bits == dtype_info(b).bits ? DType::F32 : dtype_info(a).bits == bits ? a : b;
  // A signed and an unsigned one, of which this has no fewer bits.
  return bits <= 8 ? DType::I16 : bits <= 16 ? DType::I32 : DType::I64;
}

}  // namespace tessera::frontend
