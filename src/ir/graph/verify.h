#pragma once
// The verifier hooks that the rows of ops.def name. The generic part (slots, attribute kinds,
// dominance) has been checked when a hook runs.

#include "ir/text/verifier.h"

namespace tessera::graph {

/// The op at top level that an op stands in.
Op* function_of(Op* op);

// Functions (verify_func.cc).
void verify_func(Op* op, OpVerifier& verifier);
void verify_return(Op* op, OpVerifier& verifier);
/// What the module says of itself, once all ops hold their rules (verify_properties.cc).
void verify_func_properties(Op* func, OpVerifier& verifier);

// Values from nothing, and the same elements under other dims (verify_shape.cc).
void verify_full(Op* op, OpVerifier& verifier);
void verify_constant(Op* op, OpVerifier& verifier);
void verify_iota(Op* op, OpVerifier& verifier);
void verify_dim(Op* op, OpVerifier& verifier);
void verify_broadcast(Op* op, OpVerifier& verifier);
void verify_reshape(Op* op, OpVerifier& verifier);
void verify_transpose(Op* op, OpVerifier& verifier);
void verify_slice(Op* op, OpVerifier& verifier);
void verify_windows(Op* op, OpVerifier& verifier);
void verify_concat(Op* op, OpVerifier& verifier);

// Reductions, contractions, networks, random numbers (verify_math.cc).
void verify_reduce(Op* op, OpVerifier& verifier);
void verify_gemm(Op* op, OpVerifier& verifier);
void verify_softmax(Op* op, OpVerifier& verifier);
void verify_rmsnorm(Op* op, OpVerifier& verifier);
void verify_embedding(Op* op, OpVerifier& verifier);
void verify_cross_entropy(Op* op, OpVerifier& verifier);
void verify_philox(Op* op, OpVerifier& verifier);
// verify_attention.cc
void verify_flash_attention(Op* op, OpVerifier& verifier);

// State and control flow (verify_control.cc).
void verify_update_slice(Op* op, OpVerifier& verifier);
void verify_barrier(Op* op, OpVerifier& verifier);
void verify_check(Op* op, OpVerifier& verifier);
void verify_kernel_call(Op* op, OpVerifier& verifier);
void verify_for(Op* op, OpVerifier& verifier);
void verify_while(Op* op, OpVerifier& verifier);
void verify_cond(Op* op, OpVerifier& verifier);
void verify_yield(Op* op, OpVerifier& verifier);

/// Reports a result whose dtype is not the operand's; true if it is.
bool expect_dtype_of(Op* op, OpVerifier& verifier, Value* operand);
/// Reports a result of another type than the op's row infers; true if it has that. Operands and attributes must have
/// been checked.
bool expect_inferred(Op* op, OpVerifier& verifier);

/// Of ops that are gone before a graph is complete.
void verify_while_built(Op* op, OpVerifier& verifier);

}  // namespace tessera::graph
