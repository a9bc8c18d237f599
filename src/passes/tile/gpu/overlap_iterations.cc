// Overlaps iterations of loops of MMAs, as a modulo schedule of their ops says (GPU).
//
//   for t: wait t; d = mma(…, c); c' = mma_wait d {0}; release t            becomes
//   for t: wait t; d = mma(…, c); c' = mma_wait d {1}; if t > lo: release t - 1
//   r = mma_wait c' {0}; release hi - 1
//
// and attention, whose second MMA runs beside the exponentials of the next iteration,
//
//   for t: s = mma(q, k t); p = f(wait s); o' = wait mma(p, v t, g(o))      becomes
//   s = mma(q, k lo); p = f(wait s); c = g(o)
//   for t from lo + 1: s = mma(q, k t); d = mma(p, v t-1, c); x = f(wait s {1}); c = g(wait d {0}); p = x
//   o' = wait mma(p, v hi-1, c)
//
// Both are what the schedule of the loop is, within the registers of its threads and the slots of its channels:
// pipeline/loop_pipeline.h finds it, loop_expansion.h writes it.

#include "ir/tile/ops.h"
#include "passes/analysis/loop_bounds.h"
#include "passes/pass.h"
#include "passes/tile/pipeline/loop_expansion.h"
#include "support/check.h"

namespace tessera {

using tile::OpKind;
namespace attr = tile::attr;

namespace {

bool has_mma(Op* loop) {
  for (Op* op : *loop->region()->front()) {
    if (op->is(tile::info(OpKind::Mma))) return true;
  }
  return false;
}

/// Loops over memory that the source asks for stay as it says.
bool has_written_memory(Op* kernel) {
  for (Op* op : *kernel->region()->front()) {
    if (op->is(tile::info(OpKind::AllocShared)) && op->attr(attr::AllocShared::written)) return true;
  }
  return false;
}

}  // namespace

Status overlap_iterations(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "overlap_iterations needs a machine");
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(OpKind::Kernel)) || has_written_memory(kernel)) continue;
    std::vector<Op*> loops;
    walk(kernel, [&](Op* op) {
      if (op->is(tile::info(OpKind::For)) && has_mma(op)) loops.push_back(op);
    });
    std::vector<DimFact> facts = read_facts(kernel->attr(attr::Kernel::assume));
    GpuSchedule schedule = gpu_schedule(kernel, *context.machine);
    for (Op* loop : loops) {
      pipeline::LoopPipeline plan = pipeline::overlap_of(loop, schedule, *context.machine);
      if (context.pipelined) context.pipelined(kernel, plan);
      if (plan.unpipelined.empty()) expand_loop(plan, runs_at_least_once(loop, facts));
    }
  }
  return success;
}

}  // namespace tessera
