#include "passes/tile/gpu/written_memory.h"

#include <algorithm>

#include "ir/layout/text.h"
#include "passes/tile/gpu/tensor_copies.h"
#include "passes/tile/pipeline/builders.h"
#include "support/check.h"

namespace tessera {

using layout::SharedLayout;
using tile::OpKind;

namespace {

void set_layout(Value* memory, std::string_view layout) {
  Context& context = memory->def()->module()->context();
  memory->set_type(context.with_layout(memory->type(), context.intern(layout)));
  for (Use* use = memory->first_use(); use; use = use->next()) {
    if (use->owner()->is(tile::info(OpKind::Slot))) set_layout(use->owner()->result(), layout);
  }
}

/// The last two axes, as MMAs read them; each slot has its own tile.
void lay_out(Value* memory) {
  Context& context = memory->def()->module()->context();
  Type type = memory->type();
  size_t rank = std::min<size_t>(type->rank(), 2);
  std::vector<Dim> dims(type->dims.end() - int64_t(rank), type->dims.end());
  Type tile = context.tile(dims, type->dtype);
  std::optional<SharedLayout> layout;
  if (rank == 2) {
    layout = staged_layout(context, context.contiguous_view(dims, type->dtype, MemorySpace::Global), tile);
  } else {
    int32_t extents[] = {int32_t(*dims[0]->constant())};
    int order[] = {0};
    layout = SharedLayout::rows(extents, byte_size(type->dtype), order);
  }
  TSR_CHECK(layout, "no layout in shared memory for " + type->text);
  set_layout(memory, layout::print(*layout));
}

}  // namespace

bool place_written_memory(Op* kernel, const Machine& machine) {
  std::vector<Op*> allocs, barriers;
  walk(kernel, [&](Op* op) {
    if (op->is(tile::info(OpKind::AllocShared)) && op->attr(tile::attr::AllocShared::written)) allocs.push_back(op);
    if (op->is(tile::info(OpKind::Barrier))) barriers.push_back(op);
  });
  for (Op* alloc : allocs) {
    lay_out(alloc->result());
    alloc->move_before(kernel->region()->front()->front());
  }
  Builder builder(*kernel->module());
  for (Op* barrier : barriers) {
    if (!machine.gpu.has_wgmma || allocs.empty()) break;
    builder.set_before(barrier);
    builder.set_loc(barrier->loc());
    tile::fence_async(builder);
  }
  return !allocs.empty();
}

}  // namespace tessera
