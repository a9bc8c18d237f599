#pragma once
// The pipeline that a loop of a GPU's kernel can have: which op runs in which stage and role, at what interval, and
// what that takes.

#include <string>

#include "ir/core/op.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/tile/pipeline/op_clocks.h"

namespace tessera::pipeline {

struct PipelinedOp {
  Op* op;
  OpClocks clocks;
  bool loads = false;   ///< by the copy engine: of the role that loads
  bool copies = false;  ///< to shared memory, by the engine or by threads
  int64_t start = 0;   ///< clocks after the start of its iteration
  int64_t stage = 0;   ///< iterations that lie between that start and the interval in which it runs
  int64_t order = 0;   ///< clocks after the start of the interval
};

/// Memory that operands pass through.
struct PipelineBuffer {
  Op* load;
  int64_t bytes;   ///< of a slot
  int64_t wanted;  ///< slots for which no load waits
  int64_t slots;   ///< slots that shared memory has place for
};

struct LoopPipeline {
  Op* loop;
  std::vector<PipelinedOp> ops;        ///< those that take time, in the order of the source
  std::vector<PipelineBuffer> buffers;
  ModuloSchedule schedule;
  int64_t interval = 0;                ///< of the schedule, or more where buffers have too few slots
  int64_t stages = 1;
  int64_t chain = 0;                   ///< clocks of one iteration alone
  int64_t registers = 0;               ///< that tiles take of each thread that computes, at the most
  int64_t registers_there = 0;
  int64_t memory_clocks = 0;           ///< that an iteration's loads take where nothing is in a cache
  std::string unpipelined = {};        ///< why the loop has no pipeline; the rest then says nothing
};

/// The pipeline of a loop. Only innermost loops have one.
LoopPipeline pipeline_of(Op* loop, const DotChoices& dots, const GpuSchedule& schedule, const Machine& machine);

/// A table for people: interval and what bounds it, ops, buffers, registers. `kernel` is the loop's.
std::string text(const LoopPipeline& pipeline, Op* kernel, const SourceManager& sources);

}  // namespace tessera::pipeline
