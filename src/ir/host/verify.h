#pragma once
// The verifier hooks that rows of ops.def name and ops.cc does not have itself.

#include "ir/host/ops.h"
#include "ir/text/verifier.h"

namespace tessera::host {

// Control flow (verify_control.cc).
void verify_check(Op* op, OpVerifier& verifier);
void verify_print(Op* op, OpVerifier& verifier);
void verify_for(Op* op, OpVerifier& verifier);
void verify_while(Op* op, OpVerifier& verifier);
void verify_if(Op* op, OpVerifier& verifier);
void verify_yield(Op* op, OpVerifier& verifier);
void verify_places(Op* op, OpVerifier& verifier);

/// Memory that is taken over (verify_memory.cc): of a function, that nothing is taken which others made or may read
/// later, and that results lie where they should.
void verify_memory(Op* function, OpVerifier& verifier);

}  // namespace tessera::host
