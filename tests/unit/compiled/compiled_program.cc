#include "ir/core/common_attributes.h"
#include "unit/compiled/compiled_program.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "codegen/bundle/write_bundle.h"
#include "passes/analysis/kernels.h"
#include "passes/pipeline.h"
#include "unit/compiled/guarded_memory.h"
#include "unit/compiled/runtime_call.h"
#include "unit/frontend/load_program.h"
#include "unit/passes/host_runner.h"

namespace tessera::test {

namespace {

/// Runs the kernels of a module of level target.
class KernelLauncher : public HostRunner {
 public:
  KernelLauncher(DimValues dims, DiagnosticEngine& diagnostics, const LoadedObject& object)
      : HostRunner(std::move(dims), diagnostics), object_(object) {}

 protected:
  /// What nobody writes shows.
  void begin_result(TensorValue& result) override {
    if (result.count()) std::memset(result.data(), 0x5b, result.byte_count());
  }
  void run_kernel(Op* kernel, const std::vector<TensorValue*>& parameters,
                  const DimValues& dims) override {
    auto value_of = [&](Dim dim) {
      return *evaluate(
          dim, [&](std::string_view name) { return std::optional(dims.find(name)->second); });
    };
    size_t inputs = parameters.size() - size_t(kernel->attr(common::Kernel::outputs));
    std::vector<std::unique_ptr<GuardedMemory>> memory;
    std::vector<void*> buffers;
    for (size_t i = 0; i < parameters.size(); ++i) {
      memory.push_back(std::make_unique<GuardedMemory>(parameters[i]->byte_count()));
      buffers.push_back(memory.back()->data());
      if (parameters[i]->count()) {
        std::memcpy(buffers.back(), parameters[i]->data(), parameters[i]->byte_count());
      }
    }
    std::vector<int64_t> free_dims;
    for (std::string_view name : kernel->attr(target::attr::Func::dims)) {
      free_dims.push_back(dims.find(name)->second);
    }
    int64_t programs = 1;
    for (Dim extent : kernel->attr(target::attr::Func::grid)) programs *= value_of(extent);
    GuardedMemory scratch(size_t(value_of(kernel->attr(target::attr::Func::scratch))));
    std::string name(symbol_name(kernel));
    INFO("kernel " << name);
    object_.find(name)(buffers.data(), free_dims.data(), 0, programs, scratch.data());
    CHECK(scratch.is_intact());
    for (size_t i = 0; i < parameters.size(); ++i) {
      CHECK(memory[i]->is_intact());
      if (!parameters[i]->count()) continue;
      if (i >= inputs) {
        std::memcpy(parameters[i]->data(), buffers[i], parameters[i]->byte_count());
      } else {
        CHECK(!std::memcmp(parameters[i]->data(), buffers[i], parameters[i]->byte_count()));
      }
    }
  }

 private:
  const LoadedObject& object_;
};

}  // namespace

CompiledProgram::CompiledProgram(const std::string& graph, const Machine& machine, bool loaded)
    : machine_(&machine) {
  library_ = load_program(text_.context, text_.sources, graph, text_.diagnostics);
  if (!library_.graph) return;
  graph_ = std::move(library_.graph);
  if (compile() && loaded) load();
}

CompiledProgram::~CompiledProgram() {
  tsrDestroyContext(context_);
}

std::string CompiledProgram::messages() const {
  return render_all(text_.diagnostics, {});
}

std::string CompiledProgram::text() const {
  return print(*module_, {.locations = false});
}

bool CompiledProgram::run_passes(Module& module, std::span<const PassId> passes,
                                 const Machine* machine) {
  PassManager manager({});
  PassContext context{text_.diagnostics, machine, library_.library.get(), machine ? "f" : "", {}};
  return bool(manager.run(module, steps_of(passes), context)) &&
         bool(verify(module, text_.diagnostics));
}

bool CompiledProgram::compile() {
  if (!run_passes(*graph_, graph_pipeline(), nullptr)) return false;
  module_ = std::make_unique<Module>(text_.context, text_.sources, "f", Level::Graph);
  std::map<Value*, Value*> values;
  module_->clone(graph_->find("f"), values)->move_to_end(module_->body());
  module_->set(common::Module::entry, "f");
  module_->set(common::Module::target, machine_->name);
  module_->set_node(common::Module::properties, graph_->node(common::Module::properties));
  if (!run_passes(*module_, cpu_pipeline(), machine_)) return false;
  Module* modules[] = {module_.get()};
  image_ = codegen::compile_kernels(modules, *machine_).image;
  object_ = std::make_unique<LoadedObject>(image_);
  return true;
}

void CompiledProgram::load() {
  codegen::BundleInput input{graph_.get(), {{machine_, {module_.get()}, image_}}, "test", {}};
  Result<std::string> bytes = codegen::write_bundle(input, text_.diagnostics);
  if (!bytes) return;
  setenv("TSR_POISON", "1", 1);
  tsr_module_t module = nullptr;
  require(tsrCreateContext(&context_));
  require(tsrLoadModule(context_, bytes->data(), bytes->size(), &module));
  require(tsrGetFunction(module, "f", &function_));
}

void CompiledProgram::set_threads(uint32_t threads) { require(tsrSetThreads(context_, threads)); }

CompiledProgram::Tensors CompiledProgram::launch(const Tensors& inputs, const DimValues& dims) {
  KernelLauncher launcher(dims, text_.diagnostics, *object_);
  return launcher.run(module_->find("f"), inputs);
}

CompiledProgram::Tensors CompiledProgram::call(const Tensors& inputs, const Tensors& wanted) {
  return call_function(function_, inputs, wanted);
}

}  // namespace tessera::test
