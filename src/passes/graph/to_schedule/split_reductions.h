#pragma once
// Reductions whose results are too few for the programs of a GPU.

#include "ir/core/op.h"

namespace tessera {

/// Cuts reductions of the function along its leading axes into parts, one for each program, and combines what these
/// come to:
///
///   sum(x, 0)  becomes  sum(sum(parts of x [q, c, ..], 1), 0) + sum(rest of x, 0)    with q = n // c
///
/// Such are sums over everything and over columns. Those of rows have a program for each row, and stay. The parts are
/// of a length that does not depend on sizes, so the order of a sum depends on them alone. Arithmetic on single
/// elements that the reduction reads is done again where parts are read.
void split_reductions(Op* function);

}  // namespace tessera
