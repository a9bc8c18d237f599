#pragma once
// Where the operands and sums of matrix instructions (ir/numbers/mma.def) are: in shared memory, and in threads.

#include <optional>

#include "ir/core/op.h"
#include "ir/layout/layout.h"
#include "ir/layout/shared_layout.h"
#include "ir/numbers/mma.h"

namespace tessera::tile {

/// Whether threads read the operands of a tile.mma from shared memory themselves, rather than an asynchronous unit.
bool is_by_threads(Op* mma);

/// Whether the instruction reads an operand that lies so in shared memory; `k_axis` is 1 for the left one, 0 for the
/// right one.
bool reads_operand(const MmaInstruction& instruction, const layout::SharedLayout& shared, int k_axis);

/// Whether it reads a left operand from the registers that the layout of sums gives to it.
bool reads_registers(const MmaInstruction& instruction);

/// Which thread of `warps` warps has which sum of an m x n tile; nothing where the tile is not whole steps.
std::optional<layout::Layout> sum_layout(const MmaInstruction& instruction, int64_t m, int64_t n, int64_t warps);

/// The same with the rows of a thread one after another, where the left operand is read from memory that runs along
/// its rows; nothing where the instruction has no such order.
std::optional<layout::Layout> sum_layout_by_threads(const MmaInstruction& instruction, int64_t m, int64_t n,
                                                    int64_t warps);

/// Where a left operand of `k` columns in registers is, for sums that lie so.
std::optional<layout::Layout> factor_layout(const layout::Layout& sums, int64_t k);

/// Whether it leaves sums in threads so: warps may stand in another grid than sum_layout chooses, and rows in another
/// order.
bool leaves_sums(const MmaInstruction& instruction, const layout::Layout& sums);

}  // namespace tessera::tile
