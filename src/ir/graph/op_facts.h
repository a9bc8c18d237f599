#pragma once
// What a row of ops.def states of an op besides the facts that rows of every level have (ir/core/op_facts.inc): the
// passes on graphs read these columns, and have no list of ops of their own.

#include <span>
#include <vector>

#include "ir/core/builder.h"
#include "ir/core/dim_facts.h"
#include "ir/graph/ops.h"

namespace tessera::graph {

class Forward;
class Backward;
class Batch;

/// What an op is to the lowering to kernels.
enum class Role : uint8_t {
  Unknown,   ///< nothing lowers it: a function, what ends a block, and ops that are refused
  View,      ///< read through: computed again wherever it is read
  Source,    ///< computed again wherever it is read: full, dim, iota, a constant of one element
  Constant,  ///< a buffer in the plan
  Compute,   ///< elementwise, reduce, concat: in a generated kernel or an epilogue
  Anchor,    ///< a kernel of the library
  Host,      ///< a step of the host program: a check, a loop, a branch, a barrier
};

struct RowFacts {
#include "ir/core/op_facts.inc"
  Role role = Role::Unknown;
  /// Whether the op means something for all sizes for which the facts hold, where its extents and attributes have
  /// values (total.cc). Without a rule it runs only where the program runs it.
  bool (*total)(Op*, std::span<const DimFact>) = nullptr;
  /// The type of a result, without numerics policies, from operands and attributes that obey the op's rules (infer.cc).
  /// Builder and verifier have it from here. Without a rule the type says what operands do not.
  Type (*infer)(Op*, unsigned result) = nullptr;
  /// Sets the tangents of the results (derive/forward.h): one of the operands has one, and a result is a float.
  void (*jvp)(Op*, Forward&) = nullptr;
  /// Of an op that is linear in some of its operands, once its results have cotangents: adds to those of these operands
  /// (derive/backward.h).
  void (*transpose)(Op*, Backward&) = nullptr;
  /// The results as simpler ops give them, at the builder's point: what derivatives are taken of, and what the op
  /// becomes where no kernel does it.
  std::vector<Value*> (*decompose)(Op*, Builder&) = nullptr;
  /// Sets what an op gives for many examples (vmap/batch.h): one of the operands differs between them.
  void (*vmap)(Op*, Batch&) = nullptr;
};

const RowFacts& facts(const OpInfo& row);
inline const RowFacts& facts(const Op* op) { return facts(op->info()); }

// The rules that rows name for `total`.
bool is_total_always(Op* op, std::span<const DimFact> facts);
bool slice_stays_inside(Op* slice, std::span<const DimFact> facts);
bool windows_stay_inside(Op* windows, std::span<const DimFact> facts);
bool update_fits(Op* update, std::span<const DimFact> facts);

// And those for `infer`.
Type infer_dim(Op* op, unsigned result);
Type infer_as_first(Op* op, unsigned result);
Type infer_transpose(Op* op, unsigned result);
Type infer_concat(Op* op, unsigned result);
Type infer_reduce(Op* op, unsigned result);
Type infer_gemm(Op* op, unsigned result);
Type infer_flash_attention(Op* op, unsigned result);
Type infer_embedding(Op* op, unsigned result);
Type infer_cross_entropy(Op* op, unsigned result);

// Those for `decompose`,
std::vector<Value*> decompose_attention(Op* op, Builder& builder);

// for `jvp`,
void jvp_elementwise(Op* op, Forward& forward);
/// Of what is linear in its first operand: the same op of the tangent.
void jvp_of_first(Op* op, Forward& forward);
/// That of the ops that `decompose` gives.
void jvp_decomposed(Op* op, Forward& forward);
void jvp_concat(Op* op, Forward& forward);
void jvp_reduce(Op* op, Forward& forward);
void jvp_gemm(Op* op, Forward& forward);
void jvp_softmax(Op* op, Forward& forward);
void jvp_rmsnorm(Op* op, Forward& forward);
void jvp_embedding(Op* op, Forward& forward);
void jvp_cross_entropy(Op* op, Forward& forward);
void jvp_update_slice(Op* op, Forward& forward);
void jvp_for(Op* op, Forward& forward);
void jvp_while(Op* op, Forward& forward);
void jvp_cond(Op* op, Forward& forward);
void jvp_custom_call(Op* op, Forward& forward);
void jvp_checkpoint(Op* op, Forward& forward);
/// Of what is its first operand: the tangent of that.
void jvp_same(Op* op, Forward& forward);
void jvp_custom_tangent(Op* op, Forward& forward);
void jvp_kernel_call(Op* op, Forward& forward);
/// Of what has no operands of floats.
void jvp_none(Op* op, Forward& forward);

// for `vmap`,
/// The same op, all of whose operands have the axis of examples.
void vmap_leading(Op* op, Batch& batch);
/// A loop over the examples.
void vmap_loop(Op* op, Batch& batch);
void vmap_broadcast(Op* op, Batch& batch);
void vmap_transpose(Op* op, Batch& batch);
void vmap_slice(Op* op, Batch& batch);
void vmap_windows(Op* op, Batch& batch);
void vmap_concat(Op* op, Batch& batch);
void vmap_reduce(Op* op, Batch& batch);
void vmap_gemm(Op* op, Batch& batch);
void vmap_flash_attention(Op* op, Batch& batch);
void vmap_embedding(Op* op, Batch& batch);
void vmap_update_slice(Op* op, Batch& batch);
void vmap_check(Op* op, Batch& batch);
void vmap_for(Op* op, Batch& batch);
void vmap_while(Op* op, Batch& batch);
void vmap_cond(Op* op, Batch& batch);
void vmap_barrier(Op* op, Batch& batch);
void vmap_checkpoint(Op* op, Batch& batch);

// and for `transpose`.
void transpose_elementwise(Op* op, Backward& backward);
void transpose_broadcast(Op* op, Backward& backward);
void transpose_reshape(Op* op, Backward& backward);
void transpose_transpose(Op* op, Backward& backward);
void transpose_slice(Op* op, Backward& backward);
void transpose_windows(Op* op, Backward& backward);
void transpose_concat(Op* op, Backward& backward);
void transpose_reduce(Op* op, Backward& backward);
void transpose_gemm(Op* op, Backward& backward);
void transpose_embedding(Op* op, Backward& backward);
void transpose_update_slice(Op* op, Backward& backward);
void transpose_for(Op* op, Backward& backward);
void transpose_cond(Op* op, Backward& backward);
void transpose_custom_tangent(Op* op, Backward& backward);
void transpose_checkpoint_tangent(Op* op, Backward& backward);

}  // namespace tessera::graph
