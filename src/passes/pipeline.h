#pragma once
// The order of passes: the story of a compile, from Graph IR to machine operations.

#include <span>

#include "passes/pass_manager.h"

namespace tessera {

/// What is done once to the graph of a file, whatever the targets.
std::span<const PassId> graph_pipeline();
/// What is done to one entry for one CPU, from its graph to Target IR.
std::span<const PassId> cpu_pipeline();
/// What is done to an entry for the tile interpreter, from its graph to whole tiles.
std::span<const PassId> interpreter_pipeline();
/// The same for one GPU.
std::span<const PassId> cuda_pipeline();
/// That of the two which the machine needs.
std::span<const PassId> pipeline_for(const Machine& machine);

/// The part of `pipeline` that is left for a module that was printed at the end of `level` and has these properties:
/// from the pass that lowers it on. The last level no pass leaves: from the first pass there that gives what the module
/// lacks.
std::span<const PassId> rest_after(std::span<const PassId> pipeline, Level level, Properties has);
/// The part that a module of `level` still goes through before it leaves that level.
std::span<const PassId> within(std::span<const PassId> pipeline, Level level);

std::vector<PassStep> steps_of(std::span<const PassId> passes);

}  // namespace tessera
