// Lets the loads of a loop run as many iterations ahead as the schedule says (GPU).
//
// An iteration uses slot `iteration modulo slots` of a ring, so more stages of a channel between
// roles only need a larger extent. A channel keeps one stage if the same warps fill and empty it,
// as they would not fill a second slot earlier, or if a program fills it once. One of a persistent kernel that every
// program fills once has a second slot where there is memory: for the next program's. Where the computing threads copy,
// copy_ring.h rewrites their loop.

#include <algorithm>

#include "ir/core/kernel_size.h"
#include "ir/schedule/schedule_keys.h"
#include "ir/text/entries.h"
#include "ir/tile/ops.h"
#include "ir/tile/shared_memory.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/pass.h"
#include "passes/tile/gpu/copy_ring.h"
#include "passes/tile/gpu/unused_keys.h"
#include "passes/tile/pipeline/choose_schedule.h"
#include "support/check.h"
#include "support/diagnostic_rows.h"

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

/// How many loops deep the channel is filled.
int loops_around(Op* channel) {
  int loops = 0;
  for (Use* use = channel->result()->first_use(); use; use = use->next()) {
    if (!use->owner()->is(tile::info(OpKind::ChannelAcquire))) continue;
    for (Op* op = use->owner(); op; op = op->parent()) loops += op->is(tile::info(OpKind::For));
    break;
  }
  return loops;
}

/// Bytes of shared memory that a kernel takes, and those that its largest result takes on its way out: as it is stored
/// in kernels of the library, and before it is rounded in those of a program, which may exchange it so.
int64_t bytes_with_result(Op* kernel) {
  int64_t result = 0;
  walk(kernel, [&](Op* op) {
    if (!op->is(tile::info(OpKind::Store))) return;
    Type stored = op->in(in::Store::value)->type();
    int64_t most = kernel->attr(attr::Kernel::own) ? 4 * pipeline::element_count(stored) : 0;
    result = std::max({result, pipeline::tile_bytes(stored), most});
  });
  return pipeline::kept_shared_bytes + tile::allocated_shared_bytes(kernel) + result;
}

/// Bytes of one slot of each ring.
int64_t slot_bytes(Op* channel) {
  int64_t bytes = 0;
  for (Value* ring : channel->ins(in::Channel::rings)) bytes += tile::shared_bytes(ring->type());
  return bytes / channel->attr(attr::Channel::stages);
}

/// What a kernel does with its stages; of variants the last counts.
enum class Stages : uint8_t { NoLoop, Used, ByHand, Ignored };

/// Gives a kernel's channels and loops their slots.
Stages buffer(Op* kernel, int64_t stages, int64_t shared_there) {
  bool is_used = false, is_ignored = false;
  bool is_persistent = kernel->attr(attr::Kernel::persistent);
  std::vector<Op*> filled_once;
  for (Op* op : *kernel->region()->front()) {
    if (!op->is(tile::info(OpKind::Channel))) continue;
    bool fits = is_between_roles(op);
    int loops = loops_around(op);
    if (is_persistent && loops == 1 && fits) filled_once.push_back(op);
    if (loops <= is_persistent) continue;
    if (fits) set_stages(op, stages);
    (fits ? is_used : is_ignored) = true;
  }
  for (Op* channel : filled_once) {
    if (bytes_with_result(kernel) + slot_bytes(channel) <= shared_there) set_stages(channel, 2);
  }
  if (stages == 1) return Stages::Used;
  if (has_written_memory(kernel)) return is_used ? Stages::Used : Stages::ByHand;
  std::vector<Op*> loops;
  walk(kernel, [&](Op* op) {
    if (op->is(tile::info(OpKind::For))) loops.push_back(op);
  });
  for (Op* loop : loops) is_used |= ring_of_copies(loop, stages);
  return is_used ? Stages::Used : is_ignored ? Stages::Ignored : Stages::NoLoop;
}

std::string why_without(Stages outcome) {
  switch (outcome) {
    case Stages::ByHand: return "memory that the kernel allocates itself has the slots that it asks for";
    case Stages::Ignored:
      return "where the copy engine loads operands of dots, stages need 'roles'; without the key they are chosen";
    default: return "no loop of the kernel copies what it loads to shared memory";
  }
}

/// The variants of a kernel of the program, whose schedule asks for stages.
struct Asked {
  Loc loc;
  Loc place;  ///< of the key
  std::string name;
  Stages outcome;
};

}  // namespace

Status multi_buffer(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "multi_buffer needs a machine");
  report_unused_keys(module, context);
  std::vector<Asked> asked;
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(OpKind::Kernel))) continue;
    int64_t stages = std::max<int64_t>(1, context.option("stages", gpu_schedule(kernel, *context.machine).stages));
    Stages outcome = buffer(kernel, stages, context.machine->gpu.shared_per_block);
    bool is_asked = entry::node(kernel->attr(attr::Kernel::schedule), schedule::key::stages) != nullptr;
    if (stages == 1 || !is_asked || !kernel->attr(attr::Kernel::own)) continue;
    auto known = std::ranges::find(asked, kernel->loc(), &Asked::loc);
    Loc place = schedule::place_of_key(kernel, schedule::key::stages.name);
    if (known == asked.end()) known = asked.insert(known, {kernel->loc(), place, kernel_name(kernel), outcome});
    known->outcome = std::max(known->outcome, outcome);
  }
  for (const auto& [loc, place, name, outcome] : asked) {
    if (outcome == Stages::Used) continue;
    std::string target = fmt::format("'{}'", context.machine->name);
    context.diagnostics.report(diag::schedule_no_effect, place, "'stages'", "the schedule", name, target)
        .help(why_without(outcome));
  }
  return success;
}

}  // namespace tessera
