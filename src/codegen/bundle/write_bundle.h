#pragma once
// The one artefact of a compile: plans, code, metadata, schedules and the graph, in one
// deterministic file.

#include <map>
#include <string>
#include <vector>

#include "ir/core/module.h"
#include "ir/numbers/machine.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera::codegen {

/// What the assembler reported of a kernel.
struct KernelRegisters {
  int64_t per_thread = 0;
  int64_t spill_bytes = 0;
};

/// The results of compiling for one target.
struct BundleTarget {
  const Machine* machine = nullptr;
  /// Modules of level target: a host.func and its kernels for each entry; others hold kernels
  /// alone.
  std::vector<Module*> modules;
  std::string object;  ///< all kernels of these modules: an ELF object, or PTX for a GPU
  std::string cubin{};  ///< of a GPU: the assembled PTX; may be empty
  std::map<std::string, KernelRegisters> registers{};  ///< by the kernel's name in PTX, where they are known
};

struct BundleInput {
  Module* graph = nullptr;  ///< null when the compile started below Graph level
  std::vector<BundleTarget> targets;
  std::string compiler;  ///< name and version: "tesserac 0.1.0"
  std::vector<std::string> debug{};  ///< checks that the code makes: "bounds"
  std::vector<std::string> fast{};   ///< rules that were given up: "nondet"
  /// Versions of other programs whose output is in the bundle.
  std::vector<std::string> tools;
  /// Modules of level tile: a host.func that makes a call of the graph, and the kernel called.
  std::vector<Module*> called;
};

/// The bundle's bytes; equal input gives equal bytes. Entries that have no plan are reported.
Result<std::string> write_bundle(const BundleInput& input, DiagnosticEngine& diagnostics);

}  // namespace tessera::codegen
