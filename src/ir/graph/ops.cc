#include "ir/graph/ops.h"

#include "ir/core/verifier.h"

namespace tessera::graph {

namespace {

void verify_broadcast(Op*, OpVerifier&) {}
void verify_concat(Op*, OpVerifier&) {}
void verify_constant(Op*, OpVerifier&) {}
void verify_cross_entropy(Op*, OpVerifier&) {}
void verify_dim(Op*, OpVerifier&) {}
void verify_embedding(Op*, OpVerifier&) {}
void verify_func(Op*, OpVerifier&) {}
void verify_gemm(Op*, OpVerifier&) {}
void verify_iota(Op*, OpVerifier&) {}
void verify_philox(Op*, OpVerifier&) {}
void verify_reduce(Op*, OpVerifier&) {}
void verify_reshape(Op*, OpVerifier&) {}
void verify_rmsnorm(Op*, OpVerifier&) {}
void verify_slice(Op*, OpVerifier&) {}
void verify_transpose(Op*, OpVerifier&) {}

}  // namespace

#define OPS_FILE "ir/graph/ops.def"
#define OPS_LEVEL Level::Graph
#define OP_PREFIX "gir."
#include "ir/core/op_table.inc"

const OpInfo* info(ElementwiseKind kind) {
  // The shared rows come first in the table, in the order of ElementwiseKind, which starts with None.
  return &op_table()[size_t(kind) - 1];
}

}  // namespace tessera::graph
