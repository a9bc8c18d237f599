#pragma once
// How the composed ops of the tile level are written as others.

#include "ir/tile/ops.h"
#include "passes/pass.h"

namespace tessera {

/// Writes one op of that kind as others before it and erases it, or reports why it cannot. Each row COMPOSED_OP has a
/// file with one.
template <tile::OpKind kind>
Status decompose(Op* op, PassContext& context);

#define COMPOSED_OP(Name, ...) \
  template <>                  \
  Status decompose<tile::OpKind::Name>(Op * op, PassContext & context);
#include "ir/tile/composed_ops.inc"

}  // namespace tessera
