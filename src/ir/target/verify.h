#pragma once
// Hooks of the op tables that stand in files of their own, and what they share.

#include "ir/text/verifier.h"

namespace tessera::target {

inline Type type_of(Op* op, unsigned operand) { return op->operand(operand)->type(); }
void expect_type(OpVerifier& verifier, std::string_view what, Type wanted, Type found);
/// Whether machines add numbers of the dtype to memory in one step.
inline bool adds_in_memory(DType dtype) {
  return dtype != DType::Bool && byte_size(dtype) >= 4 && dtype != DType::TF32;
}

// func_verify.cc
void verify_func(Op* op, OpVerifier& verifier);

// verify_properties.cc: once the ops hold their own rules.
void verify_legal(Op* func, OpVerifier& verifier);

// nv_verify.cc
void verify_i32_result(Op* op, OpVerifier& verifier);
void verify_shared_result(Op* op, OpVerifier& verifier);
void verify_shuffle_xor(Op* op, OpVerifier& verifier);
void verify_shuffle_index(Op* op, OpVerifier& verifier);
void verify_elect(Op* op, OpVerifier& verifier);
void verify_barrier(Op* op, OpVerifier& verifier);
void verify_numbered_barrier(Op* op, OpVerifier& verifier);
void verify_map_shared(Op* op, OpVerifier& verifier);
void verify_matrix_descriptor(Op* op, OpVerifier& verifier);
void verify_mbarrier(Op* op, OpVerifier& verifier);
void verify_mbarrier_init(Op* op, OpVerifier& verifier);
void verify_mbarrier_expect(Op* op, OpVerifier& verifier);
void verify_mbarrier_wait(Op* op, OpVerifier& verifier);
void verify_tma_load(Op* op, OpVerifier& verifier);
void verify_tma_store(Op* op, OpVerifier& verifier);
void verify_pending(Op* op, OpVerifier& verifier);
void verify_prefetch_descriptor(Op* op, OpVerifier& verifier);
void verify_cp_async(Op* op, OpVerifier& verifier);
void verify_wgmma(Op* op, OpVerifier& verifier);
void verify_wgmma_wait(Op* op, OpVerifier& verifier);
void verify_mma_sync(Op* op, OpVerifier& verifier);
void verify_ldmatrix(Op* op, OpVerifier& verifier);
void verify_stmatrix(Op* op, OpVerifier& verifier);
void verify_reduce_add(Op* op, OpVerifier& verifier);
void verify_set_max_registers(Op* op, OpVerifier& verifier);
void verify_approximate(Op* op, OpVerifier& verifier);

}  // namespace tessera::target
