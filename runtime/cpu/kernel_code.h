#pragma once
// Loading the code of a CPU target (runtime/format/kernel_image.h).

#include <memory>
#include <string_view>

#include "runtime/core/device.h"

namespace tessera::runtime {

/// Checks the image and maps it. No code runs; the bytes may go afterwards.
Status load_kernel_code(std::string_view bytes, std::unique_ptr<Code>& code);

}  // namespace tessera::runtime
