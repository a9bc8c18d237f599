#pragma once
// Target IR to LLVM IR, one instruction or intrinsic for each op.

#include <memory>
#include <span>

#include "ir/core/machine.h"
#include "ir/core/module.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace tessera::codegen {

/// One LLVM function for each target.func of `modules`; a kernel that is the same as an earlier one but for its name
/// becomes an alias of it. bf16, f16 and f8 values are integers of their size in
/// LLVM's eyes, so that none of its own rules for these types applies; bool is i1.
std::unique_ptr<llvm::Module> translate(std::span<Module* const> modules, const Machine& machine,
                                        llvm::LLVMContext& context);

}  // namespace tessera::codegen
