#pragma once
// One run of the compiler: a source file or a dump in, a bundle or dumps out.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/validate_shapes.h"
#include "frontend/evaluate/budget.h"
#include "ir/numbers/machine.h"
#include "passes/pass_manager.h"
#include "support/cache.h"
#include "support/diagnostic.h"
#include "support/file.h"
#include "support/result.h"
#include "tools/driver/observer.h"
#include "tools/driver/progress.h"

namespace tessera::codegen {
struct Cubin;
}

namespace tessera::driver {

/// Texts that --dump prints, in the order of the pipeline.
enum class Stage : uint8_t { Graph, Schedule, Pipeline, Tile, Target, Llvm, Ptx, Asm, Cubin };

struct CompileOptions {
  std::string input;
  std::string stdin_name = "<stdin>";
  std::string output;
  std::vector<std::string> targets;  ///< as spelt; empty for the default list
  std::vector<std::string> stages;   ///< as spelt; empty for a bundle
  std::vector<std::string> include_paths;
  std::vector<std::string> include_roots;  ///< FrontendOptions::include_roots
  frontend::EvaluationLimits limits;
  std::vector<std::string> remapped;  ///< "FILE=TEXT" (remapped_files.h)
  std::vector<std::pair<std::string, std::string>> defines;
  std::vector<std::string> print_before;
  std::vector<std::string> print_after;
  std::vector<std::string> disabled_passes;  ///< by name; only such as nothing relies on
  std::vector<std::string> fast;  ///< rules that are given up, as spelt
  std::optional<api::ShapePolicy> shape_policy;  ///< which sizes and guards entries may have; all where there is none
  bool locations = true;  ///< in printed IR
  bool verify_each = false;
  bool cubin = false;      ///< assemble PTX, and put both into the bundle
  bool debug = false;      ///< accesses to memory are checked before they happen
  bool cache = true;       ///< keep machine code between runs (support/cache.h)
  bool keep_bundle = false;  ///< for bundle(), and do not write it
  bool line_info = false;  ///< a cubin, and a dump of assembly, names the lines of the source
  Progress* progress = nullptr;  ///< told of each stage and pass; outlives the compile
  PendingFiles* files = nullptr;  ///< takes what is written, for its owner to put in place; null: it is at once
  CompileObserver* observer = nullptr;  ///< of the compile of a bundle; outlives it
};

struct StageTime {
  std::string stage;
  double milliseconds;
};

/// The stages of a spelling such as "tirh" or "tile"; empty when there is none.
std::vector<Stage> parse_stage(std::string_view text);
/// All spellings of stages.
std::vector<std::string> stage_spellings();

/// The name of the bundle of an input, in the current folder.
std::string default_output(const std::string& input);

struct TargetOutput;

class Compiler {
 public:
  Compiler(const CompileOptions& options, DiagnosticEngine& diagnostics);
  ~Compiler();

  /// Reads, compiles and writes; failures are reported and leave no output.
  Status run();
  /// The bundle's bytes, with `keep_bundle`.
  const std::string& bundle() const { return bundle_; }
  /// The file that was read; 0 before `run` and where there is none.
  FileId input() const { return input_; }
  /// How long each stage took, in the order they first ran.
  const std::vector<StageTime>& times() const { return times_; }

 private:
  struct State;
  const Cache* cache() const;
  Status choose_targets();
  Status choose_targets_of_dump();
  Status choose_stages();
  std::vector<PassStep> passes_run(bool is_dump) const;
  Status check_printed(bool is_dump);
  Status check_disabled_passes();
  Status check_fast();
  bool gives_up(std::string_view rule) const;
  Status check_stages();
  /// Whether anything is made below the graph.
  bool is_lowered() const;
  Status read_input();
  Status compile_source(FileId file);
  Status read_dump(FileId file);
  void warn_of_unread(const Module& module, FileId file);
  Status check_source_options();
  Status check_shapes();
  void leave_out_needless_targets();
  void count_parts();
  Status lower_all();
  std::unique_ptr<Module> module_of(Op* entry, const Machine& machine);
  Status lower_entry(Op* entry, const Machine& machine);
  Status lower_exported_kernels(const Machine& machine);
  Status lower_called_kernels();
  Status finish(std::unique_ptr<Module> module, std::span<const PassId> passes, const Machine& machine);
  Status run_passes(Module& module, std::span<const PassId> passes, const Machine* machine,
                    const std::string& entry);
  void dump(Stage stage, const std::string& what, const std::string& text);
  void dump(Stage stage, const std::string& what, Module& module);
  bool wants(Stage stage) const;
  bool is_continued(const Module& module) const;
  std::string output_path() const;
  Status check_has_entries();
  void warn_of_large_kernels(const TargetOutput& target);
  Status generate_code();
  void check_loads(const std::string& bundle);
  Status generate_ptx();
  Status emit(const std::vector<Module*>& modules, const Machine& machine, std::string& ptx);
  Result<codegen::Cubin> assembled(const std::vector<Module*>& modules, const Machine& machine, std::string& ptx);
  Status assemble(TargetOutput& target);
  Result<bool> make_tiles_smaller(TargetOutput& target, size_t index);
  bool lower_anew(TargetOutput& target, size_t index, Attr halvings);
  void warn_without_entries();
  void warn_of_unused_fast(bool has_unordered_sums);
  Status write_dump();
  void show_code();
  Status write_bundle();
  Status write(const std::string& path, std::string_view text);
  template <typename F>
  auto timed(const std::string& stage, F&& work);

  const CompileOptions& options_;
  DiagnosticEngine& diagnostics_;
  DiagnosticEngine* trial_ = nullptr;  ///< hears of passes what is no fault of the program
  std::unique_ptr<State> state_;
  std::vector<StageTime> times_;
  std::string bundle_;
  std::string pipelines_;  ///< of the loops of the module that is being lowered, where they are shown
  FileId input_ = 0;
};

}  // namespace tessera::driver
