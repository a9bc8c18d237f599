#pragma once
// The kind of a file that was given where text was expected.

#include <string_view>

namespace tessera {

/// "an ELF object", "a PNG image", "LLVM IR", … by the first bytes; empty for what may be source or
/// IR of ours.
std::string_view foreign_kind(std::string_view bytes);

/// What a name says that a file has: "a source" for .tsr, "an array" for .npy, "tensors" for .safetensors; empty for
/// others.
std::string_view kind_of_name(std::string_view path);

}  // namespace tessera
