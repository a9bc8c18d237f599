#include "runtime/files/dtype.h"

namespace tessera::format {

std::optional<Dtype> find_dtype(std::string_view name) {
  for (int i = 0; i < dtype_count; ++i) {
    if (dtype_table[i].name == name) return Dtype(i);
  }
  return std::nullopt;
}

std::optional<int64_t> bytes_of(Dtype dtype, int64_t count) {
  int64_t bits = 0;
  if (count < 0 || __builtin_mul_overflow(count, int64_t(dtype_bits(dtype)), &bits) ||
      bits > INT64_MAX - 7) {
    return std::nullopt;
  }
  return (bits + 7) / 8;
}

std::optional<int64_t> element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  bool is_empty = false;
  bool overflows = false;
  for (int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    is_empty |= extent == 0;
    overflows |= __builtin_mul_overflow(count, extent, &count);
  }
  if (is_empty) return 0;
  if (overflows) return std::nullopt;
  return count;
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i) out += ", ";
    out += std::to_string(shape[i]);
  }
  return out + "]";
}

}  // namespace tessera::format
