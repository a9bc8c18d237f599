#pragma once
// The machine code of a CUDA target, as far as it is looked at here: that it is there, is what its
// name says, and has the kernels. The driver reads the rest.

#include <string_view>
#include <vector>

#include "runtime/format/reflection.h"

namespace tessera::format {

Outcome check_ptx(std::string_view text, const std::vector<KernelMeta>& kernels);
Outcome check_cubin(std::string_view image, const std::vector<KernelMeta>& kernels);

}  // namespace tessera::format
