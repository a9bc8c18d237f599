#pragma once
// Builds kernels to find their errors, and for an observer; the kernels are not kept.

#include <set>
#include <string>

#include "frontend/lower/kernel/kernel_library.h"
#include "ir/core/module.h"

namespace tessera::frontend {

/// Builds kernels for a machine, each once for the types it is called with. Errors are reported.
class KernelCheck {
 public:
  /// Without a machine nothing is built.
  KernelCheck(Session& session, SourceKernels& kernels, std::string machine)
      : session_(session), kernels_(kernels), machine_(std::move(machine)) {}

  /// The kernel of a declaration, if it is one that can be compiled on its own.
  void build_own(const SourceModule& file, const ast::Stmt& declaration);
  /// Those that a function of the graph and all functions behind it call.
  void build_called(Op* first);

 private:
  Session& session_;
  SourceKernels& kernels_;
  std::string machine_;
  std::set<std::string> built_;
};

}  // namespace tessera::frontend
