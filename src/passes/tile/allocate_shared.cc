// Gives shared memory its places (GPU).
//
// Buffers of a kernel with roles are all in use at the same time; elsewhere buffers are few. So each gets bytes of its
// own: the most strictly aligned first, since swizzled tiles start at multiples of 1024 bytes, then barriers and the
// partial results of reductions between warps. What does not fit is the schedule's fault, and the message says by how
// much.

#include <algorithm>

#include "ir/layout/reduction.h"
#include "ir/layout/text.h"
#include "ir/tile/ops.h"
#include "ir/tile/shared_memory.h"
#include "passes/pass.h"
#include "support/check.h"

namespace tessera {

using tile::OpKind;

namespace {

struct Buffer {
  Op* op;
  std::string_view attribute;
  int64_t bytes;
  int64_t alignment;
};

int64_t element_count(Type type) {
  int64_t count = 1;
  for (Dim dim : type->dims) count *= *dim->constant();
  return count;
}

Buffer shared_buffer(Op* op) {
  Type type = op->result()->type();
  return {op, "offset", tile::shared_bytes(type), tile::shared_alignment(type)};
}

/// Partial results of a reduction between warps; no bytes where there are none.
Buffer reduction_buffer(Op* op) {
  std::optional<layout::Layout> from = layout::parse_layout(op->operand(0)->type()->layout);
  TSR_CHECK(from, "a reduction of a tile without a layout");
  int slots = layout::plan_reduction(*from, int(op->int_attr("axis")), op->flag("keep")).slot_count();
  Type result = op->result()->type();
  int64_t bytes = slots > 1 ? slots * element_count(result) * byte_size(result->dtype) : 0;
  return {op, "shared_offset", bytes, 16};
}

Status allocate(Op* kernel, const Machine& machine, DiagnosticEngine& diagnostics) {
  std::vector<Buffer> buffers;
  walk(kernel, [&](Op* op) {
    bool memory = op->is(tile::info(OpKind::AllocShared)) || op->is(tile::info(OpKind::Barriers));
    if (memory) buffers.push_back(shared_buffer(op));
    if (op->is(tile::info(OpKind::Reduce))) buffers.push_back(reduction_buffer(op));
  });
  std::erase_if(buffers, [](const Buffer& buffer) { return buffer.bytes == 0; });
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const Buffer& a, const Buffer& b) { return a.alignment > b.alignment; });
  Context& context = kernel->module()->context();
  int64_t total = 0;
  for (const Buffer& buffer : buffers) {
    total = (total + buffer.alignment - 1) / buffer.alignment * buffer.alignment;
    buffer.op->set_attr(buffer.attribute, context.integer(total));
    total += buffer.bytes;
  }
  int64_t available = machine.gpu.shared_per_block;
  if (total > available) {
    diagnostics.report(diag::schedule_shared_memory, kernel->loc(), std::string(symbol_name(kernel)), total, available,
                       total - available)
        .help("use fewer stages or smaller blocks");
    return failure;
  }
  kernel->set_attr("shared", context.integer(total));
  return success;
}

}  // namespace

Status allocate_shared(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "allocate_shared needs a machine");
  for (Op* op : *module.body()) {
    if (!op->is(tile::info(OpKind::Kernel))) continue;
    if (allocate(op, *context.machine, context.diagnostics).failed()) return failure;
  }
  return success;
}

}  // namespace tessera
