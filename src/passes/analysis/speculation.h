#pragma once
// Which graph ops may run although the program would not have run them: before a loop that may have no iterations.
//
// Without effects is not enough. An op is *partial* if it means something for some sizes alone: a slice that reads
// beyond its operand, a result with an extent below 0, a division of sizes by 0. In a loop the source may rely on a
// iteration being there, as the `1 <= N` that `x[0]` needs does in a loop over `range(N)`.

#include <span>

#include "ir/core/dim_facts.h"
#include "ir/core/op.h"

namespace tessera {

/// Whether a pure op without regions means something for all sizes for which the facts hold.
bool is_total(Op* op, std::span<const DimFact> facts);

}  // namespace tessera
