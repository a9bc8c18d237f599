#pragma once
// The layouts that machines prescribe, and the ones we choose for plain loads and stores.
//
// Every function returns no value when the extents do not fit the pattern; what fits is said at
// each. `g` below is lane / 4 and `t` is lane % 4.

#include <optional>
#include <span>

#include "ir/layout/layout.h"

namespace tessera::layout {

/// A layout for vector accesses to memory: `vector` elements (a power of two) along the fastest
/// axis per thread, then lanes, then warps, then further registers, each along the fastest axis
/// that still has room. `order` lists the axes, fastest first; empty means the last axis is
/// fastest. Extents are any; threads beyond the elements replicate. `lanes` is a power of two. `warp_order` is the
/// order in which axes are dealt out to warps, if it is another. At most `lanes_along_first` lanes, a power of two or 0
/// for all, lie along the fastest axis.
std::optional<Layout> blocked(std::span<const int32_t> extents, int vector, int lanes, int warps,
                              std::span<const int> order = {}, std::span<const int> warp_order = {},
                              int lanes_along_first = 0);

/// An m x n accumulator of multiply-adds of columns and rows: a thread has `row_vector` neighbouring rows (a power of
/// two) of `column_vector` neighbouring columns, a warp 4 by 8 such blocks, and warps are dealt out so that each thread
/// has about as many rows as columns, since that reads least of the operands. At most `row_warps` and `column_warps`
/// share an axis. No value where the extents do not divide.
std::optional<Layout> outer_product(int m, int n, int row_vector, int column_vector, int warps, int row_warps,
                                    int column_warps);

/// The accumulator of wgmma.m64nNk: 64 x 8 atoms, rows 16 * (warp % 4) + g + 8 * r1 and columns
/// 2 * t + r0, repeated along n in registers. m is a multiple of 16 * warps: further warpgroups
/// take the next 64 rows, and what is left repeats in registers, outermost.
std::optional<Layout> wgmma_accumulator(int m, int n, int warps);
/// The same with the rows in another order: those of a thread follow one another, then those of a warp's lanes, of
/// warps, of warpgroups. The instruction does not know which rows they are. Row and column counts are powers of two.
std::optional<Layout> wgmma_accumulator_by_threads(int m, int n, int warps);
/// The A operand of wgmma in registers: 64 x (256 / element_bits) atoms; element_bits is 8, 16, 32.
/// For 16 bits it is the accumulator's map, so a converted accumulator is an operand.
std::optional<Layout> wgmma_operand_a(int m, int k, int warps, int element_bits = 16);

/// Fragments of mma.sync.m16n8, with 256 bits along k; element_bits is 8, 16, 32. Warp w is the one at row
/// w % warps_m and column w / warps_m of a grid; each owns a block of neighbouring rows and columns. Registers run
/// through a fragment, then along the second axis, then along the first.
std::optional<Layout> mma_accumulator(int m, int n, int warps_m, int warps_n);
std::optional<Layout> mma_operand_a(int m, int k, int warps_m, int warps_n, int element_bits = 16);
std::optional<Layout> mma_operand_b(int k, int n, int warps_m, int warps_n, int element_bits = 16);

/// AMX tiles, as one thread whose registers number the elements of its tile registers in order of
/// memory: 16 rows of 64 bytes, tiles row by row. The accumulator's elements have 32 bits; A has
/// rows of k; B has rows of n that hold groups of 4 bytes along k (VNNI).
std::optional<Layout> amx_accumulator(int m, int n);
std::optional<Layout> amx_operand_a(int m, int k, int element_bits = 16);
std::optional<Layout> amx_operand_b(int k, int n, int element_bits = 16);

}  // namespace tessera::layout
