#pragma once
// The verifier hooks that the rows of ops.def name. The generic part (slots, attribute kinds,
// dominance) has been checked when a hook runs.

#include "ir/text/verifier.h"

namespace tessera::tile {

// Kernels and control flow (verify_control.cc).
void verify_kernel(Op* op, OpVerifier& verifier);
void verify_program_id(Op* op, OpVerifier& verifier);
void verify_order(Op* op, OpVerifier& verifier);
void verify_worker(Op* op, OpVerifier& verifier);
void verify_for(Op* op, OpVerifier& verifier);
void verify_if(Op* op, OpVerifier& verifier);
void verify_yield(Op* op, OpVerifier& verifier);

// Memory (verify_memory.cc).
void verify_view(Op* op, OpVerifier& verifier);
void verify_alloc(Op* op, OpVerifier& verifier);
void verify_load(Op* op, OpVerifier& verifier);
void verify_store(Op* op, OpVerifier& verifier);
void verify_take(Op* op, OpVerifier& verifier);
void verify_scatter(Op* op, OpVerifier& verifier);
void verify_gather(Op* op, OpVerifier& verifier);

// Shared memory, asynchronous copies, barriers, matrix units (verify_async.cc).
void verify_role(Op* op, OpVerifier& verifier);
void verify_alloc_shared(Op* op, OpVerifier& verifier);
void verify_slot(Op* op, OpVerifier& verifier);
void verify_copy_async(Op* op, OpVerifier& verifier);
void verify_store_async(Op* op, OpVerifier& verifier);
void verify_channel(Op* op, OpVerifier& verifier);
void verify_barriers(Op* op, OpVerifier& verifier);
void verify_barrier_op(Op* op, OpVerifier& verifier);
void verify_mma(Op* op, OpVerifier& verifier);
void verify_mma_wait(Op* op, OpVerifier& verifier);
void verify_channel_op(Op* op, OpVerifier& verifier);
void verify_pending(Op* op, OpVerifier& verifier);

// Values (verify_value.cc).
/// The result is a tile of the dims and the dtype of the first operand.
void verify_as_operand(Op* op, OpVerifier& verifier);
void verify_slice(Op* op, OpVerifier& verifier);
void verify_splat(Op* op, OpVerifier& verifier);
void verify_iota(Op* op, OpVerifier& verifier);
void verify_extract(Op* op, OpVerifier& verifier);
void verify_broadcast(Op* op, OpVerifier& verifier);
void verify_reshape(Op* op, OpVerifier& verifier);
void verify_within(Op* op, OpVerifier& verifier);
void verify_transpose(Op* op, OpVerifier& verifier);
void verify_reduce(Op* op, OpVerifier& verifier);
void verify_scan(Op* op, OpVerifier& verifier);
void verify_merge(Op* op, OpVerifier& verifier);
void verify_dot(Op* op, OpVerifier& verifier);
void verify_pair_rows(Op* op, OpVerifier& verifier);
void verify_dot_pairs(Op* op, OpVerifier& verifier);

/// The threads of a kernel, its roles and the layouts of all types in it (verify_threads.cc).
void verify_threads(Op* kernel, OpVerifier& verifier);
/// The layouts of tiles that threads make of others without what another thread holds, and of
/// combinations along an axis, and then what the module says of itself, once the ops hold their rules
/// (verify_layouts.cc).
void verify_layouts(Op* kernel, OpVerifier& verifier);
/// What the module says of itself, once layouts agree (verify_properties.cc).
void verify_kernel_properties(Op* kernel, OpVerifier& verifier);

/// Reports an axis outside 0 .. rank-1; true if `axis` names one.
bool expect_axis(Op* op, OpVerifier& verifier, size_t rank);
/// Reports a slot of limits that has values, but not one per axis.
void expect_limits(OpVerifier& verifier, size_t limits, size_t rank);

}  // namespace tessera::tile
