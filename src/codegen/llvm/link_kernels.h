#pragma once
// Links LLVM's objects to the image that a bundle holds. The objects refer only to their own code
// and constants, relative to where they are, so no outside linker is needed.

#include <span>
#include <string>

namespace tessera::codegen {

/// Puts relocatable x86-64 objects, in this order, into one image (runtime/format/kernel_image.h). Equal constants are
/// there once. Deterministic. Code that needs anything from outside, or to be changed when it is loaded, is a bug.
std::string link_kernels(std::span<const std::string> objects);

}  // namespace tessera::codegen
