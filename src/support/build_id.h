#pragma once
// Which build this program is.

#include <string>

namespace tessera {

/// The build ID that the linker gave the running program: a hash of its contents in hex digits, or nothing.
std::string build_id();

}  // namespace tessera
