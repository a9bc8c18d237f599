#pragma once
// What a kernel's schedule leaves open, by the pipelines of its loops.

#include <vector>

#include "passes/tile/pipeline/loop_pipeline.h"

namespace tessera::pipeline {

/// Shared memory that tiles leave to barriers and to the exchanges of reductions.
inline constexpr int64_t kept_shared_bytes = 2048;

/// Keys for a kernel whose schedule has none of them: `stages` as many as a loop's loads need to be in flight, and
/// where the copy engine loads what a loop multiplies, `roles` with a warpgroup that loads, and `registers` for
/// both. Null where nothing is left open.
Attr choose_schedule(Op* kernel, const std::vector<LoopPipeline>& loops, const DotChoices& dots,
                     const Machine& machine);

}  // namespace tessera::pipeline
