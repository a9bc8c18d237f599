#include "ir/layout/wgmma_descriptor.h"

namespace tessera::layout {

namespace {

constexpr int32_t max_distance = 0x3fff * 16;  // 14 bits of 16-byte units

uint64_t encode_swizzle(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::None:
      return 0;
    case Swizzle::B128:
      return 1;
    case Swizzle::B64:
      return 2;
    case Swizzle::B32:
      return 3;
  }
  return 0;
}

}  // namespace

uint64_t WgmmaOperand::descriptor() const {
  return uint64_t(leading_bytes / 16) << 16 | uint64_t(stride_bytes / 16) << 32 |
         encode_swizzle(swizzle) << 62;
}

std::optional<WgmmaOperand> wgmma_operand(const SharedLayout& shared, int k_axis) {
  if (shared.rank() != 2 || shared.swizzle() == Swizzle::None || k_axis < 0 || k_axis > 1)
    return std::nullopt;
  bool k_major = shared.contiguous_axis() == k_axis;
  WgmmaOperand operand{k_major, 16, 8 * int(shared.swizzle()), shared.swizzle()};
  if (k_major) return operand;
  if (shared.element_bytes() != 2 || shared.column_stride() > max_distance) return std::nullopt;
  operand.leading_bytes = int32_t(shared.column_stride());
  return operand;
}

std::optional<int64_t> wgmma_start(const SharedLayout& shared, int k_axis, int32_t mn, int32_t k) {
  std::optional<WgmmaOperand> operand = wgmma_operand(shared, k_axis);
  if (!operand) return std::nullopt;
  int bytes = shared.element_bytes();
  Point begin{};
  begin[k_axis] = k;
  begin[1 - k_axis] = mn;
  for (int axis = 0; axis < 2; ++axis) {
    if (begin[axis] < 0 || begin[axis] >= shared.extents()[axis]) return std::nullopt;
  }
  int k_step = operand->k_major ? 32 / bytes : 8;
  int mn_step = operand->k_major ? 8 : int(shared.swizzle()) / bytes;
  if (k % k_step != 0 || mn % mn_step != 0) return std::nullopt;
  return shared.linear_offset(begin);
}

}  // namespace tessera::layout
