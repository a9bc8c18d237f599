#pragma once
// The linker, in process.

#include <span>
#include <string>

namespace tessera::codegen {

/// Links relocatable x86-64 objects, in this order, into a shared object that imports nothing. Deterministic. The
/// linker reads and writes files, in a folder of its own among the system's temporary ones; where that
/// cannot be used the result is empty and `problem` says why.
std::string link_shared_object(std::span<const std::string> objects, std::string& problem);

}  // namespace tessera::codegen
