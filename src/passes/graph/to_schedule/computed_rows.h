#pragma once
// Norms and softmaxes of rows that are computed element by element.

#include "ir/core/op.h"

namespace tessera {

/// Writes gir.rmsnorm and gir.softmax of the function as what they mean where their rows are computed element by
/// element, as in rmsnorm(x + r): a generated kernel then computes the rows and what is combined of them, while a
/// kernel of the library would read the rows from memory. Rows that are computed from a matmul's result, or from that
/// of another kernel of the library, are its epilogue and stay what they are.
void write_computed_rows(Op* function);

}  // namespace tessera
