#include "passes/tile/gpu/product_unit.h"

#include "ir/layout/text.h"
#include "ir/layout/wgmma_descriptor.h"
#include "ir/tile/ops.h"

namespace tessera {

using tile::OpKind;
namespace in = tile::in;

namespace {

constexpr int64_t k_step = 16;
constexpr int64_t most_columns = 256;

bool is_wgmma_operand(Value* operand, int k_axis) {
  std::optional<layout::SharedLayout> shared = layout::parse_shared_layout(operand->type()->layout);
  return shared && layout::wgmma_operand(*shared, k_axis);
}

}  // namespace

bool takes_tensor_core(Op* mma) {
  Type a = mma->in(in::Mma::a)->type();
  bool half = a->dtype == DType::BF16 || a->dtype == DType::F16;
  return half && mma->result()->type()->dtype == DType::F32 && *a->dims[1]->constant() % k_step == 0;
}

bool takes_wgmma(Op* mma, int64_t warps, const Machine& machine) {
  if (!machine.gpu.has_wgmma || warps % 4 || !takes_tensor_core(mma)) return false;
  Type sum = mma->result()->type();
  int64_t m = *sum->dims[0]->constant(), n = *sum->dims[1]->constant();
  bool fits = m % (16 * warps) == 0 && n % 8 == 0 && n <= most_columns;
  return fits && is_wgmma_operand(mma->in(in::Mma::a), 1) && is_wgmma_operand(mma->in(in::Mma::b), 0);
}

Op* product_of(Value* value) {
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
