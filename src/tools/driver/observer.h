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
  /// While graph_to_schedule runs: these launches compute these ops of the graph.
  virtual void launched(std::span<Op* const> /*ops*/, std::span<Op* const> /*launches*/) {}
  /// While tiles of a GPU are lowered: an access of shared memory. What it refers to lives during the call.
  virtual void accessed(const SharedAccess& /*access*/) {}
  /// A pass has run on a module that has started.
  virtual void ran(Module& module, const PassStep& step, double milliseconds) = 0;
  /// The code of all kernels for one machine: PTX, or assembly with `.loc`.
  virtual void emitted(const Machine& machine, std::span<Module* const> modules, const std::string& text) = 0;
};

}  // namespace tessera::driver
