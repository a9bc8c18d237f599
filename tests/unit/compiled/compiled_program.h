#pragma once
// A graph compiled for one machine, run in this process in two ways.
//
// `launch` walks the host program and starts each kernel on memory of its own: every buffer and the
// scratch memory end at a page that may not be touched, and what a kernel has to write holds a
// poison. `call` puts the same code into a bundle, which libtessera loads and runs: the plan, the
// placement of intermediate results and the grid's division among threads are those of a user.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frontend/frontend.h"
#include "ir/numbers/machine.h"
#include "ir/numbers/tensor.h"
#include "ir/text/verifier.h"
#include "passes/pass_manager.h"
#include "runtime/include/tessera.h"
#include "unit/codegen/kernel_runner.h"
#include "unit/ir/text_fixture.h"

namespace tessera::test {

class CompiledProgram {
 public:
  using Tensors = std::vector<TensorValue>;
  using DimValues = std::map<std::string, int64_t, std::less<>>;

  /// Compiles the entry f of a program or of a module of level graph; a failure leaves `messages`. `call` needs it
  /// loaded, which takes a host that the runtime finds fit for that machine.
  CompiledProgram(const std::string& graph, const Machine& machine, bool loaded = true);
  ~CompiledProgram();
  CompiledProgram(const CompiledProgram&) = delete;
  CompiledProgram& operator=(const CompiledProgram&) = delete;

  std::string messages() const;
  /// The entry as it was before machine code was made of it.
  std::string text() const;

  /// Of the calls that follow.
  void set_threads(uint32_t threads);

  Tensors launch(const Tensors& inputs, const DimValues& dims);
  /// `wanted` have the dtypes and extents of the results.
  Tensors call(const Tensors& inputs, const Tensors& wanted);

 private:
  bool compile();
  bool run_passes(Module& module, std::span<const PassId> passes, const Machine* machine);
  void load();

  TextFixture text_;
  const Machine* machine_;
  frontend::FrontendResult library_;
  std::unique_ptr<Module> graph_, module_;
  std::string image_;
  std::unique_ptr<LoadedObject> object_;
  tsr_context_t context_ = nullptr;
  tsr_function_t function_ = nullptr;
};

}  // namespace tessera::test
