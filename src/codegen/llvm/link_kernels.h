#pragma once
// From LLVM's objects to the image that a bundle holds. What a linker is asked for here is little: objects that
// refer to nothing but their own code and constants, relative to where they are. So it is done in memory.

#include <span>
#include <string>

namespace tessera::codegen {

/// Puts relocatable x86-64 objects, in this order, into one image (runtime/format/kernel_image.h). Equal constants are
/// there once. Deterministic. Code that needs anything from outside, or to be changed when it is loaded, is a bug.
std::string link_kernels(std::span<const std::string> objects);

}  // namespace tessera::codegen
