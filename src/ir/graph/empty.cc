#include "ir/graph/empty.h"

#include <algorithm>

#include "support/check.h"

namespace tessera::graph {

bool is_empty(Value* value) {
  return std::ranges::any_of(value->type()->dims, [](Dim dim) { return dim->is_constant(0); });
}

bool computes_nothing(Op* op) {
  if (op->result_count() != 1 || !is_empty(op->result())) return false;
  switch (kind_of(op)) {
    case OpKind::Func:
    case OpKind::Return:
    case OpKind::Yield:
    case OpKind::Check:
    case OpKind::For:
    case OpKind::While:
    case OpKind::Cond:
    case OpKind::KernelCall:
    case OpKind::CustomCall:
    case OpKind::CustomTangent:
    case OpKind::Checkpoint:
    case OpKind::CheckpointTangent:
    case OpKind::Named:
    case OpKind::Full:
    case OpKind::Constant:
    case OpKind::Iota:
    case OpKind::Dim:
    case OpKind::Broadcast:
    case OpKind::Reshape:
    case OpKind::Transpose:
    case OpKind::Slice:
    case OpKind::Windows:
    case OpKind::UpdateSlice:
    case OpKind::Barrier: return false;
    case OpKind::Reduce:
    case OpKind::Gemm:
    case OpKind::Softmax:
    case OpKind::Rmsnorm:
    case OpKind::Embedding:
    case OpKind::FlashAttention:
    case OpKind::CrossEntropy:
    case OpKind::Concat:
    case OpKind::PhiloxUniform:
    case OpKind::PhiloxNormal:
#define ELEMENTWISE(Name, ...) case OpKind::Name:
#include "ir/numbers/elementwise.def"
      return true;
  }
  TSR_UNREACHABLE("unknown op");
}

bool combines_nothing(Op* op) {
  return (op->is(info(OpKind::Reduce)) || op->is(info(OpKind::Gemm))) && is_empty(op->operand(0));
}

bool has_no_classes(Op* op) {
  return op->is(info(OpKind::CrossEntropy)) && is_empty(op->in(in::CrossEntropy::logits));
}

bool has_empty_part(Op* op) {
  if (!op->is(info(OpKind::Concat))) return false;
  std::vector<Value*> parts = op->ins(in::Concat::parts);
  return std::ranges::any_of(parts, is_empty) && !std::ranges::all_of(parts, is_empty);
}

bool is_needless(Op* op) {
  return computes_nothing(op) || combines_nothing(op) || has_no_classes(op) || has_empty_part(op);
}

}  // namespace tessera::graph
