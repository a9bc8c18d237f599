#pragma once
// Reductions whose results are too few for the programs of a GPU.

#include <vector>

#include "ir/core/op.h"

namespace tessera {

/// Cuts reductions of the function along its leading axes into parts, one for each program, and combines their
/// results:
///
///   sum(x, 0)  becomes  sum(sum(parts of x [q, c, ..], 1), 0) + sum(rest of x, 0)    with q = n // c
///
/// Such are sums over everything and over columns. The parts are of a length that does not depend on sizes, so the
/// order of a sum depends on them alone. Arithmetic on single elements that the reduction reads is done again where
/// parts are read.
void split_reductions(Op* function);

/// Cuts reductions along trailing axes, those of rows, in the same way: for sizes that have few rows, which are long
/// (row_parts.cc). All are of one block, in its order. The places of extremes are found in one reading of their rows.
void split_rows(const std::vector<Op*>& reductions);
/// Whether split_rows can cut the reduction.
bool can_split_row(Op* reduce);

}  // namespace tessera
