#pragma once
// Results of tensor cores in rows that the copy engine cannot write.

#include "ir/core/op.h"
#include "passes/analysis/divisibility.h"

namespace tessera {

/// Stores an accumulator to global memory by rows: it goes through shared memory, from which neighbouring threads read
/// neighbours of a row. Where the result is computed from tiles of memory (a residual is added), the accumulator takes
/// that way, and such tiles are loaded by rows, too; lines are loaded again for each part. False, with nothing changed,
/// where `free` bytes of shared memory are too few, or the tile is no accumulator of wgmma.
bool store_by_rows(Op* store, Divisibility& known, int64_t free);

}  // namespace tessera
