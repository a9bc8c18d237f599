#include "passes/pipeline.h"

#include <algorithm>
#include <array>

namespace tessera {

namespace {

constexpr PassId graph_passes[] = {
    // Fold what is known, and give every op its one form, so that equal things look equal ...
    PassId::canonicalize,
    // ... and are computed once, before a loop if they are the same in each of its iterations,
    PassId::cse,
    PassId::hoist_invariants,
    // and not at all when nobody looks.
    PassId::dce,
};
static_assert(is_well_ordered(graph_passes, Level::Graph));

constexpr std::array kernel_passes{
    // Integers of 4 bits, which no machine computes with, become wider ones.
    PassId::widen_int4,
    // Attention that no kernel computes is written out.
    PassId::decompose_attention,
    // Rows that lie across memory need no copies.
    PassId::decompose_softmax,
    // Random numbers become integer arithmetic, which fuses like any other.
    PassId::decompose_random,
    PassId::canonicalize,
    PassId::cse,
    PassId::hoist_invariants,
    PassId::dce,
    // Kernels: contractions and norms from the standard library, with the ops around them folded in, and
    // generated ones for the rest. The host program says which runs when.
    PassId::graph_to_schedule,
    // State that the caller gave up is updated where it is.
    PassId::reuse_memory,
};

/// What code generation relies on.
constexpr Properties needed_by_code = property::MathExpanded | property::Legal;

/// One list of passes after another.
template <size_t m, size_t n>
constexpr std::array<PassId, m + n> joined(const std::array<PassId, m>& first, const std::array<PassId, n>& second) {
  std::array<PassId, m + n> all{};
  std::copy(first.begin(), first.end(), all.begin());
  std::copy(second.begin(), second.end(), all.begin() + m);
  return all;
}

constexpr std::array cpu_passes = joined(kernel_passes, std::array{
    PassId::dedupe_kernels,
    // One program of each kernel: indices become element offsets, edges become limits.
    PassId::schedule_to_tile,
    // What a launch computes and moves is plain while tiles are whole.
    PassId::measure_work,
    // One thread runs a program, and needs no copies that others wait for.
    PassId::use_scratch,
    // A loop over blocks of an axis that is only summed up is one op over the whole axis; how it is
    // cut is decided below, where registers are known.
    PassId::merge_loops,
    PassId::simplify_tiles,
    PassId::propagate_masks,
    PassId::simplify_tiles,
    // What no machine has becomes other ops: elements of sorts change places in memory.
    PassId::decompose_tile_ops,
    // Tiles become loops over fragments that fit the registers; panels are packed.
    PassId::split_to_fragments,
    PassId::simplify_tiles,
    PassId::allocate_scratch,

    // Registers and a control flow graph.
    PassId::tile_to_x86,
    // What the machine has no instruction for becomes arithmetic.
    PassId::expand_math,
    PassId::legalize_casts,
    // A load next to its use can be the operand of an instruction.
    PassId::sink_to_uses,
});
static_assert(is_well_ordered(cpu_passes, Level::Graph, needed_by_code));

constexpr PassId interpreter_passes[] = {
    PassId::widen_int4,
    PassId::decompose_attention,
    PassId::decompose_random,
    PassId::canonicalize,
    PassId::graph_to_schedule,
    PassId::reuse_memory,
    PassId::schedule_to_tile,
    // Padding of a block must not count in what is reduced.
    PassId::propagate_masks,
};
static_assert(is_well_ordered(interpreter_passes, Level::Graph));

constexpr std::array cuda_passes = joined(kernel_passes, std::array{
    // Sizes that the machine likes get kernels of their own.
    PassId::specialise_kernels,
    PassId::dedupe_kernels,
    // Loops over blocks stay: their iterations are what loads run ahead by.
    PassId::schedule_to_tile,
    PassId::measure_work,
    PassId::simplify_tiles,
    PassId::propagate_masks,
    PassId::simplify_tiles,
    // Places of extremes are numbers of 32 bits where rows are short enough.
    PassId::narrow_integers,
    // Whole rows of a length that threads do not divide are padded in registers.
    PassId::pad_tiles,
    // What no machine has becomes other ops: elements of sorts change places in shared memory.
    PassId::decompose_tile_ops,
    // What is too large for the registers of a block becomes loops over fragments.
    PassId::split_large_tiles,
    PassId::simplify_tiles,
    // Factors that are computed stay in the registers of what computes them.
    PassId::swap_factors,
    // Operands of MMAs pass through shared memory, filled by warps of their own.
    PassId::plan_pipeline,
    PassId::longest_first,
    PassId::form_clusters,
    PassId::make_persistent,
    PassId::specialise_roles,
    PassId::multi_buffer,
    PassId::overlap_iterations,
    // Most blocks need no masks.
    PassId::skip_masks,
    PassId::simplify_tiles,
    // Elements get their threads, results their way out.
    PassId::assign_layouts,
    PassId::stage_stores,
    PassId::insert_barriers,
    PassId::allocate_shared,

    // Registers, and the instructions that layouts stand for.
    PassId::tile_to_nv,
    PassId::share_reciprocals,
    PassId::expand_math,
    PassId::legalize_casts,
    // A launch takes as long as a small kernel runs.
    PassId::overlap_launches,
});
static_assert(is_well_ordered(cuda_passes, Level::Graph, needed_by_code));

}  // namespace

std::span<const PassId> cuda_pipeline() { return cuda_passes; }
std::span<const PassId> pipeline_for(const Machine& machine) {
  return machine.is_gpu() ? cuda_pipeline() : cpu_pipeline();
}
std::span<const PassId> graph_pipeline() { return graph_passes; }
std::span<const PassId> cpu_pipeline() { return cpu_passes; }
std::span<const PassId> interpreter_pipeline() { return interpreter_passes; }

std::span<const PassId> rest_after(std::span<const PassId> pipeline, Level level, Properties has) {
  for (size_t i = 0; i < pipeline.size(); ++i) {
    const PassInfo& pass = pass_table[size_t(pipeline[i])];
    bool is_last_level = level == Level::Target;
    bool is_next = is_last_level ? (pass.gives & ~has) != 0 : pass.leaves != level;
    if (pass.reads == level && is_next) return pipeline.subspan(i);
  }
  return {};
}

std::span<const PassId> within(std::span<const PassId> pipeline, Level level) {
  size_t begin = 0;
  while (begin < pipeline.size() && pass_table[size_t(pipeline[begin])].reads != level) ++begin;
  size_t end = begin;
  while (end < pipeline.size() && pass_table[size_t(pipeline[end])].leaves == level) ++end;
  return pipeline.subspan(begin, end - begin);
}

std::vector<PassStep> steps_of(std::span<const PassId> passes) {
  std::vector<PassStep> steps;
  for (PassId id : passes) steps.push_back({&pass_table[size_t(id)], {}});
  return steps;
}

}  // namespace tessera
