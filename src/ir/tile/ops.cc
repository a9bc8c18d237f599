#include "ir/tile/ops.h"

#include "ir/core/verifier.h"

namespace tessera::tile {

namespace {

void verify_alloc(Op*, OpVerifier&) {}
void verify_broadcast(Op*, OpVerifier&) {}
void verify_dot(Op*, OpVerifier&) {}
void verify_extract(Op*, OpVerifier&) {}
void verify_for(Op*, OpVerifier&) {}
void verify_gather(Op*, OpVerifier&) {}
void verify_if(Op*, OpVerifier&) {}
void verify_kernel(Op*, OpVerifier&) {}
void verify_load(Op*, OpVerifier&) {}
void verify_merge(Op*, OpVerifier&) {}
void verify_reduce(Op*, OpVerifier&) {}
void verify_reshape(Op*, OpVerifier&) {}
void verify_store(Op*, OpVerifier&) {}
void verify_transpose(Op*, OpVerifier&) {}
void verify_view(Op*, OpVerifier&) {}

}  // namespace

#define OPS_FILE "ir/tile/ops.def"
#define OPS_LEVEL Level::Tile
#define OP_PREFIX "tile."
#include "ir/core/op_table.inc"

const OpInfo* info(ElementwiseKind kind) {
  // The shared rows come first in the table, in the order of ElementwiseKind, which starts with None.
  return &op_table()[size_t(kind) - 1];
}

}  // namespace tessera::tile
