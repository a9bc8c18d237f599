#pragma once
// The pipeline that a loop of a GPU's kernel can have: which op runs in which stage and role, at what interval, and
// what that takes.

#include <string>

#include "ir/core/op.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/tile/pipeline/loop_graph.h"

namespace tessera::pipeline {

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
  bool is_staged = false;              ///< operands are placed: the loop is one of the role that computes
  std::vector<Completion> completions = {};
};

/// The pipeline of a loop. Only innermost loops have one.
LoopPipeline pipeline_of(Op* loop, const DotChoices& dots, const GpuSchedule& schedule, const Machine& machine);

/// How iterations of a loop of MMAs can overlap in the warps that compute. Warpgroups run the loop in turns, an even
/// part of the interval after one another, and an iteration has no more stages than its channels have slots.
LoopPipeline overlap_of(Op* loop, const GpuSchedule& schedule, const Machine& machine);

/// A table for people: interval and what bounds it, ops, buffers, registers. `kernel` is the loop's.
std::string text(const LoopPipeline& pipeline, Op* kernel, const SourceManager& sources);

}  // namespace tessera::pipeline
