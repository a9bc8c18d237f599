#pragma once
// What is known of the iterations of a tile.for, and of ops in one.

#include <span>

#include "ir/core/dim_facts.h"
#include "ir/core/op.h"

namespace tessera {

/// True if the loop surely runs at least once where the facts (what its kernel assumes) hold, or by a branch around it.
bool runs_at_least_once(Op* loop, std::span<const DimFact> facts);
/// True for an op that may run more than once.
bool is_in_loop(Op* op);
/// The same, or for one of an iteration that stands before the others: `overlap_iterations` takes some out of a loop.
bool is_in_iteration(Op* op);
/// Whether a value is computed from the loop's index and what is outside of the loop; `body` is the loop's block.
bool follows_index(Value* value, const Block* body);

}  // namespace tessera
