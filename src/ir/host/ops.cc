#include "ir/host/ops.h"

#include "ir/core/verifier.h"

namespace tessera::host {

namespace {

void verify_alias(Op*, OpVerifier&) {}
void verify_func(Op*, OpVerifier&) {}
void verify_launch(Op*, OpVerifier&) {}

}  // namespace

#define OPS_FILE "ir/host/ops.def"
#define OPS_LEVEL Level::Host
#define OP_PREFIX "host."
#include "ir/core/op_table.inc"

}  // namespace tessera::host
