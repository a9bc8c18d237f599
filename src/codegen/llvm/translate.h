#pragma once
// Target IR to LLVM IR, one instruction or intrinsic for each op.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/core/module.h"
#include "ir/numbers/machine.h"
#include "ir/target/distinct_kernels.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace tessera::codegen {

/// Whether LLVM gets the source place of each op, which changes no code.
enum class Places : uint8_t { Dropped, Kept };

/// One LLVM function for each kernel, and an alias of it for each twin. bf16, f16 and f8 values are integers of their
/// size in LLVM's eyes, so that none of its own rules for these types applies; bool is i1.
std::unique_ptr<llvm::Module> translate(std::span<const target::DistinctKernel> kernels, const Machine& machine,
                                        llvm::LLVMContext& context, Places places = Places::Dropped);

}  // namespace tessera::codegen
