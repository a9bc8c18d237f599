#pragma once
// How fast a machine computes dots by the instruction that was chosen for them, for estimates.

#include <string_view>

#include "ir/numbers/dtype.h"
#include "ir/numbers/machine.h"

namespace tessera {

/// GFLOP/s of a machine with these peak figures. `instruction` is the shape of the instruction, m x n x k, as the
/// lowering chose it ("64x128x16"); empty for multiply-adds of single elements. `dtype` is that of its factors.
double dot_rate(const Machine& machine, const PeakFigures& peak, std::string_view instruction, DType dtype);

/// What the instruction of that shape is called: "wgmma"; empty for one that is not known.
std::string_view dot_instruction(std::string_view instruction);

}  // namespace tessera
