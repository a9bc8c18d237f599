#pragma once
// The interface through which tools observe a run of the compiler.

#include <span>
#include <string>

#include "frontend/values/observer.h"
#include "passes/pass_manager.h"

namespace tessera::driver {

class CompileObserver {
 public:
  virtual ~CompileObserver() = default;
  /// Observes the evaluation of the source; null: nobody does. It outlives the compiler.
  virtual frontend::EvaluationObserver* evaluation() { return nullptr; }
  /// A module before its first pass. `machine` is null for the graph of the whole file, of which each entry is then
  /// taken for each target. Modules live as long as the compiler.
  virtual void starts(Module& module, const Machine* machine) = 0;
  /// A pass has run on a module that has started.
  virtual void ran(Module& module, const PassStep& step, double milliseconds) = 0;
  /// The code of all kernels for one machine: PTX, or assembly with `.loc`.
  virtual void emitted(const Machine& machine, std::span<Module* const> modules, const std::string& text) = 0;
};

}  // namespace tessera::driver
