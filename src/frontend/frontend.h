#pragma once
// The front end: source text to Graph IR, and the kernels of the source as the lowering asks for
// them.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/evaluate/budget.h"
#include "ir/core/module.h"
#include "ir/schedule/kernel_library.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera::frontend {

class EvaluationObserver;

struct FrontendOptions {
  /// Folders searched for imports and %include after the file's own.
  std::vector<std::string> include_paths;
  /// Folders, and those below, that imports and %include read files of, whose names end in '.tsr'. Empty: of all.
  std::vector<std::string> include_roots;
  /// -D names with their values; the value of a bare `-D X` is "1".
  std::vector<std::pair<std::string, std::string>> defines;
  /// How imports and %include read the file `path` into `text`; false with the reason in `error`.
  /// Empty means from disk.
  std::function<bool(const std::string& path, std::string& text, std::string& error)> read;
  /// A call ends where the result of a function breaks the bounds that its `@verify.numerics` gives.
  bool check_promises = false;
  /// Kernels print what their source says (--debug); else `print` is left out.
  bool kernels_print = false;
  /// Whether sums may be made in no order (--fast=nondet).
  bool nondet = false;
  /// Names of the machines that are compiled for, as far as they are known: hints that ask for another get a warning.
  std::vector<std::string> targets;
  /// Hears what the evaluation learns (observer.h); null: nobody does. It outlives the compilation
  /// and its results.
  EvaluationObserver* observer = nullptr;
  /// A machine's name: the kernels of the file and those that the graph calls are built for it and
  /// dropped, so that their errors are found and the observer sees them. Empty: kernels are built
  /// when the lowering asks for them.
  std::string kernels_for;
  /// Asked again and again, and from the first yes on in vain: nobody waits for the result any more, which then is a
  /// failure. Empty: never.
  std::function<bool()> is_cancelled;
  EvaluationLimits limits;
};

/// The kernels of one compilation: those of the user's files and of the standard library. It holds
/// the sources' trees and outlives the graph that calls them. The context, the diagnostics and the
/// source manager it was made with must outlive it.
class SourceLibrary : public schedule::KernelLibrary {
 public:
  ~SourceLibrary() override;

  Result<schedule::KernelInstance> instantiate(Module& module,
                                               const schedule::KernelRequest& request) override;
  bool has_parts(std::string_view kernel) override;
  /// Builds a kernel of the user's file that can be compiled on its own (no dtype is open and every
  /// other argument has a default) into `module`, under its own name.
  Result<schedule::KernelInstance> instantiate_exported(Module& module, std::string_view name,
                                                        std::string_view machine);

  /// Warns of names without use and of statements that never run. It is called when all kernels were built without
  /// errors, as what is wrong may be what has no use; with `kernels_for` compile_source does so.
  void check_names();
  /// Whether a kernel that was built so far adds to memory in nondeterministic order.
  bool has_unordered_sums() const;

 private:
  friend class Compilation;
  struct State;
  explicit SourceLibrary(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct FrontendResult {
  std::unique_ptr<Module> graph;           ///< null from library_only
  std::unique_ptr<SourceLibrary> library;  ///< never null
  std::vector<std::string> exported_kernels;
};

/// Compiles the file, whose text is in the diagnostics' source manager: one gir.func for each @jit
/// function and one for each initialiser of a param. Errors are reported in the order of their
/// places; all of them that do not follow from others are.
Result<FrontendResult> compile_source(Context& context, FileId file, const FrontendOptions& options,
                                      DiagnosticEngine& diagnostics);

/// The standard library's kernels alone, to continue from a dump.
FrontendResult library_only(Context& context, DiagnosticEngine& diagnostics);

}  // namespace tessera::frontend
