#pragma once
// An entry that is compiled for a GPU, pass by pass. At Tile level the interpreter runs it between
// any two passes: it computes values, and finds races, missing waits and reads of memory that
// nobody wrote.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/frontend.h"
#include "ir/numbers/machine.h"
#include "ir/numbers/tensor.h"
#include "ir/tile/eval.h"
#include "passes/pipeline.h"
#include "unit/ir/text_fixture.h"

namespace tessera::test {

using Tensors = std::vector<TensorValue>;

/// What replaces the library's schedules, so that tiles are small and several roles and stages fit small extents.
/// 0 and empty: as the library says.
struct SmallSchedule {
  std::map<std::string, int64_t> block;
  int64_t warps = 0, stages = 0, group = 0;
  std::map<std::string, int64_t> roles;
  bool persistent = false;
  std::vector<int64_t> cluster = {};
};

/// An entry of level graph, and extents to run it at.
struct GpuCase {
  std::string name;
  std::string args;  ///< as in the text of a gir.func
  std::string body;
  size_t results = 1;
  SmallSchedule schedule;
  std::vector<DimValues> sizes{{}};
  double bound = 1e-5;  ///< of results against the graph's, relative to 1 + their largest element
  /// In place of a graph: a program whose entry f calls kernels of its own, with their schedules, or functions of the
  /// library, with `schedule` where it has blocks.
  std::string source = {};
};

class GpuProgram {
 public:
  GpuProgram(const GpuCase& source, std::string_view machine);
  /// The entry f of the text of a graph or of a program; without a schedule, as the library says.
  GpuProgram(const std::string& graph, std::string_view machine, const SmallSchedule* schedule = nullptr);

  /// Runs the passes of the machine's pipeline up to that one, which must be one of them.
  void advance_to(PassId pass);
  /// Runs the pass that is next.
  void step();
  /// The same; false where it refuses the kernel.
  bool try_step();
  /// The pass that is next; nothing at the end.
  const PassInfo* next() const { return next_ < passes_.size() ? &pass_table[size_t(passes_[next_])] : nullptr; }
  /// Leaves out the next pass.
  void skip() { ++next_; }
  void finish();

  /// Random arguments of the entry; integers are from -1 to `most`.
  Tensors arguments(const DimValues& dims, unsigned seed = 1, int64_t most = 8) const;
  /// What the graph computes.
  Tensors expected(const Tensors& arguments);
  /// What the kernels compute as they are now, at Tile level.
  Tensors values(const Tensors& arguments, const DimValues& dims, const tile::RunOptions& options = {});
  /// The same; nothing where the interpreter finds an error, which `messages` then gives.
  std::optional<Tensors> try_values(const Tensors& arguments, const DimValues& dims, tile::RunOptions options = {});

  /// Ops of that name in kernels that need nothing: variants of a launch are left out.
  size_t count(std::string_view op) const;
  bool is_tile() const { return module_->level() == Level::Tile; }
  /// Kernels of level tile or target, but for those that sizes choose where a result has few tiles.
  std::vector<Op*> kernels() const;
  Module& module() { return *module_; }
  const Machine& machine() const { return *machine_; }
  std::string text() const { return print(*module_, {.locations = false}); }
  std::string messages() const { return render_all(text_.diagnostics, {}); }
  DiagnosticEngine& diagnostics() { return text_.diagnostics; }
  /// The text, as it was given.
  const std::string& graph() const { return graph_text_; }

 private:
  mutable TextFixture text_;
  const Machine* machine_;
  std::string graph_text_;
  frontend::FrontendResult library_;
  std::unique_ptr<schedule::KernelLibrary> scheduled_;
  std::unique_ptr<Module> graph_, module_;
  std::span<const PassId> passes_;
  size_t next_ = 0;
};

/// True where all elements have the same bits, any NaN counting as any other.
bool same_bits(const Tensors& a, const Tensors& b);
/// The largest difference relative to 1 + the largest element wanted; infinite where one is NaN and the other is not.
double largest_difference(const Tensors& got, const Tensors& wanted);

/// The kernels of the library and generated ones, with small schedules.
const std::vector<GpuCase>& gpu_cases();
/// Programs with kernels of their own; those are among gpu_cases().
std::vector<GpuCase> kernel_cases();
/// Loops of dots; those are among gpu_cases(), too.
std::vector<GpuCase> loop_cases();
/// The cases whose names begin with one of these.
std::vector<const GpuCase*> cases_named(std::initializer_list<std::string_view> prefixes);
/// One GPU of each kind: cuda:sm_89 has the passes of cuda:sm_80; ptx_test assembles for it.
inline constexpr std::string_view gpu_machines[] = {"cuda:sm_80", "cuda:sm_90a"};

}  // namespace tessera::test
