// Lets the loads of a loop run as many iterations ahead as the schedule says (GPU).
//
// An iteration uses slot `iteration modulo slots` of a ring, so more stages of a channel between
// roles only need a larger extent. A channel keeps one stage if the same warps fill and empty it,
// as they would not fill a second slot earlier, or if a program fills it once. Where the computing
// threads copy, copy_ring.h rewrites their loop.

#include <algorithm>

#include "ir/tile/ops.h"
#include "passes/pass.h"
#include "passes/tile/gpu/copy_ring.h"
#include "passes/tile/gpu/gpu_schedule.h"
#include "support/check.h"

namespace tessera {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

void set_stages(Op* channel, int64_t stages) {
  Context& context = channel->module()->context();
  channel->set(attr::Channel::stages, stages);
  for (Value* ring : channel->ins(in::Channel::rings)) {
    Type type = ring->type();
    std::vector<Dim> dims = type->dims;
    dims[0] = context.dims().constant(stages);
    Type deeper = context.contiguous_view(std::move(dims), type->dtype, type->space);
    ring->set_type(context.with_layout(deeper, type->layout));
  }
}

/// Loops over memory that the source asks for stay as it says.
bool has_written_memory(Op* kernel) {
  for (Op* op : *kernel->region()->front()) {
    if (op->is(tile::info(OpKind::AllocShared)) && op->attr(attr::AllocShared::written))
      return true;
  }
  return false;
}

bool is_between_roles(Op* channel) {
  for (Use* use = channel->result()->first_use(); use; use = use->next()) {
    Op* op = use->owner();
    while (op && !op->is(tile::info(OpKind::Role))) op = op->parent();
    if (!op) return false;
  }
  return true;
}

/// Whether a program fills the channel again and again. Of a persistent kernel the outermost loop is over programs.
bool has_iterations(Op* channel, bool persistent) {
  int loops = persistent ? -1 : 0;
  for (Use* use = channel->result()->first_use(); use; use = use->next()) {
    if (!use->owner()->is(tile::info(OpKind::ChannelAcquire))) continue;
    for (Op* op = use->owner(); op; op = op->parent()) loops += op->is(tile::info(OpKind::For));
    break;
  }
  return loops > 0;
}

}  // namespace

Status multi_buffer(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "multi_buffer needs a machine");
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(OpKind::Kernel))) continue;
    int64_t stages = std::max<int64_t>(1, context.option("stages", gpu_schedule(kernel, *context.machine).stages));
    for (Op* op : *kernel->region()->front()) {
      if (!op->is(tile::info(OpKind::Channel)) || !is_between_roles(op)) continue;
      if (has_iterations(op, kernel->attr(attr::Kernel::persistent))) set_stages(op, stages);
    }
    if (stages == 1 || has_written_memory(kernel)) continue;
    std::vector<Op*> loops;
    walk(kernel, [&](Op* op) {
      if (op->is(tile::info(OpKind::For))) loops.push_back(op);
    });
    for (Op* loop : loops) ring_of_copies(loop, stages);
  }
  return success;
}

}  // namespace tessera
