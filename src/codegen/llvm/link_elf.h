#pragma once
// The linker, in process.

#include <string>
#include <string_view>

namespace tessera::codegen {

/// Links one relocatable x86-64 object into a shared object that imports nothing. Deterministic. The
/// linker reads and writes files, in a folder of its own among the system's temporary ones; where that
/// cannot be used the result is empty and `problem` says why.
std::string link_shared_object(std::string_view object, std::string& problem);

}  // namespace tessera::codegen
