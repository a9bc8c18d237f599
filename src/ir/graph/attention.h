#pragma once
// What gir.flash_attention's operands and attributes say, for all who read them.

#include <optional>

#include "ir/graph/ops.h"

namespace tessera::graph {

/// How many heads of q share one head of k and v: `heads` / `groups` where that is known to be a
/// whole number.
std::optional<int64_t> heads_per_group(Dim heads, Dim groups);

/// The dtype that attention on operands of `dtype` computes in and gives.
inline DType attention_dtype(DType dtype) {
  return dtype == DType::F64 ? DType::F64 : DType::F32;
}

/// Whether the library has a kernel that computes the op on the module's target; without a target, on a CPU.
bool has_attention_kernel(Op* op);

/// The dims [B, H, S, T] of the weights.
std::vector<Dim> attention_weights(Op* op);

}  // namespace tessera::graph
