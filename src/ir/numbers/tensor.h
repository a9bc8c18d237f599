#pragma once
// Concrete tensors: what the interpreters compute with.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/numbers/elementwise.h"

namespace tessera {

/// The number of elements of these extents; nullopt when one is negative or the product exceeds
/// int64. An extent of 0 makes it 0, however large the others are.
std::optional<int64_t> count_elements(std::span<const int64_t> dims);

/// A dtype, extents, and the elements in row-major order. An element takes byte_size(dtype) bytes.
class TensorValue {
 public:
  /// No tensor: what a moved-from value is.
  TensorValue() = default;
  /// All elements zero. Nullopt when the extents have no size (count_elements), when it takes more
  /// than `max_bytes`, or when there is no memory.
  static std::optional<TensorValue> make(DType dtype, std::vector<int64_t> dims,
                                         uint64_t max_bytes = uint64_t(1) << 40);
  TensorValue(TensorValue&&) = default;
  TensorValue& operator=(TensorValue&&) = default;
  /// A copy of the elements; nullopt when there is no memory.
  std::optional<TensorValue> clone() const;

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  size_t rank() const { return dims_.size(); }
  int64_t count() const { return count_; }
  size_t byte_count() const { return size_t(count_) * byte_size(dtype_); }

  std::byte* data() { return bytes_.get(); }
  const std::byte* data() const { return bytes_.get(); }
  /// The elements as T, whose size is the dtype's.
  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes_.get()), size_t(count_)};
  }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes_.get()), size_t(count_)};
  }

  Element get(int64_t i) const { return load_element(dtype_, at(i)); }
  void set(int64_t i, Element value) {
    store_element(dtype_, value, bytes_.get() + size_t(i) * byte_size(dtype_));
  }

  /// The same elements under other extents of the same count.
  void reshape(std::vector<int64_t> dims);

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  const std::byte* at(int64_t i) const { return bytes_.get() + size_t(i) * byte_size(dtype_); }

  DType dtype_ = DType::F32;
  std::vector<int64_t> dims_;
  int64_t count_ = 0;
  std::unique_ptr<std::byte[], Free> bytes_;
};

}  // namespace tessera
