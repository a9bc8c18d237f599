#pragma once
// Where the elements of a tile lie in shared memory: coordinates to bytes.
//
// Three forms. *Rows*: the tile in the order of its axes, each row of the fastest axis followed by
// `padding` bytes. *Swizzled*: what TMA writes and wgmma reads. The fastest axis is cut into
// columns of `swizzle` bytes (32, 64 or 128); a column holds that piece of every row, one behind
// the other, and columns start at multiples of 8 rows. Within it the 16-byte chunks of an address
// are permuted: bits 4.. are XORed with bits 7.., one, two or three of them, so the 8 rows of a
// 128-byte swizzle have the same chunk in 8 different places and neither reading rows nor reading
// columns has a bank conflict. *Panels*: the packed operand of a CPU's dot-product instructions:
// panels of `panel` columns, in each of which `group` neighbouring rows of a column are neighbours
// in memory (VNNI).

#include <optional>
#include <span>
#include <vector>

#include "ir/layout/layout.h"

namespace tessera::layout {

/// Width of a swizzle in bytes; the values of the enumerators.
enum class Swizzle : uint8_t { None = 0, B32 = 32, B64 = 64, B128 = 128 };

/// One summand of the address before the swizzle:
/// step * ((coordinate[axis] / divisor) % count), or without the remainder when count is 0.
struct AddressTerm {
  int axis;
  int32_t divisor;
  int32_t count;
  int64_t step;  ///< bytes
};

class SharedLayout {
 public:
  /// Rows with `padding` bytes behind each; `order` is fastest axis first, empty: last axis
  /// fastest. Element sizes are 1, 2, 4 or 8 bytes. No value outside the limits of Layout.
  static std::optional<SharedLayout> rows(std::span<const int32_t> extents, int element_bytes,
                                          std::span<const int> order = {}, int padding = 0);
  /// Swizzled columns; Swizzle::None gives unpadded rows.
  static std::optional<SharedLayout> swizzled(std::span<const int32_t> extents, int element_bytes,
                                              Swizzle swizzle, std::span<const int> order = {});
  /// Panels of a [k, n] tile of 1-, 2- or 4-byte elements; `panel` is a power of two and a group
  /// has 4 bytes. Partial groups and panels take the room of whole ones.
  static std::optional<SharedLayout> panels(int32_t k, int32_t n, int element_bytes, int panel);

  int rank() const { return rank_; }
  const Point& extents() const { return extents_; }
  int element_bytes() const { return element_bytes_; }
  Swizzle swizzle() const { return swizzle_; }
  int padding() const { return padding_; }
  int panel() const { return panel_; }
  /// Axes, fastest first.
  std::span<const int> order() const { return order_; }
  int contiguous_axis() const { return order_.empty() ? 0 : order_[0]; }

  /// Byte offset of an element from the start of the tile.
  int64_t offset(const Point& coordinates) const;
  /// The offset before the swizzle permutes it.
  int64_t linear_offset(const Point& coordinates) const;
  /// linear_offset() as a sum that a lowering can emit.
  std::span<const AddressTerm> terms() const { return terms_; }
  /// offset = linear ^ (((linear >> 7) & swizzle_mask()) << 4).
  int32_t swizzle_mask() const { return int32_t(swizzle_) == 0 ? 0 : int32_t(swizzle_) / 16 - 1; }
  /// Bytes from one swizzled column, or panel, to the next.
  int64_t column_stride() const { return column_stride_; }

  int64_t size_bytes() const { return size_bytes_; }
  /// What the start must be a multiple of for offsets to be as stated: the period of the swizzle
  /// (1024 bytes for 128-byte swizzle), else 16.
  int alignment() const { return swizzle_ == Swizzle::None ? 16 : 8 * int(swizzle_); }

  uint64_t hash() const;
  friend bool operator==(const SharedLayout& a, const SharedLayout& b);

 private:
  SharedLayout() = default;
  static std::optional<SharedLayout> prepare(std::span<const int32_t> extents, int element_bytes,
                                             std::span<const int> order);
  bool finish(int64_t size_bytes);

  int rank_ = 0;
  int element_bytes_ = 1;
  Swizzle swizzle_ = Swizzle::None;
  int padding_ = 0;
  int panel_ = 0;
  Point extents_{};
  std::vector<int> order_;
  std::vector<AddressTerm> terms_;
  int64_t column_stride_ = 0;
  int64_t size_bytes_ = 0;
};

}  // namespace tessera::layout
