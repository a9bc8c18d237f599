#pragma once
// PTX for NVIDIA GPUs: kernels at target level become one module of PTX text per machine. Equal input gives equal
// bytes.
//
// One target op becomes one instruction for each word of its lanes, or none where lanes only change
// names. Two things are done here rather than left to the assembler: accumulators of the tensor
// cores stay in their registers (coalesce.h), and memory is accessed by the widest instructions
// that alignment and masks allow.

#include <map>
#include <span>
#include <string>

#include "ir/core/module.h"
#include "ir/numbers/machine.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera::codegen {

/// The PTX of all kernels of modules of level target that are legalised for `machine`. An entry is named as its kernel,
/// with '$' for '.'. Code that several kernels have is there once
/// (ir/target/distinct_kernels.h). Fails where an accumulator would be copied while an MMA may write it.
Result<std::string> emit_ptx(std::span<Module* const> modules, const Machine& machine, DiagnosticEngine& diagnostics);

/// Where a kernel comes from, for messages about its code.
struct KernelSource {
  Loc loc;
  std::string name;          ///< its name in the source
  bool last_resort = false;  ///< launches run it only where no variant may
  Loc call = {};             ///< what a launch of it computes
  bool own = true;           ///< the program's own kernel, and not one that the compiler made or took from its library
};
/// By name in PTX.
using KernelSources = std::map<std::string, KernelSource>;
KernelSources kernel_sources(std::span<Module* const> modules);

}  // namespace tessera::codegen
