#include "check/subject.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "codegen/bundle/write_bundle.h"
#include "codegen/llvm/emit_llvm.h"
#include "codegen/ptx/emit_ptx.h"
#include "ir/core/common_attributes.h"
#include "ir/graph/eval.h"
#include "ir/text/entries.h"
#include "ir/text/verifier.h"
#include "passes/pipeline.h"
#include "tools/driver/called_kernels.h"
#include "unit/compiled/runtime_call.h"
#include "unit/passes/host_runner.h"

namespace tessera::check {

namespace {

using entry::Argument;

using test::require;

/// Runs kernels of level tile; results start with a poison, so that what nobody writes shows.
class TileRunner : public HostRunner {
 public:
  TileRunner(DimValues dims, DiagnosticEngine& diagnostics, const Machine* machine)
      : HostRunner(std::move(dims), diagnostics), diagnostics_(diagnostics) {
    options_.workers = 2;
    if (!machine || !machine->is_gpu()) return;
    options_.seed = 1;
    options_.async_proxy = machine->gpu.has_wgmma;
  }

 protected:
  void begin_result(TensorValue& result) override {
    if (result.count()) std::memset(result.data(), 0x5b, result.byte_count());
  }

  void run_kernel(Op* kernel, const std::vector<TensorValue*>& parameters, const DimValues& dims) override {
    if (tile::run_kernel(kernel, parameters, dims, diagnostics_, options_).failed()) {
      throw std::runtime_error(render_all(diagnostics_, {}));
    }
  }

 private:
  tile::RunOptions options_;
  DiagnosticEngine& diagnostics_;
};

Tensors copies_of(const Tensors& tensors) {
  Tensors copies;
  for (const TensorValue& tensor : tensors) copies.push_back(std::move(*tensor.clone()));
  return copies;
}

/// The passes of a pipeline that come before machine operations.
std::span<const PassId> until_target(std::span<const PassId> passes) {
  size_t count = 0;
  while (count < passes.size() && pass_table[size_t(passes[count])].leaves != Level::Target) ++count;
  return passes.first(count);
}

}  // namespace

bool same_bits(const TensorValue& a, const TensorValue& b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
  for (int64_t e = 0; e < a.count(); ++e) {
    Element x = a.get(e), y = b.get(e);
    bool same = x.i == y.i || (is_float(a.dtype()) && std::isnan(x.f) && std::isnan(y.f));
    if (!same) return false;
  }
  return true;
}

std::vector<const Machine*> runnable_cpus() {
  std::vector<const Machine*> machines;
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v3")) machines.push_back(find_machine("cpu:x86-64-v3"));
  if (!__builtin_cpu_supports("x86-64-v4")) return machines;
  machines.push_back(find_machine("cpu:x86-64-v4"));
  if (!__builtin_cpu_supports("avx512bf16")) return machines;
  machines.push_back(find_machine("cpu:x86-64-v4-bf16"));
  if (__builtin_cpu_supports("amx-bf16")) machines.push_back(find_machine("cpu:x86-64-v4-amx"));
  return machines;
}

Subject::Subject(const std::string& source) {
  FileId file = text_.sources.add("f.tsr", source);
  auto compiled = frontend::compile_source(text_.context, file, {}, text_.diagnostics);
  if (!compiled) return;
  compiled_ = std::move(*compiled);
  original_ = std::move(compiled_.graph);
  if (!verify(*original_, text_.diagnostics)) original_.reset();
}

Subject::~Subject() { unload(); }

void Subject::unload() {
  tsrDestroyContext(context_);
  context_ = nullptr;
  function_ = nullptr;
}

std::string Subject::messages() const {
  std::string all;
  for (size_t i = reported_; i < text_.diagnostics.all().size(); ++i) {
    all += render(text_.diagnostics.all()[i], text_.sources, {});
  }
  return all;
}

bool Subject::is_unsupported() const {
  bool any = false;
  for (size_t i = reported_; i < text_.diagnostics.all().size(); ++i) {
    const Diagnostic& diagnostic = text_.diagnostics.all()[i];
    if (diagnostic.severity != Severity::Error) continue;
    if (!diag_info(diagnostic.id).name.starts_with("unsupported")) return false;
    any = true;
  }
  return any;
}

bool Subject::has_seed() const {
  const std::vector<Attr>& arguments = entry()->attr(common::Entry::args);
  return std::any_of(arguments.begin(), arguments.end(), [](Attr argument) {
    return entry::read(argument, Argument::kind) == "input" && entry::read(argument, Argument::name) == "seed";
  });
}

std::optional<DimValues> Subject::bind(const Tensors& arguments) {
  Result<DimValues> dims = graph::bind_dims(entry(), arguments, {}, text_.diagnostics);
  if (!dims) return std::nullopt;
  return std::move(*dims);
}

std::optional<Tensors> Subject::interpret(const Tensors& arguments) {
  auto results = graph::evaluate(entry(), copies_of(arguments), calling_kernels(*original_), text_.diagnostics);
  if (!results) return std::nullopt;
  return std::move(*results);
}

graph::EvalOptions Subject::calling_kernels(Module& graph) {
  std::vector<std::unique_ptr<Module>> kernels = driver::kernel_calls_of(graph, text_.sources);
  size_t next = 0;
  for (Op* function : *graph.body()) {
    walk(function, [&](Op* op) {
      if (op->is(graph::info(graph::OpKind::KernelCall))) called_.try_emplace(op, std::move(kernels[next++]));
    });
  }
  graph::EvalOptions options;
  options.call_kernel = [this](Op* call, const std::vector<const TensorValue*>& operands,
                               const DimValues& dims) -> Result<Tensors> {
    Module& kernel = *called_.at(call);
    std::string name(kernel.name());
    const Machine* machine = find_machine("cpu:x86-64-v3");
    if (kernel.level() == Level::Graph) {
      kernel.set(common::Module::entry, name);
      kernel.set(common::Module::target, machine->name);
      if (!run_passes(kernel, interpreter_pipeline(), machine, name)) return failure;
    }
    Tensors arguments;
    for (const TensorValue* operand : operands) arguments.push_back(std::move(*operand->clone()));
    try {
      return TileRunner(dims, text_.diagnostics, nullptr).run(kernel.find(name), arguments);
    } catch (const std::runtime_error&) {
      return failure;  // which is among the diagnostics
    }
  };
  return options;
}

bool Subject::run_passes(Module& module, std::span<const PassId> passes, const Machine* machine,
                         std::string_view entry) {
  PassManager manager({});
  PassContext context{text_.diagnostics, machine, compiled_.library.get(), machine ? std::string(entry) : "", {}};
  return bool(manager.run(module, steps_of(passes), context)) && bool(verify(module, text_.diagnostics));
}

bool Subject::prepare(Way way, const Machine* machine) {
  unload();
  reported_ = text_.diagnostics.all().size();
  problem_.clear();
  way_ = way;
  machine_ = machine;
  if (!optimised_) {
    optimised_ = std::make_unique<Module>(text_.context, text_.sources, "f", Level::Graph);
    for (Op* op : *original_->body()) {
      std::map<Value*, Value*> values;
      optimised_->clone(op, values)->move_to_end(optimised_->body());
    }
    if (!run_passes(*optimised_, graph_pipeline(), nullptr)) return false;
  }
  if (way == Way::Graph) return true;
  module_ = std::make_unique<Module>(text_.context, text_.sources, "f", Level::Graph);
  std::map<Value*, Value*> values;
  module_->clone(optimised_->find("f"), values)->move_to_end(module_->body());
  module_->set(common::Module::entry, "f");
  module_->set(common::Module::target, machine->name);
  module_->set_node(common::Module::properties, optimised_->node(common::Module::properties));
  if (way == Way::Tiles) return run_passes(*module_, interpreter_pipeline(), machine);
  std::span<const PassId> passes = pipeline_for(*machine);
  if (way == Way::MachineTiles) return run_passes(*module_, until_target(passes), machine);
  return run_passes(*module_, passes, machine) && load(*machine);
}

Result<std::string> Subject::bundle(const Machine& machine) {
  Module* modules[] = {module_.get()};
  codegen::KernelObject object = codegen::compile_kernels(modules, machine);
  codegen::BundleInput input{optimised_.get(), {{&machine, {module_.get()}, object.image}}, "check", {}};
  return codegen::write_bundle(input, text_.diagnostics);
}

bool Subject::load(const Machine& machine) {
  Result<std::string> bytes = bundle(machine);
  if (!bytes) return false;
  try {
    require(tsrCreateContext(&context_));
    require(tsrLoadModule(context_, bytes->data(), bytes->size(), &loaded_));
    require(tsrGetFunction(loaded_, "f", &function_));
  } catch (const std::runtime_error& error) {
    problem_ = error.what();
    return false;
  }
  return true;
}

bool Subject::finish() {
  std::span<const PassId> passes = pipeline_for(*machine_);
  if (!run_passes(*module_, passes.subspan(until_target(passes).size()), machine_)) return false;
  Module* modules[] = {module_.get()};
  return machine_->is_gpu() ? bool(codegen::emit_ptx(modules, *machine_, text_.diagnostics)) : bool(bundle(*machine_));
}

std::string Subject::prepared_text() const {
  return print(way_ == Way::Graph ? *optimised_ : *module_, {.locations = false});
}

std::optional<Tensors> Subject::compute(const Tensors& arguments, const Tensors& shapes, const DimValues& dims,
                                        unsigned threads) {
  try {
    if (way_ == Way::Code) {
      require(tsrSetThreads(context_, threads));
      return test::call_function(function_, arguments, shapes, loaded_);
    }
    if (way_ == Way::Graph) {
      auto results = graph::evaluate(optimised_->find("f"), copies_of(arguments), calling_kernels(*optimised_),
                                     text_.diagnostics);
      if (results) return std::move(*results);
      problem_ = messages();
      return std::nullopt;
    }
    TileRunner runner(dims, text_.diagnostics, way_ == Way::MachineTiles ? machine_ : nullptr);
    return runner.run(module_->find("f"), arguments);
  } catch (const std::runtime_error& error) {
    problem_ = error.what();
    return std::nullopt;
  }
}

}  // namespace tessera::check
