#include "ir/numbers/tensor.h"

#include <algorithm>
#include <cstring>

#include "support/check.h"

namespace tessera {

std::optional<int64_t> count_elements(std::span<const int64_t> dims) {
  if (std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 0; })) return std::nullopt;
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  int64_t count = 1;
  for (int64_t d : dims) {
    if (__builtin_mul_overflow(count, d, &count)) return std::nullopt;
  }
  return count;
}

std::optional<TensorValue> TensorValue::make(DType dtype, std::vector<int64_t> dims,
                                             uint64_t max_bytes) {
  std::optional<int64_t> count = count_elements(dims);
  uint64_t bytes = 0;
  if (!count || __builtin_mul_overflow(uint64_t(*count), uint64_t(byte_size(dtype)), &bytes) ||
      bytes > max_bytes) {
    return std::nullopt;
  }
  TensorValue value;
  // Zeroed by the system page by page, when a page is first touched.
  value.bytes_.reset(static_cast<std::byte*>(std::calloc(std::max<uint64_t>(bytes, 1), 1)));
  if (!value.bytes_) return std::nullopt;
  value.dtype_ = dtype;
  value.dims_ = std::move(dims);
  value.count_ = *count;
  return value;
}

std::optional<TensorValue> TensorValue::clone() const {
  std::optional<TensorValue> copy = make(dtype_, dims_);
  if (copy && count_) std::memcpy(copy->data(), data(), byte_count());
  return copy;
}

void TensorValue::reshape(std::vector<int64_t> dims) {
  TSR_CHECK(count_elements(dims) == count_, "a tensor was reshaped to another number of elements");
  dims_ = std::move(dims);
}

}  // namespace tessera
