#pragma once
// Which instructions compute a tile.mma. The accumulator's layout does not decide it: the layout of
// one column of four warps of mma.sync is that of wgmma, too.

#include "ir/core/op.h"
#include "ir/numbers/machine.h"

namespace tessera {

/// True if tensor cores compute the MMA: 16-bit floats, summed in f32, whole steps along k.
bool takes_tensor_core(Op* mma);

/// True if `warps` warps of the machine have a wgmma for these types: the shape is a multiple of
/// the instruction's.
bool has_wgmma_shape(Type a, Type sum, int64_t warps, const Machine& machine);

/// True if they compute the MMA by wgmma: the operands lie in shared memory as it reads them, or
/// the left one in registers. Tiles that are narrow along m or n may have no lines to be swizzled,
/// and are for mma.sync.
bool takes_wgmma(Op* mma, int64_t warps, const Machine& machine);

/// The tile.mma whose result the value is, also through a loop-carried value; null if there is
/// none.
Op* mma_of(Value* value);

}  // namespace tessera
