// Kernels of tiles with layouts become kernels of threads.
//
// Every tile is a group of registers of each thread from here on (nv/nv_lowering.h). Layouts say
// who holds what, so this pass decides nothing: elementwise ops are the same op on register groups,
// broadcasts and reshapes rename registers, loads and stores compute addresses from lane and warp,
// and MMAs become the instructions that the accumulator's layout belongs to. Roles become branches
// on the warp.

#include "ir/tile/ops.h"
#include "passes/pass.h"
#include "passes/tile/nv/nv_lowering.h"
#include "support/check.h"

namespace tessera {

Status tile_to_nv(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "tile_to_nv needs a machine");
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(tile::OpKind::Kernel))) continue;
    if (NvLowering(kernel, context).run().failed()) return failure;
  }
  module.set_level(Level::Target);
  return success;
}

}  // namespace tessera
