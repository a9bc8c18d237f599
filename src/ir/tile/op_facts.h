#pragma once
// What a row of ops.def states of an op besides the facts that rows of every level have (ir/core/op_facts.inc).

#include "ir/tile/ops.h"

namespace tessera::tile {

/// What an op occupies of a GPU.
enum class Cost : uint8_t {
  Unstated,     ///< of what never stands in a body with tiles; asking for it is a bug
  Free,         ///< nothing: constants, addresses, and what is read in the registers that hold its operand
  Elementwise,  ///< as the row of elementwise.def says, for each element
  Elements,     ///< an instruction for each element
  Combining,    ///< an instruction for each element, and exchanges between threads
  Shared,       ///< elements change places by way of shared memory
  Dot,          ///< what multiplies, and the reads of its operands
  Load,         ///< the bytes of the result, by who brings them
  Store,        ///< the bytes of the value
  Copy,         ///< the bytes of the memory copied to
  Rows,         ///< the bytes of rows that lie anywhere
  Scattered,    ///< a sector of memory for each element
};

struct RowFacts {
#include "ir/core/op_facts.inc"
  Cost cost = Cost::Unstated;
  /// Computing it again is cheaper than keeping the tile in memory, where what it reads is as it was.
  bool is_cheap = false;
};

const RowFacts& facts(const OpInfo& row);
inline const RowFacts& facts(const Op* op) { return facts(op->info()); }

}  // namespace tessera::tile
