#include "ir/schedule/ops.h"

#include "ir/core/verifier.h"

namespace tessera::schedule {

namespace {

void verify_broadcast(Op*, OpVerifier&) {}
void verify_dot(Op*, OpVerifier&) {}
void verify_gather(Op*, OpVerifier&) {}
void verify_kernel(Op*, OpVerifier&) {}
void verify_load(Op*, OpVerifier&) {}
void verify_pipeline(Op*, OpVerifier&) {}
void verify_reduce(Op*, OpVerifier&) {}
void verify_reshape(Op*, OpVerifier&) {}
void verify_store(Op*, OpVerifier&) {}
void verify_tile(Op*, OpVerifier&) {}
void verify_transpose(Op*, OpVerifier&) {}
void verify_view(Op*, OpVerifier&) {}

}  // namespace

#define OPS_FILE "ir/schedule/ops.def"
#define OPS_LEVEL Level::Schedule
#define OP_PREFIX "sched."
#include "ir/core/op_table.inc"

const OpInfo* info(ElementwiseKind kind) {
  // The shared rows come first in the table, in the order of ElementwiseKind, which starts with None.
  return &op_table()[size_t(kind) - 1];
}

}  // namespace tessera::schedule
