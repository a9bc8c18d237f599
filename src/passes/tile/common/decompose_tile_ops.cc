// Writes the composed ops of the tile level as others. The row of an op says that it is one, and the linker whether it
// has a decomposition.

#include "passes/tile/common/decompose_tile_ops.h"

#include "support/check.h"

namespace tessera {

namespace {

struct Decomposition {
  tile::OpKind kind;
  Status (*write)(Op*, PassContext&);
};

constexpr Decomposition decompositions[] = {
#define COMPOSED_OP(Name, ...) {tile::OpKind::Name, decompose<tile::OpKind::Name>},
#include "ir/tile/composed_ops.inc"
};

}  // namespace

Status decompose_tile_ops(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "decompose_tile_ops needs a machine");
  for (const Decomposition& decomposition : decompositions) {
    std::vector<Op*> ops;
    for (Op* kernel : *module.body()) {
      walk(kernel, [&](Op* op) {
        if (op->is(tile::info(decomposition.kind))) ops.push_back(op);
      });
    }
    for (Op* op : ops) {
      if (decomposition.write(op, context).failed()) return failure;
    }
  }
  return success;
}

}  // namespace tessera
