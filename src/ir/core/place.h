#pragma once
// Places in the source, as bundles and the runtime's messages name them.

#include <string>

#include "ir/core/op.h"

namespace tessera {

/// "mlp.tsr:7:12", with the file's name as in IR; empty where the place is not known.
std::string place_of(Op* op);

}  // namespace tessera
