#pragma once
// What a schedule of a loop's iterations has to keep: the clocks of its ops, and which waits for which.

#include <string>
#include <vector>

#include "ir/core/op.h"
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

/// `to` reads the result of `from` of the iteration `distance` before its own.
struct ValueRead {
  size_t from, to;
  int64_t distance;
  bool until_done;  ///< an MMA reads registers until it is complete
};

/// `to` begins when `from`, an MMA of the iteration `distance` before, is complete.
struct Completion {
  size_t from, to;
  int64_t distance;
};

struct LoopGraph {
  std::vector<PipelinedOp> ops;  ///< those that take time, in the order of the source
  ModuloProblem problem;
  std::vector<ValueRead> reads;
  std::vector<Completion> completions;
};

/// The memory behind windows and slots.
Value* root_of(Value* memory);

/// The graph of a loop's body. `phases` groups of warps each compute an even part of every tile.
LoopGraph graph_of(Op* loop, const DotChoices& dots, int64_t phases, const Machine& machine);

}  // namespace tessera::pipeline
