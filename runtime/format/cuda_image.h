#pragma once
// The machine code of a CUDA target, as far as it is looked at here: that it is there, is what its
// name says, and has the kernels. The driver reads the rest.
//
// A cubin of a bundle is ELF objects for the machine "CUDA", one after another, each at a multiple of 8 bytes, with
// some of the kernels. Each has one symbol table.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/format/reflection.h"

namespace tessera::format {

/// An object of a cubin.
struct CubinPart {
  std::string_view object;
  std::vector<std::string_view> functions;  ///< their symbols
};

Result<std::vector<CubinPart>> cubin_parts(std::string_view file);
void append_cubin_object(std::string& file, std::string_view object);
/// The name of a kernel in PTX and machine code: PTX has no dots in names, and has '$' for them.
std::string cuda_symbol(std::string_view kernel);

Outcome check_ptx(std::string_view text, const std::vector<KernelMeta>& kernels);
Outcome check_cubin(std::string_view file, const std::vector<KernelMeta>& kernels);

}  // namespace tessera::format
