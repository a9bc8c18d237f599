#include "passes/schedule/launch_cost.h"

#include <algorithm>

#include "ir/core/common_attributes.h"
#include "ir/core/context.h"
#include "ir/schedule/ops.h"
#include "ir/text/entries.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/tile/pipeline/op_clocks.h"

namespace tessera {

using schedule::OpKind;
namespace attr = schedule::attr;
namespace in = schedule::in;

namespace {

/// Clocks between the starts of two iterations: those of the unit that is busy longest. Of what is in flight, a stage
/// arrives in each part of the memory's latency.
int64_t interval_of(Op* loop, int64_t stages, const Machine& machine) {
  const pipeline::UnitInfo& copies = info(pipeline::Unit::CopyEngine);
  double dots = 0, bytes = 0;
  for (Op* op : *loop->region()->front()) {
    if (op->is(schedule::info(OpKind::Dot))) dots += dot_clocks(op, machine);
    if (op->is(schedule::info(OpKind::Load))) bytes += double(pipeline::tile_bytes(op->result()->type()));
  }
  return int64_t(std::max({dots, bytes / double(copies.rate), double(copies.latency) / double(stages)}));
}

/// The one loop with dots, which has no other in it; null where there is none, or another one.
Op* loop_of_dots(Op* kernel) {
  Op* found = nullptr;
  bool is_one = true;
  walk(kernel, [&](Op* op) {
    if (!op->is(schedule::info(OpKind::Dot))) return;
    Op* loop = op->parent();
    is_one &= loop && loop->is(schedule::info(OpKind::Pipeline)) && (!found || found == loop);
    found = loop;
  });
  if (!found) return nullptr;
  for (Op* op : *found->region()->front()) is_one &= op->region_count() == 0;
  return is_one ? found : nullptr;
}

/// Bytes of the tiles that a program stores.
int64_t stored_bytes(Op* kernel) {
  int64_t bytes = 0;
  walk(kernel, [&](Op* op) {
    if (op->is(schedule::info(OpKind::Store))) bytes += pipeline::tile_bytes(op->in(in::Store::value)->type());
  });
  return bytes;
}

}  // namespace

Dim launch_clocks(Op* kernel, const Machine& machine) {
  Op* loop = loop_of_dots(kernel);
  if (!loop) return nullptr;
  DimTable& dims = kernel->module()->context().dims();
  Dim programs = dims.constant(1);
  for (Attr axis : kernel->attr(attr::Kernel::axes)) {
    using entry::Axis;
    if (!entry::read(axis, Axis::grid)) continue;
    programs = dims.mul(programs, dims.ceildiv(entry::read(axis, Axis::extent), entry::read(axis, Axis::block)));
  }
  const pipeline::UnitInfo& copies = info(pipeline::Unit::CopyEngine);
  int64_t interval = interval_of(loop, gpu_schedule(kernel, machine).stages, machine);
  int64_t around = copies.latency + stored_bytes(kernel) / int64_t(copies.rate);
  Dim of_program = dims.mul(loop->attr(attr::Pipeline::count), dims.constant(interval));
  Dim waves = dims.ceildiv(programs, dims.constant(machine.gpu.peaks.multiprocessors));
  return dims.mul(waves, dims.add(of_program, dims.constant(around)));
}

}  // namespace tessera
