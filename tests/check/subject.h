#pragma once
// A source whose entry `f` can be computed in every way there is: by the interpreters of its levels, and by the machine
// code of each CPU that this processor can be, through libtessera.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/frontend.h"
#include "ir/graph/eval.h"
#include "ir/numbers/machine.h"
#include "ir/numbers/tensor.h"
#include "passes/pass_manager.h"
#include "runtime/include/tessera.h"
#include "unit/ir/text_fixture.h"

namespace tessera::check {

using Tensors = std::vector<TensorValue>;

/// How a subject may be computed.
enum class Way : uint8_t {
  Graph,       ///< the interpreter of graphs, after the passes of graphs
  Tiles,       ///< the interpreter of tiles, on whole tiles
  MachineTiles,  ///< the same at the end of Tile level, for a machine
  Code,        ///< machine code, through libtessera
};

class Subject {
 public:
  /// Compiles the text as far as its graph.
  explicit Subject(const std::string& source);
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  /// The entry as the front end made it; null when the source was refused.
  Op* entry() const { return original_ ? original_->find("f") : nullptr; }
  /// Whether the entry has an argument for the seed of random numbers, behind the others and before params.
  bool has_seed() const;
  /// What was reported since the last `prepare`.
  std::string messages() const;
  /// What was refused since the last `prepare` lies beyond what the compiler says it can do.
  bool is_unsupported() const;

  /// Dims by the extents of arguments.
  std::optional<DimValues> bind(const Tensors& arguments);
  /// What the entry gives on the original graph; nullopt with `messages`.
  std::optional<Tensors> interpret(const Tensors& arguments);

  /// Compiles for a way; false with `messages`. `machine` is for those that need one.
  bool prepare(Way way, const Machine* machine);
  /// Computes in the way that was prepared last; nullopt with `problem`. `threads` is for code.
  std::optional<Tensors> compute(const Tensors& arguments, const Tensors& shapes, const DimValues& dims,
                                 unsigned threads = 1);
  /// Takes a machine's tiles the rest of the way, to PTX or a bundle; false with `messages`.
  bool finish();
  const std::string& problem() const { return problem_; }
  /// The IR that the last way runs.
  std::string prepared_text() const;

 private:
  bool run_passes(Module& module, std::span<const PassId> passes, const Machine* machine, std::string_view entry = "f");
  /// Those of the interpreter of a graph, which calls the kernels that the graph calls.
  graph::EvalOptions calling_kernels(Module& graph);
  Result<std::string> bundle(const Machine& machine);
  bool load(const Machine& machine);
  void unload();

  TextFixture text_;
  frontend::FrontendResult compiled_;
  std::unique_ptr<Module> original_, optimised_, module_;
  std::map<Op*, std::unique_ptr<Module>> called_;  ///< kernels of level tile, by their calls
  Way way_ = Way::Graph;
  const Machine* machine_ = nullptr;
  std::string problem_;
  size_t reported_ = 0;  ///< diagnostics before the last `prepare`
  tsr_context_t context_ = nullptr;
  tsr_module_t loaded_ = nullptr;
  tsr_function_t function_ = nullptr;
};

/// True where all elements have the same bits, any NaN counting as any other.
bool same_bits(const TensorValue& a, const TensorValue& b);

/// CPUs that the runtime finds this processor to be.
std::vector<const Machine*> runnable_cpus();

}  // namespace tessera::check
