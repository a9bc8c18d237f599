#include "ir/tile/ops.h"

#include "ir/tile/op_facts.h"
#include "ir/tile/verify.h"

namespace tessera::tile {

#define OPS_FILE "ir/tile/ops.def"
#define OPS_LEVEL Level::Tile
#define OP_PREFIX "tile."
#define HAS_ROW_FACTS
#include "ir/core/op_table.inc"

const RowFacts& facts(const OpInfo& row) {
  static const RowFacts elementwise{.cost = Cost::Elementwise};
  bool is_elementwise = row.elementwise != ElementwiseKind::None;
  return is_elementwise ? elementwise : op_rows()[row.kind].facts;
}

const OpInfo* info(ElementwiseKind kind) {
  // The shared rows come first in the table, in the order of ElementwiseKind, which starts with
  // None.
  return &op_table()[size_t(kind) - 1];
}

Type slot_type(Context& context, Type ring) {
  std::vector<Dim> dims(ring->dims.begin() + 1, ring->dims.end());
  std::vector<Dim> strides(ring->strides.begin() + 1, ring->strides.end());
  Type slot =
      context.view(std::move(dims), ring->dtype, std::move(strides), ring->offset, ring->space);
  return context.with_layout(slot, ring->layout);
}

std::vector<Dim> strides_of(Context& context, Type memory) {
  if (memory->is(TypeKind::View)) return memory->strides;
  return context.contiguous_view(memory->dims, memory->dtype, MemorySpace::Global)->strides;
}

Type channel_type(Context& context) {
  return context.contiguous_view({}, DType::U64, MemorySpace::Shared);
}

}  // namespace tessera::tile
