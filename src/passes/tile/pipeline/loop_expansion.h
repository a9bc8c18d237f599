#pragma once
// Writes a loop as its schedule says: a prologue, a steady state and an epilogue.

#include "passes/tile/pipeline/loop_pipeline.h"

namespace tessera {

/// Replaces the loop of a schedule (pipeline::overlap_of) that has one, and returns the loop of the steady state.
/// `runs`: it is known to run at least once.
Op* expand_loop(const pipeline::LoopPipeline& plan, bool runs);

}  // namespace tessera
