#pragma once
// The linker, in process.

#include <string>
#include <string_view>

namespace tessera::codegen {

/// Links one relocatable x86-64 object into a shared object that imports nothing. Deterministic.
std::string link_shared_object(std::string_view object);

}  // namespace tessera::codegen
