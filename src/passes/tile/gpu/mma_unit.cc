#include "passes/tile/gpu/mma_unit.h"

#include "ir/layout/text.h"
#include "ir/layout/wgmma_descriptor.h"
#include "ir/tile/ops.h"

namespace tessera {

using tile::OpKind;
namespace in = tile::in;

namespace {

constexpr int64_t k_step = 16;
constexpr int64_t most_columns = 256;

bool is_half(DType dtype) { return dtype == DType::BF16 || dtype == DType::F16; }

bool has_tensor_core_shape(Type a, Type sum) {
  return is_half(a->dtype) && sum->dtype == DType::F32 && *a->dims[1]->constant() % k_step == 0;
}

/// Registers hold a left factor as accumulators are held.
bool is_wgmma_operand(Value* operand, int k_axis) {
  if (operand->type()->is(TypeKind::Tile)) return k_axis == 1;
  std::optional<layout::SharedLayout> shared = layout::parse_shared_layout(operand->type()->layout);
  return shared && layout::wgmma_operand(*shared, k_axis);
}

}  // namespace

bool takes_tensor_core(Op* mma) {
  return has_tensor_core_shape(mma->in(in::Mma::a)->type(), mma->result()->type());
}

bool has_wgmma_shape(Type a, Type sum, int64_t warps, const Machine& machine) {
  if (!machine.gpu.has_wgmma || warps % 4 || !has_tensor_core_shape(a, sum)) return false;
  int64_t m = *sum->dims[0]->constant(), n = *sum->dims[1]->constant();
  return m % (16 * warps) == 0 && n % 8 == 0 && n <= most_columns;
}

bool takes_wgmma(Op* mma, int64_t warps, const Machine& machine) {
  Value *a = mma->in(in::Mma::a), *b = mma->in(in::Mma::b);
  return has_wgmma_shape(a->type(), mma->result()->type(), warps, machine) && is_wgmma_operand(a, 1) &&
         is_wgmma_operand(b, 0);
}

Op* mma_of(Value* value) {
  while (Op* def = value->def()) {
    if (def->is(tile::info(OpKind::Mma))) return def;
    if (def->is(tile::info(OpKind::MmaWait))) {
      value = def->operand(value->index());
    } else if (def->is(tile::info(OpKind::For))) {
      value = def->region()->front()->terminator()->operand(value->index());
    } else {
      return nullptr;
    }
  }
  return nullptr;
}

}  // namespace tessera
