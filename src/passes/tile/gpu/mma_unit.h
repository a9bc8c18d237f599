#pragma once
// Which instruction computes a dot on a GPU, and where its operands and sums then are. plan_pipeline decides it once,
// and names it on the tile.mma (mma.def).

#include <functional>
#include <optional>

#include "ir/core/op.h"
#include "ir/layout/shared_layout.h"
#include "ir/tile/mma_layouts.h"

namespace tessera {

/// How an operand of a dot lies in shared memory where that instruction reads it (null: each thread multiplies and
/// adds); nothing where it reads the operand from registers.
using OperandLayout = std::function<std::optional<layout::SharedLayout>(unsigned slot, const MmaInstruction*)>;

/// The first instruction of mma.def that `warps` warps of the machine have for the dot, or null: the tile is whole
/// steps of it, and it can read the operands where they lie.
const MmaInstruction* choose_instruction(Op* dot, int64_t warps, const Machine& machine, const OperandLayout& operand);

/// The instruction that a tile.mma names, or null.
const MmaInstruction* instruction_of(Op* mma);

/// The tile.mma whose result the value is, also through a loop-carried value; null if there is
/// none.
Op* mma_of(Value* value);

}  // namespace tessera
