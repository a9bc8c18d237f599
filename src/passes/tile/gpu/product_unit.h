#pragma once
// Which instructions compute a tile.mma. The accumulator's layout does not tell: one column of four warps of mma.sync
// is the map of wgmma too.

#include "ir/core/op.h"
#include "ir/numbers/machine.h"

namespace tessera {

/// True if the product is one that tensor cores compute: 16-bit floats, summed in f32, whole steps along k.
bool takes_tensor_core(Op* mma);

/// True if `warps` warps of the machine have a wgmma for a product of these types: the shape is a multiple of the
/// instruction's.
bool has_wgmma_shape(Type a, Type sum, int64_t warps, const Machine& machine);

/// True if they compute the product by it: the operands lie in shared memory as it reads them, or the left one in
/// registers. Tiles that are narrow along m or n may have no lines to be swizzled, and are for mma.sync.
bool takes_wgmma(Op* mma, int64_t warps, const Machine& machine);

/// The tile.mma that gave the value or the values that a loop carries; null if there is none.
Op* product_of(Value* value);

}  // namespace tessera
