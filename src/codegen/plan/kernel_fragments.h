#pragma once

#include "ir/core/module.h"
#include "runtime/format/reflection.h"

namespace tessera::codegen {

/// The largest matrix instruction of a kernel of level target, m x n x k, and its dtypes; empty where there is none.
format::KernelFragments kernel_fragments(Op* kernel);

}  // namespace tessera::codegen
