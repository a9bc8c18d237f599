#pragma once
// Runs what nothing in a file calls, to find its errors and for an observer; nothing is kept of it.

#include <functional>
#include <string>

#include "frontend/lower/graph/graph_builder.h"

namespace tessera::frontend {

class UncalledCheck {
 public:
  /// Whether a function of the file was run: as an entry, or where something calls it.
  using WasRun = std::function<bool(const ast::Def&)>;
  /// Kernels are looked at for the machine; without one they have no schedule.
  UncalledCheck(Session& session, SourceKernels& kernels, std::string machine)
      : session_(session), kernels_(kernels), machine_(std::move(machine)) {}

  /// Whether nothing runs a function, or one that is defined in it.
  static bool lacks_run(const ast::Def& def, const WasRun& was_run);
  /// The function, the kernel or the methods of a declaration, if nothing runs them or a function in them. No error is
  /// reported that a call with other arguments might not have; `reporting` may be stricter.
  void check(const SourceModule& file, const ast::Stmt& declaration, const WasRun& was_run,
             Reporting reporting = Reporting::OfAnyCall);

 private:
  /// Of one that is called something that it defines is not.
  void check_function(const Function& function, bool is_called);
  void check_module(const SourceModule& file, const ast::Module& module, const WasRun& was_run);
  void check_unmade(const SourceModule& file, const ast::Module& module, GraphBuilder& builder, const WasRun& was_run);

  Session& session_;
  SourceKernels& kernels_;
  std::string machine_;
};

}  // namespace tessera::frontend
