#pragma once
// The verifier hooks that ops.def names. Slots, attributes and dominance have been checked before
// they run.

#include "ir/text/verifier.h"

namespace tessera::schedule {

void verify_kernel(Op* op, OpVerifier& verifier);
void verify_return(Op* op, OpVerifier& verifier);
void verify_tile(Op* op, OpVerifier& verifier);
void verify_yield(Op* op, OpVerifier& verifier);
void verify_if(Op* op, OpVerifier& verifier);
void verify_pipeline(Op* op, OpVerifier& verifier);

}  // namespace tessera::schedule
