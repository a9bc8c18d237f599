#pragma once
// Matrix descriptors: how wgmma finds an operand in shared memory.
//
// An operand is made of atoms of 8 lines of `swizzle` bytes. For a *K-major* operand a line runs
// along K, and atoms follow each other along M or N; for an *MN-major* one a line runs along M or
// N, and 8 lines are 8 values of k. The descriptor states two distances in bytes (PTX ISA, "matrix
// descriptor"; canonical layouts in units of 16 bytes, T elements each):
//   K-major   ((8, m), (T, 2k)) : ((s T, SBO), (1, T))      SBO from 8 rows to the next, LBO unused
//   MN-major  ((T, s, m), (8, k)) : ((1, T, LBO), (s T, SBO))  LBO along MN, SBO from 8 k to the
//   next
// with s = swizzle / 16. The hardware permutes address bits after adding, so a step along K moves
// the start address by the distance before the swizzle.

#include <cstdint>
#include <optional>

#include "ir/layout/shared_layout.h"

namespace tessera::layout {

struct WgmmaOperand {
  bool k_major;
  int32_t leading_bytes;  ///< LBO
  int32_t stride_bytes;   ///< SBO
  Swizzle swizzle;

  /// The descriptor but for the start address: OR (address >> 4) & 0x3fff into it.
  uint64_t descriptor() const;
};

/// The facts about a tile that `k_axis` (0 or 1) makes an operand: K-major if that is the
/// contiguous axis. No value if wgmma cannot read it: it must be swizzled and of rank 2, and only
/// 16-bit elements may be MN-major.
std::optional<WgmmaOperand> wgmma_operand(const SharedLayout& shared, int k_axis);

/// Bytes to add to the start address for the part of the operand that begins at these coordinates,
/// or no value where none can begin. K-major: k is at a multiple of 32 bytes (a step of one
/// instruction) and mn a multiple of 8. MN-major: k is a multiple of 8 and mn of the atom's width.
std::optional<int64_t> wgmma_start(const SharedLayout& shared, int k_axis, int32_t mn, int32_t k);

}  // namespace tessera::layout
