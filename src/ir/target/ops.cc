#include "ir/target/ops.h"

#include "ir/core/verifier.h"

namespace tessera::target {

namespace {

void verify_bitcast(Op*, OpVerifier&) {}
void verify_extract(Op*, OpVerifier&) {}
void verify_func(Op*, OpVerifier&) {}
void verify_gather(Op*, OpVerifier&) {}
void verify_insert(Op*, OpVerifier&) {}
void verify_load_masked(Op*, OpVerifier&) {}
void verify_mask(Op*, OpVerifier&) {}
void verify_shuffle(Op*, OpVerifier&) {}
void verify_splat(Op*, OpVerifier&) {}
void verify_store_masked(Op*, OpVerifier&) {}

}  // namespace

#define OPS_FILE "ir/target/ops.def"
#define OPS_LEVEL Level::Target
#define OP_PREFIX "target."
#include "ir/core/op_table.inc"

const OpInfo* info(ElementwiseKind kind) {
  // The shared rows come first in the table, in the order of ElementwiseKind, which starts with None.
  return &op_table()[size_t(kind) - 1];
}

}  // namespace tessera::target
