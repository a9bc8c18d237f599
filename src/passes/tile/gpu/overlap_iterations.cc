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
// Where warpgroups compute, too, they issue their MMAs in order: one computes while those of the others run. Otherwise
// all would wait for the tensor cores, and then leave them idle.
//
// Both are what the schedule of the loop is, within the registers of its threads and the slots of its channels:
// pipeline/loop_pipeline.h finds it, loop_expansion.h writes it.

#include "ir/core/builder.h"
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

/// Clocks of an iteration in which the tensor cores are occupied, and in which another unit is.
bool computes_beside_mmas(const pipeline::LoopPipeline& plan) {
  int64_t in_mmas = 0, beside = 0;
  for (const pipeline::PipelinedOp& each : plan.ops) {
    for (const pipeline::Occupancy& use : each.clocks.occupies) {
      auto unit = pipeline::Unit(use.unit);
      if (unit == pipeline::Unit::MatrixUnit) in_mmas += use.clocks;
      if (unit == pipeline::Unit::Functions || unit == pipeline::Unit::Arithmetic) beside += use.clocks;
    }
  }
  return 2 * beside >= in_mmas;
}

/// Warps of the role that an op stands in; 0 outside of roles.
int64_t role_warps(Op* op) {
  while (op && !op->is(tile::info(OpKind::Role))) op = op->parent();
  return op ? op->attr(attr::Role::warps) : 0;
}

/// Whether one warpgroup can run the op while others wait for their turn: nothing waits for all of them.
bool runs_alone(Op* op) {
  bool is_slot = op->is(tile::info(OpKind::ChannelWait)) || op->is(tile::info(OpKind::ChannelRelease));
  return op->is(tile::info(OpKind::Mma)) || is_slot || (op->is_pure() && op->region_count() == 0);
}

/// Lets warpgroups run an iteration's MMAs one after another, if these are issued together.
void order_warpgroups(Op* loop) {
  if (role_warps(loop) < 8) return;
  Op *first = nullptr, *last = nullptr;
  for (Op* op : *loop->region()->front()) {
    if (!op->is(tile::info(OpKind::Mma))) continue;
    if (!first) first = op;
    last = op;
  }
  if (!first) return;
  for (Op* op = first; op != last; op = op->next()) {
    if (!runs_alone(op)) return;
  }
  Builder builder(*loop->module());
  builder.set_loc(first->loc());
  builder.set_before(first);
  builder.op(tile::info(OpKind::OrderWait), {}, {});
  builder.set_after(last);
  builder.op(tile::info(OpKind::OrderArrive), {}, {});
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
      if (!plan.unpipelined.empty()) continue;
      bool is_ordered = computes_beside_mmas(plan);
      Op* steady = expand_loop(plan, runs_at_least_once(loop, facts));
      if (is_ordered) order_warpgroups(steady);
    }
  }
  return success;
}

}  // namespace tessera
