#pragma once
// Machine code for GPUs: NVIDIA's assembler, run on our PTX, some kernels at a time (assembler.h).
//
// Some of its performance warnings are errors here: registers that are not reallocated, wgmma that run one by one, and
// spills. Each of these costs more than all else that the compiler gains.

#include <functional>
#include <string>
#include <vector>

#include "codegen/ptx/emit_ptx.h"
#include "ir/numbers/machine.h"
#include "support/cache.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera::codegen {

/// What ptxas says of one kernel.
struct KernelResources {
  std::string name;  ///< as in PTX
  int64_t registers = 0;
  int64_t barriers = 0;
  int64_t stack_bytes = 0;
  int64_t spill_bytes = 0;  ///< stores and loads together
  std::vector<std::string> losses;  ///< its warnings about this kernel
};

/// Reads the messages of `ptxas -v`.
std::vector<KernelResources> read_ptxas_messages(const std::string& messages);
/// What is said of a kernel holds for those that have its code, too (ir/target/distinct_kernels.h).
void add_twins(std::vector<KernelResources>& kernels, std::span<Module* const> modules);
/// Reports losses, spills and stacks of code for `machine`; fails if there were any. Kernels whose schedule is the
/// compiler's may spill, and so may those that only run where none of their variants may.
Status check_resources(const std::vector<KernelResources>& kernels, const KernelSources& sources,
                       const Machine& machine, DiagnosticEngine& diagnostics);

/// Bytes of stack and spills of a thread that cost less than smaller tiles do.
inline constexpr int64_t few_spill_bytes = 256;
/// The calls with kernels of the compiler's own making that spill more than a few bytes where sizes suit them.
std::vector<Loc> calls_to_halve(const std::vector<KernelResources>& kernels, const KernelSources& sources);

struct Cubin {
  std::string bytes;      ///< objects of some kernels each (runtime/format/cuda_image.h)
  std::string assembler;  ///< name and version: "ptxas 13.0.88"
  std::vector<KernelResources> kernels;
};

/// Its ELF sections and what each kernel uses.
std::string describe_cubin(const Cubin& cubin);

struct AssembleOptions {
  /// The cubin says which line of the source each instruction comes from, and has the PTX itself.
  bool line_info = false;
  const Cache* cache = nullptr;  ///< of machine code
  /// Called when some kernels are done, with how many groups of them there are; by several threads at a time.
  std::function<void(size_t groups)> on_group{};
};

/// Assembles PTX for `machine`, groups of kernels side by side. Which kernels are a group depends on the kernels alone.
/// Fails where ptxas is not there or refuses the text. A kernel
/// that spills because several of its blocks were to share a multiprocessor is changed in `ptx` not to ask for that.
Result<Cubin> assemble_unchecked(std::string& ptx, const Machine& machine, DiagnosticEngine& diagnostics,
                                 const AssembleOptions& options = {});
/// The same, with what check_resources says of it.
Result<Cubin> assemble_ptx(std::string& ptx, const Machine& machine, const KernelSources& sources,
                           DiagnosticEngine& diagnostics, const AssembleOptions& options = {});

}  // namespace tessera::codegen
