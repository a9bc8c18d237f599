#pragma once
// The kind of a file that was given where text was expected.

#include <string_view>

namespace tessera {

/// "an ELF object", "a PNG image", "LLVM IR", … by the first bytes; empty for what may be source or
/// IR of ours.
std::string_view foreign_kind(std::string_view bytes);

}  // namespace tessera
