#pragma once
// Loading the ELF object of a CPU target.

#include <memory>
#include <string_view>

#include "runtime/core/device.h"

namespace tessera::runtime {

/// Checks the object (check_elf) and loads it through an anonymous file.
Status load_elf(std::string_view image, std::unique_ptr<Code>& code);

/// An object that may be loaded is a little-endian x86-64 shared object that needs no library,
/// imports no symbol, and has no initialisers and no thread-local data.
Status check_elf(std::string_view image);

}  // namespace tessera::runtime
