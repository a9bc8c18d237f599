#include "codegen/plan/constant_data.h"

#include <cmath>

namespace tessera::codegen {

namespace {

/// A double in the range of int64.
int64_t clamped(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return INT64_MAX;
  if (value < -0x1p63) return INT64_MIN;
  return int64_t(value);
}

uint64_t low_bits(uint64_t value, unsigned bits) {
  return bits >= 64 ? value : value & ((uint64_t(1) << bits) - 1);
}

}  // namespace

uint64_t element_bits(DType dtype, Attr value) {
  bool whole = !value->is(AttrKind::Float);
  int64_t given = value->is(AttrKind::Bool) ? value->boolean : value->integer;
  if (is_float(dtype)) return encode_float(dtype, whole ? double(given) : value->number);
  int64_t integer = whole ? given : clamped(value->number);
  if (dtype == DType::Bool) return integer != 0;
  return low_bits(uint64_t(integer), dtype_info(dtype).bits);
}

std::string constant_bytes(DType dtype, const std::vector<Attr>& values) {
  std::string bytes;
  unsigned bits = dtype_info(dtype).bits;
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t element = element_bits(dtype, values[i]);
    if (bits == 4 && i % 2 == 1) {
      bytes.back() = char(uint8_t(bytes.back()) | element << 4);
      continue;
    }
    for (unsigned byte = 0; byte < byte_size(dtype); ++byte) bytes += char(element >> 8 * byte);
  }
  return bytes;
}

std::pair<uint64_t, uint8_t> fill_pattern(DType dtype, Attr value) {
  uint64_t element = element_bits(dtype, value);
  if (dtype_info(dtype).bits == 4) element |= element << 4;
  return {element, uint8_t(byte_size(dtype))};
}

}  // namespace tessera::codegen
