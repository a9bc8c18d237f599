#include "tools/driver/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <set>

#include "api/frontend_compile.h"
#include "codegen/bundle/write_bundle.h"
#include "codegen/llvm/emit_llvm.h"
#include "codegen/ptx/emit_ptx.h"
#include "codegen/ptx/ptxas.h"
#include "ir/core/check_sizes.h"
#include "ir/core/common_attributes.h"
#include "ir/core/kernel_size.h"
#include "ir/graph/ops.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "passes/analysis/tile_halvings.h"
#include "passes/pipeline.h"
#include "passes/tile/pipeline/loop_pipeline.h"
#include "support/diagnostic_rows.h"
#include "support/parallel.h"
#include "support/reproducer.h"
#include "tools/driver/called_kernels.h"
#include "tools/driver/io.h"
#include "tools/driver/levels.h"
#include "tools/driver/remapped_files.h"
#include "tools/driver/shape_policy.h"
#include "tools/driver/version.h"
#include "tools/whole_bundle/whole_bundle.h"

namespace tessera::driver {

namespace {

constexpr std::pair<std::string_view, Stage> stage_names[] = {
    {"graph", Stage::Graph},   {"sched", Stage::Schedule}, {"pipeline", Stage::Pipeline},
    {"tile", Stage::Tile},     {"target", Stage::Target},  {"llvm", Stage::Llvm},
    {"ptx", Stage::Ptx},       {"asm", Stage::Asm},        {"cubin", Stage::Cubin},
};

Stage stage_of(Level level) {
  switch (level) {
    case Level::Graph: return Stage::Graph;
    case Level::Schedule: return Stage::Schedule;
    case Level::Tile: return Stage::Tile;
    case Level::Target: return Stage::Target;
    case Level::Host: break;
  }
  TSR_UNREACHABLE("no module is of level host");
}

std::string_view spelling_of(Stage stage) {
  auto found = std::ranges::find(stage_names, stage, &std::pair<std::string_view, Stage>::second);
  return found->first;
}

std::vector<Module*> pointers(const std::vector<std::unique_ptr<Module>>& modules) {
  std::vector<Module*> all;
  for (const auto& module : modules) all.push_back(module.get());
  return all;
}

bool is_for(const Module& module, const Machine& machine) {
  return module.attr(common::Module::target) == machine.name;
}

/// The header of a dump for a module.
std::string what_of(const Module& module, const Machine& machine) {
  return fmt::format("{} for {}", module.name(), machine.name);
}

/// Modules of level target as a dump that is compiled on from there.
std::string target_dump(const std::vector<Module*>& modules, const Machine& machine) {
  std::string text = fmt::format("// tesserac --target={}\n", machine.name);
  for (Module* module : modules) text += print(*module);
  return text;
}

std::map<std::string, codegen::KernelRegisters> registers_of(const codegen::Cubin& cubin) {
  std::map<std::string, codegen::KernelRegisters> registers;
  for (const codegen::KernelResources& kernel : cubin.kernels) {
    registers[kernel.name] = {kernel.registers, kernel.spill_bytes};
  }
  return registers;
}

/// Checks are put in last, before tiles become registers.
void check_before_machine(std::vector<PassStep>& steps) {
  auto lowers = std::ranges::find_if(steps, [](const PassStep& step) {
    return step.pass->reads == Level::Tile && step.pass->leaves == Level::Target;
  });
  if (lowers != steps.end()) steps.insert(lowers, {find_pass("check_accesses"), {}});
}

/// Whether an op may be a matmul of bf16. For a kernel's call this is not known.
bool may_multiply_bf16(const Op* op) {
  using graph::OpKind;
  if (!op->is(graph::info(OpKind::Gemm)) && !op->is(graph::info(OpKind::FlashAttention)) &&
      !op->is(graph::info(OpKind::KernelCall)))
    return false;
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    if (op->operand(i)->type()->dtype == DType::BF16) return true;
  }
  return false;
}

struct DumpText {
  std::string header;
  std::string text;
};

}  // namespace

/// The results for one target.
struct TargetOutput {
  const Machine* machine;
  std::vector<std::unique_ptr<Module>> modules;  ///< of level target, one per entry
  codegen::KernelObject object;                  ///< of a CPU
  std::string ptx;                               ///< of a GPU
  codegen::Cubin cubin;                          ///< where it is asked for
};

std::string default_output(const std::string& input) {
  return std::filesystem::path(input).stem().string() + ".bundle";
}

struct Compiler::State {
  Context context;
  std::vector<TargetOutput> targets;
  std::vector<Stage> stages;
  api::ModuleIr source;
  std::unique_ptr<Module> graph;
  std::vector<std::unique_ptr<Module>> called;     ///< a user's kernels, as the interpreter takes them
  std::vector<std::unique_ptr<Module>> continued;  ///< modules of a dump below graph level
  std::vector<std::unique_ptr<Module>> replaced;   ///< what observers may still look at
  std::map<Stage, std::vector<DumpText>> dumps;
  std::optional<Cache> cache;  ///< of machine code
};

Compiler::Compiler(const CompileOptions& options, DiagnosticEngine& diagnostics)
    : options_(options), diagnostics_(diagnostics), state_(std::make_unique<State>()) {
  register_all_levels(state_->context);
  if (std::string folder = default_cache_folder(); options.cache && !folder.empty()) state_->cache.emplace(folder);
}

Compiler::~Compiler() = default;

const Cache* Compiler::cache() const { return state_->cache ? &*state_->cache : nullptr; }

template <typename F>
auto Compiler::timed(const std::string& stage, F&& work) {
  if (options_.progress) options_.progress->step(stage);
  auto start = std::chrono::steady_clock::now();
  auto result = work();
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  auto it = std::find_if(times_.begin(), times_.end(), [&](const StageTime& t) { return t.stage == stage; });
  if (it == times_.end()) {
    times_.push_back({stage, elapsed.count()});
  } else {
    it->milliseconds += elapsed.count();
  }
  return result;
}

std::vector<Stage> parse_stage(std::string_view text) {
  if (text == "tirh") return {Stage::Graph, Stage::Schedule};
  if (text == "tirt") return {Stage::Tile, Stage::Target};
  for (const auto& [name, stage] : stage_names) {
    if (name == text) return {stage};
  }
  return {};
}

std::vector<std::string> stage_spellings() {
  std::vector<std::string> names;
  for (const auto& [name, stage] : stage_names) names.emplace_back(name);
  names.insert(names.end(), {"tirh", "tirt"});
  return names;
}

Status Compiler::run() {
  if (!check_pass_names(options_.print_before, diagnostics_)) return failure;
  if (!check_pass_names(options_.print_after, diagnostics_)) return failure;
  if (!choose_stages() || !choose_targets() || !check_disabled_passes() || !check_fast()) return failure;
  if (!read_input()) return failure;
  leave_out_needless_targets();
  if (!check_stages() || !lower_all()) return failure;
  if (state_->source.library && !diagnostics_.has_errors()) {
    state_->source.library->check_names();
    warn_of_unused_fast(state_->source.library->has_unordered_sums());
  }
  if (diagnostics_.has_errors()) return failure;  // a warning that is an error
  if (options_.progress) options_.progress->begin(0);
  return state_->stages.empty() ? write_bundle() : write_dump();
}

/// All that are run: of a dump, those behind its levels.
std::vector<PassStep> Compiler::passes_run(bool is_dump) const {
  std::vector<PassStep> run;
  auto add = [&](std::span<const PassId> passes) {
    for (PassStep& step : steps_of(passes)) run.push_back(std::move(step));
  };
  if (!is_dump) add(graph_pipeline());
  for (const TargetOutput& target : state_->targets) {
    std::span<const PassId> all = pipeline_for(*target.machine);
    for (const auto& module : state_->continued) add(rest_after(all, module->level(), properties_of(*module)));
    if (is_lowered() && state_->continued.empty()) add(all);
  }
  if (options_.debug) check_before_machine(run);
  return run;
}

Status Compiler::check_printed(bool is_dump) {
  std::vector<PassStep> run = passes_run(is_dump);
  if (!check_printed_passes(options_.print_before, run, diagnostics_)) return failure;
  return check_printed_passes(options_.print_after, run, diagnostics_);
}

Status Compiler::choose_stages() {
  for (const std::string& name : options_.stages) {
    std::vector<Stage> stages = parse_stage(name);
    if (stages.empty()) {
      diagnostics_.report(diag::unknown_stage, {}, name)
          .help("stages are graph, sched, pipeline, tile, target, llvm, ptx, asm, cubin, tirh and tirt");
      return failure;
    }
    state_->stages.insert(state_->stages.end(), stages.begin(), stages.end());
  }
  return success;
}

/// Is there a target for each stage that only some have, and for a cubin?
Status Compiler::check_stages() {
  auto serves = [&](bool gpu) {
    return std::any_of(state_->targets.begin(), state_->targets.end(),
                       [&](const TargetOutput& target) { return target.machine->is_gpu() == gpu; });
  };
  for (auto [name, stage] : stage_names) {
    if (!wants(stage)) continue;
    bool of_gpus = stage == Stage::Pipeline || stage == Stage::Ptx || stage == Stage::Cubin;
    bool of_cpus = stage == Stage::Llvm || stage == Stage::Asm;
    if ((!of_gpus && !of_cpus) || serves(of_gpus)) continue;
    diagnostics_.report(diag::stage_of_no_target, {}, name, of_gpus ? "a GPU" : "a CPU")
        .help(of_gpus ? "add a target such as --target=cuda:sm_90a"
                      : "code for GPUs has the stages pipeline, ptx and cubin");
    return failure;
  }
  if (!options_.cubin || serves(true)) return success;
  diagnostics_.report(diag::stage_of_no_target, {}, "cubin", "a GPU").help("add a target such as --target=cuda:sm_90a");
  return failure;
}

Status Compiler::choose_targets() {
  std::vector<const Machine*> machines;
  for (const std::string& name : options_.targets) {
    const Machine* machine = target_named(name, diagnostics_);
    if (!machine) return failure;
    machines.push_back(machine);
  }
  if (options_.targets.empty()) machines = default_machines();
  // The order of the table, each once, whatever the command line says.
  for (const Machine* machine : all_machines()) {
    if (std::count(machines.begin(), machines.end(), machine)) state_->targets.push_back({machine, {}, {}, {}, {}});
  }
  return success;
}

Status Compiler::read_input() {
  Result<FileId> file = read_source(options_.input, options_.stdin_name, diagnostics_);
  if (!file) return failure;
  input_ = *file;
  SourceManager& sources = diagnostics_.sources();
  std::string folder = std::filesystem::path(options_.input).parent_path();
  sources.set_root(folder);
  if (is_dump(sources.file(*file).text())) {
    return check_source_options() && read_dump(*file) ? check_printed(true) : failure;
  }
  if (!check_printed(false)) return failure;
  return timed("front end", [&] { return compile_source(*file); });
}

Status Compiler::compile_source(FileId file) {
  frontend::FrontendOptions options;
  options.include_paths = options_.include_paths;
  options.include_roots = options_.include_roots;
  options.limits = options_.limits;
  RemappedFiles remapped(options_.remapped);
  options.read = remapped.reader();
  options.defines = options_.defines;
  options.check_promises = options_.debug;
  options.kernels_print = options_.debug;
  options.nondet = gives_up("nondet");
  for (const TargetOutput& target : state_->targets) options.targets.push_back(target.machine->name);
  if (options_.observer) options.observer = options_.observer->evaluation();
  // Nothing else asks for the kernels then, and what is wrong in them is found all the same.
  if (!is_lowered() && !options.targets.empty()) options.kernels_for = options.targets.front();
  Result<api::ModuleIr> result = api::frontend_compile(state_->context, file, options, diagnostics_);
  if (!result) return failure;
  remapped.warn_of_unused(diagnostics_);
  state_->source = std::move(*result);
  state_->graph = std::move(state_->source.graph);
  if (!check_shapes()) return failure;
  if (options_.observer) options_.observer->starts(*state_->graph, nullptr);
  return run_passes(*state_->graph, graph_pipeline(), nullptr, {});
}

/// Modules of any level, which are compiled on.
Status Compiler::read_dump(FileId file) {
  auto modules = timed("read", [&] { return parse_modules(state_->context, file, diagnostics_); });
  if (!modules) return failure;
  for (auto& module : *modules) {
    if (module->level() == Level::Graph && !state_->graph) {
      state_->graph = std::move(module);
    } else if (module->level() != Level::Graph && !is_continued(*module)) {
      state_->continued.push_back(std::move(module));
    } else {
      warn_of_unread(*module, file);
    }
  }
  if (state_->graph && !state_->continued.empty()) warn_of_unread(*state_->graph, file);
  if (!check_shapes()) return failure;
  if (!state_->continued.empty() && !choose_targets_of_dump()) return failure;
  if (!state_->graph || !state_->continued.empty()) return success;
  state_->source = frontend::library_only(state_->context, diagnostics_);
  return success;
}

/// An edit of what is not read would have no effect.
void Compiler::warn_of_unread(const Module& module, FileId file) {
  const Module* read = state_->continued.empty() ? state_->graph.get() : state_->continued.front().get();
  for (const auto& known : state_->continued) {
    if (known->name() == module.name()) read = known.get();
  }
  diagnostics_.report(diag::dump_level_unread, {}, diagnostics_.sources().file(file).name(), module.name(),
                      spelling_of(stage_of(module.level())), spelling_of(stage_of(read->level())));
}

/// Only the graph has the sizes that calls determine and the guards.
Status Compiler::check_shapes() {
  if (!options_.shape_policy) return success;
  if (state_->graph) return report_findings(validate_shapes(*state_->graph, *options_.shape_policy), diagnostics_);
  diagnostics_.report(diag::command_line, {}, "--shape-policy is about a graph, and the dump has none");
  return failure;
}

/// The default targets that differ from others by their dots of bf16 are for programs that have
/// some.
void Compiler::leave_out_needless_targets() {
  if (!options_.targets.empty() || !state_->graph || !state_->continued.empty()) return;
  bool multiplies = false;
  for (Op* function : *state_->graph->body()) {
    walk(function, [&](Op* op) { multiplies |= may_multiply_bf16(op); });
  }
  if (multiplies) return;
  std::erase_if(state_->targets, [](const TargetOutput& target) { return target.machine->has_bf16_pairs; });
}

/// The bundle is for what the dump holds, of what was asked for.
Status Compiler::choose_targets_of_dump() {
  std::vector<TargetOutput> asked = std::move(state_->targets);
  state_->targets.clear();
  std::string held;
  for (const Machine* machine : all_machines()) {
    if (std::none_of(state_->continued.begin(), state_->continued.end(),
                     [&](const auto& module) { return is_for(*module, *machine); })) {
      continue;
    }
    held += (held.empty() ? "" : ", ") + machine->name;
    bool wanted = options_.targets.empty() ||
                  std::any_of(asked.begin(), asked.end(), [&](const auto& a) { return a.machine == machine; });
    if (wanted) state_->targets.push_back({machine, {}, {}, {}, {}});
  }
  if (!state_->targets.empty()) return success;
  if (held.empty()) held = "no target that is known";
  diagnostics_.report(diag::dump_of_other_target, {}, options_.input, held,
                      fmt::format("{}", fmt::join(options_.targets, ", ")))
      .help("without --target a dump is compiled further for the targets it holds");
  return failure;
}

/// A dump of several levels holds an entry several times; the first is continued from.
bool Compiler::is_continued(const Module& module) const {
  return std::any_of(state_->continued.begin(), state_->continued.end(), [&](const auto& known) {
    return known->name() == module.name() &&
           known->node(common::Module::target) == module.node(common::Module::target);
  });
}

bool Compiler::wants(Stage stage) const {
  return std::count(state_->stages.begin(), state_->stages.end(), stage) != 0;
}

void Compiler::dump(Stage stage, const std::string& what, const std::string& text) {
  if (!wants(stage)) return;
  std::string_view name = spelling_of(stage);
  DumpText made{fmt::format("// ---- {}: {}\n", name, what), text};
  std::vector<DumpText>& dumps = state_->dumps[stage];
  // Stages that were lowered anew replace the old ones.
  auto known = std::ranges::find(dumps, made.header, &DumpText::header);
  if (known == dumps.end()) return dumps.push_back(std::move(made));
  *known = std::move(made);
}

void Compiler::dump(Stage stage, const std::string& what, Module& module) {
  if (wants(stage)) dump(stage, what, print(module, {.locations = options_.locations}));
}

/// What is lowered is an entry for a target each time; kernels that nothing calls are few and fast.
void Compiler::count_parts() {
  size_t modules = state_->continued.size();
  if (modules == 0 && state_->graph) {
    for (Op* op : *state_->graph->body()) {
      if (op->is(graph::info(graph::OpKind::Func)) && op->attr(graph::attr::Func::role) == "entry") {
        modules += state_->targets.size();
      }
    }
  }
  options_.progress->begin(modules);
}

bool Compiler::is_lowered() const {
  return state_->stages.empty() || std::ranges::max(state_->stages) != Stage::Graph;
}

Status Compiler::lower_all() {
  if (options_.progress) count_parts();
  if (state_->graph) dump(Stage::Graph, state_->graph->name(), *state_->graph);
  if (!is_lowered()) return success;
  for (TargetOutput& target : state_->targets) {
    for (auto& module : state_->continued) {
      if (!module || !is_for(*module, *target.machine)) continue;
      std::span<const PassId> passes =
          rest_after(pipeline_for(*target.machine), module->level(), properties_of(*module));
      if (finish(std::move(module), passes, *target.machine).failed()) return failure;
    }
    if (!state_->continued.empty() || !state_->graph) continue;
    for (Op* op : *state_->graph->body()) {
      if (op->is(graph::info(graph::OpKind::Func)) &&
          op->attr(graph::attr::Func::role) == "entry") {
        if (lower_entry(op, *target.machine).failed()) return failure;
      }
    }
    if (lower_exported_kernels(*target.machine).failed()) return failure;
  }
  return success;
}

/// An entry for a machine, before the first pass.
std::unique_ptr<Module> Compiler::module_of(Op* entry, const Machine& machine) {
  Context& context = state_->context;
  auto module = std::make_unique<Module>(context, diagnostics_.sources(), std::string(symbol_name(entry)),
                                         Level::Graph);
  std::map<Value*, Value*> values;
  module->clone(entry, values)->move_to_end(module->body());
  module->set(common::Module::entry, symbol_name(entry));
  module->set(common::Module::target, machine.name);
  module->set_node(common::Module::properties, state_->graph->node(common::Module::properties));
  return module;
}

Status Compiler::lower_entry(Op* entry, const Machine& machine) {
  return finish(module_of(entry, machine), pipeline_for(machine), machine);
}

/// A kernel that an entry calls is there in the forms that the calls need; one that nothing calls, in its own.
Status Compiler::lower_exported_kernels(const Machine& machine) {
  std::set<std::string_view> called;
  for (Op* function : *state_->graph->body()) {
    walk(function, [&](Op* op) {
      if (op->is(graph::info(graph::OpKind::KernelCall)))
        called.insert(op->attr(graph::attr::KernelCall::kernel));
    });
  }
  for (const std::string& name : state_->source.exported_kernels) {
    if (called.contains(name)) continue;
    auto module = std::make_unique<Module>(state_->context, diagnostics_.sources(), name, Level::Schedule);
    module->set(common::Module::target, machine.name);
    if (!state_->source.library->instantiate_exported(*module, name, machine.name)) return failure;
    dump(Stage::Schedule, what_of(*module, machine), *module);
    if (finish(std::move(module), rest_after(pipeline_for(machine), Level::Schedule, {}), machine).failed()) {
      return failure;
    }
  }
  return success;
}

/// The kernels that the interpreter runs for calls of a user's kernels; tiles are those of a CPU.
Status Compiler::lower_called_kernels() {
  if (!state_->graph || !state_->continued.empty()) return success;
  auto cpu = std::find_if(state_->targets.begin(), state_->targets.end(),
                          [](const TargetOutput& target) { return !target.machine->is_gpu(); });
  const Machine* machine = cpu != state_->targets.end() ? cpu->machine : default_machines().front();
  state_->called = kernel_calls_of(*state_->graph, diagnostics_.sources());
  for (auto& module : state_->called) {
    if (!run_passes(*module, interpreter_pipeline(), machine, module->name())) return failure;
  }
  return success;
}

/// Runs the remaining passes level by level, dumping each level before it is left.
Status Compiler::finish(std::unique_ptr<Module> module, std::span<const PassId> passes,
                        const Machine& machine) {
  Attr entry = module->node(common::Module::entry);
  std::string what = what_of(*module, machine);
  if (options_.observer) options_.observer->starts(*module, &machine);
  if (options_.progress) options_.progress->part(what);
  size_t begin = 0;
  while (begin < passes.size()) {
    size_t end = begin + 1;
    Level level = pass_table[size_t(passes[begin])].leaves;
    while (end < passes.size() && pass_table[size_t(passes[end])].leaves == level) ++end;
    std::string stage = fmt::format("{} passes", to_string(level));
    Status status = timed(stage, [&] {
      return run_passes(*module, passes.subspan(begin, end - begin), &machine, entry ? entry->string : "");
    });
    if (status.failed()) return failure;
    if (level == Level::Tile && machine.is_gpu()) dump(Stage::Pipeline, what, std::exchange(pipelines_, {}));
    if (level != Level::Graph) dump(stage_of(level), what, *module);
    begin = end;
  }
  if (check_sizes(*module, diagnostics_).failed()) return failure;
  for (TargetOutput& target : state_->targets) {
    if (target.machine == &machine) target.modules.push_back(std::move(module));
  }
  return success;
}

Status Compiler::run_passes(Module& module, std::span<const PassId> passes, const Machine* machine,
                            const std::string& entry) {
  PassManagerOptions manager_options;
  manager_options.print_before = {options_.print_before.begin(), options_.print_before.end()};
  manager_options.print_after = {options_.print_after.begin(), options_.print_after.end()};
  manager_options.print = [](const std::string& text) { std::fputs(text.c_str(), stderr); };
  manager_options.locations = options_.locations;
  manager_options.verify_each = options_.verify_each;
  if (options_.progress) {
    manager_options.starts = [&](const PassStep& step) { options_.progress->step(step.pass->name); };
  }
  if (options_.observer) {
    manager_options.ran = [&](Module& changed, const PassStep& step, double seconds) {
      options_.observer->ran(changed, step, seconds * 1e3);
    };
  }
  manager_options.reproducer = "tesserac";
  PassManager manager(std::move(manager_options));
  PassContext context{trial_ ? *trial_ : diagnostics_, machine, state_->source.library.get(), entry, {}};
  if (options_.observer) {
    context.launched = [&](std::span<Op* const> ops, std::span<Op* const> launches) {
      options_.observer->launched(ops, launches);
    };
    context.accessed = [&](const SharedAccess& access) { options_.observer->accessed(access); };
  }
  if (wants(Stage::Pipeline)) {
    context.pipelined = [&](Op* kernel, const pipeline::LoopPipeline& loop) {
      pipelines_ += text(loop, kernel, diagnostics_.sources());
    };
  }
  std::vector<PassStep> steps = steps_of(passes);
  std::erase_if(steps, [&](const PassStep& step) {
    return std::count(options_.disabled_passes.begin(), options_.disabled_passes.end(), step.pass->name) != 0;
  });
  if (options_.debug) check_before_machine(steps);
  return manager.run(module, steps, context);
}

/// Where the bundle goes.
std::string Compiler::output_path() const {
  return options_.output.empty() ? default_output(options_.input) : options_.output;
}

void Compiler::warn_of_large_kernels(const TargetOutput& target) {
  for (Module* module : pointers(target.modules)) {
    for (Op* kernel : *module->body()) {
      size_t count = op_count(kernel);
      if (kernel->info().level == Level::Host || count <= most_optimised_ops) continue;
      diagnostics_.report(diag::large_kernel, kernel->loc(), kernel_name(kernel), count, target.machine->name,
                          most_optimised_ops);
    }
  }
}

Status Compiler::generate_code() {
  // LLVM contexts are independent, and the IR is only read.
  return timed("machine code", [&]() -> Status {
    std::vector<TargetOutput*> targets;
    std::vector<codegen::KernelCompiler> compilers;
    std::vector<std::pair<size_t, size_t>> parts;  // of a compiler
    for (TargetOutput& target : state_->targets) {
      if (target.machine->is_gpu()) continue;
      warn_of_large_kernels(target);
      compilers.emplace_back(pointers(target.modules), *target.machine, cache());
      for (size_t i = 0; i < compilers.back().part_count(); ++i) parts.emplace_back(targets.size(), i);
      targets.push_back(&target);
    }
    auto dump = [&](size_t i) { return target_dump(pointers(targets[i]->modules), *targets[i]->machine); };
    parallel_for(parts.size(), [&](size_t i) {
      auto [target, part] = parts[i];
      ReproducerScope reproducer("tesserac", [&, target = target] { return dump(target); });
      compilers[target].compile_part(part);
      if (options_.progress) options_.progress->piece("machine code", parts.size());
    });
    for (size_t i = 0; i < targets.size(); ++i) {
      ReproducerScope reproducer("tesserac", [&] { return dump(i); });
      targets[i]->object = compilers[i].link();
    }
    return success;
  });
}

/// A bundle with nothing to call is of no use to anybody.
Status Compiler::check_has_entries() {
  auto is_empty = [](const TargetOutput& target) { return target.modules.empty(); };
  if (!std::all_of(state_->targets.begin(), state_->targets.end(), is_empty)) return success;
  diagnostics_.report(diag::no_entries, {}, options_.input)
      .help("write @jit above each function that is to be called from outside")
      .help("a library is checked by the programs that import it, and by --dump=graph, which then is empty");
  return failure;
}

/// PTX, and cubins where they are wanted. The time of the assembler is reported separately.
Status Compiler::generate_ptx() {
  bool assembles = wants(Stage::Cubin) || (state_->stages.empty() && options_.cubin);
  for (TargetOutput& target : state_->targets) {
    if (!target.machine->is_gpu() || target.modules.empty()) continue;
    if (assembles ? assemble(target).failed() : emit(pointers(target.modules), *target.machine, target.ptx).failed()) {
      return failure;
    }
  }
  return success;
}

Status Compiler::emit(const std::vector<Module*>& modules, const Machine& machine, std::string& ptx) {
  ReproducerScope reproducer("tesserac", [&] { return target_dump(modules, machine); });
  Result<std::string> text = timed("ptx", [&] { return codegen::emit_ptx(modules, machine, diagnostics_); });
  if (text) ptx = std::move(*text);
  return text ? success : Status(failure);
}

/// PTX of modules and what the assembler makes of it, however much it spills.
Result<codegen::Cubin> Compiler::assembled(const std::vector<Module*>& modules, const Machine& machine,
                                           std::string& ptx) {
  if (emit(modules, machine, ptx).failed()) return failure;
  ReproducerScope reproducer("tesserac", [&] { return target_dump(modules, machine); });
  codegen::AssembleOptions options{.line_info = options_.line_info, .cache = cache()};
  if (options_.progress) options.on_group = [&](size_t groups) { options_.progress->piece("ptxas", groups); };
  Result<codegen::Cubin> cubin =
      timed("ptxas", [&] { return codegen::assemble_unchecked(ptx, machine, diagnostics_, options); });
  if (cubin) codegen::add_twins(cubin->kernels, modules);
  return cubin;
}

/// Kernels whose tiles are the compiler's choice get smaller ones where the assembler says that they do not fit.
Status Compiler::assemble(TargetOutput& target) {
  for (bool again = true; again;) {
    Result<codegen::Cubin> cubin = assembled(pointers(target.modules), *target.machine, target.ptx);
    if (!cubin) return failure;
    target.cubin = std::move(*cubin);
    again = false;
    for (size_t i = 0; i < target.modules.size(); ++i) {
      Result<bool> smaller = make_tiles_smaller(target, i);
      if (!smaller) return failure;
      again |= *smaller;
    }
  }
  return codegen::check_resources(target.cubin.kernels, codegen::kernel_sources(pointers(target.modules)),
                                  *target.machine, diagnostics_);
}

/// Lowers an entry anew that has kernels which spill more than smaller tiles cost, until it has none, or nothing
/// smaller helps. It is assembled alone: others may be many. True if it changed.
Result<bool> Compiler::make_tiles_smaller(TargetOutput& target, size_t index) {
  std::vector<codegen::KernelResources> kernels = target.cubin.kernels;
  for (bool changed = false;; changed = true) {
    Module* module = target.modules[index].get();
    std::vector<Loc> calls = codegen::calls_to_halve(kernels, codegen::kernel_sources(std::array{module}));
    Attr halvings = calls.empty() ? nullptr : with_more_halvings(*module, calls);
    if (!halvings || !lower_anew(target, index, halvings)) return changed;
    std::string ptx;
    Result<codegen::Cubin> cubin = assembled({target.modules[index].get()}, *target.machine, ptx);
    if (!cubin) return failure;
    kernels = std::move(cubin->kernels);
  }
}

/// Lowers an entry with tiles halved as noted; false, with its module as it was, where that cannot be.
bool Compiler::lower_anew(TargetOutput& target, size_t index, Attr halvings) {
  Op* entry = state_->graph && state_->continued.empty() ? state_->graph->find(target.modules[index]->name()) : nullptr;
  if (!entry) return false;
  std::unique_ptr<Module> module = module_of(entry, *target.machine);
  module->set_node(common::Module::halvings, halvings);
  DiagnosticEngine unheard(diagnostics_.sources());
  trial_ = &unheard;
  size_t errors = diagnostics_.error_count();
  Status lowered = finish(std::move(module), pipeline_for(*target.machine), *target.machine);
  trial_ = nullptr;
  if (lowered.failed() || diagnostics_.error_count() > errors) return false;
  std::swap(target.modules[index], target.modules.back());
  state_->replaced.push_back(std::move(target.modules.back()));
  target.modules.pop_back();
  return true;
}

/// Objects are compiled without places, which only a reader needs.
void Compiler::show_code() {
  for (TargetOutput& target : state_->targets) {
    std::vector<Module*> modules = pointers(target.modules);
    if (modules.empty()) continue;
    options_.observer->emitted(*target.machine, modules, target.machine->is_gpu() ? target.ptx
                               : codegen::print_assembly(modules, *target.machine, codegen::Places::Kept));
  }
}

/// A bundle that does not load is a bug of ours, and is not written.
void Compiler::check_loads(const std::string& bundle) {
  format::Result<format::BundleView> checked = check_whole_bundle(bundle);
  if (checked) return;
  ReproducerScope reproducer("tesserac", [&] {
    std::string text;
    for (TargetOutput& target : state_->targets) text += target_dump(pointers(target.modules), *target.machine);
    return text;
  });
  TSR_UNREACHABLE("the bundle would be refused when it is loaded: " + checked.error().text);
}

Status Compiler::write_bundle() {
  if (!check_has_entries() || !lower_called_kernels()) return failure;
  if (!generate_code() || !generate_ptx()) return failure;
  if (options_.observer) show_code();
  codegen::BundleInput input;
  input.graph = state_->graph.get();
  input.called = pointers(state_->called);
  input.compiler = version_line("tesserac");
  for (TargetOutput& target : state_->targets) {
    const Machine* machine = target.machine;
    input.targets.push_back({machine, pointers(target.modules), machine->is_gpu() ? target.ptx : target.object.image,
                             target.cubin.bytes, registers_of(target.cubin)});
    const std::string& tool = target.cubin.assembler;
    if (!tool.empty() && !std::count(input.tools.begin(), input.tools.end(), tool)) input.tools.push_back(tool);
  }
  if (options_.debug) input.debug.push_back("bounds");
  if (gives_up("nondet")) input.fast.push_back("nondet");
  return timed("bundle", [&]() -> Status {
    Result<std::string> bytes = codegen::write_bundle(input, diagnostics_);
    if (!bytes) return failure;
    check_loads(*bytes);
    if (!options_.keep_bundle) return write(output_path(), *bytes);
    bundle_ = std::move(*bytes);
    return success;
  });
}

/// The dump of a file that only others import is nearly empty, which should not look like a failure of the compiler.
void Compiler::warn_without_entries() {
  if (!state_->graph || !state_->continued.empty() || !state_->source.exported_kernels.empty()) return;
  for (Op* op : *state_->graph->body()) {
    if (op->is(graph::info(graph::OpKind::Func)) && op->attr(graph::attr::Func::role) == "entry")
      return;
  }
  diagnostics_.report(diag::dump_without_entries, {}, options_.input)
      .help("write @jit above each function that is to be called from outside");
}

Status Compiler::write_dump() {
  warn_without_entries();
  if (diagnostics_.has_errors()) return failure;  // a warning that is an error
  if ((wants(Stage::Ptx) || wants(Stage::Cubin)) && !generate_ptx()) return failure;
  for (TargetOutput& target : state_->targets) {
    std::vector<Module*> modules = pointers(target.modules);
    if (modules.empty()) continue;
    ReproducerScope reproducer("tesserac", [&] { return target_dump(modules, *target.machine); });
    if (target.machine->is_gpu()) {
      dump(Stage::Ptx, target.machine->name, target.ptx);
      if (wants(Stage::Cubin)) dump(Stage::Cubin, target.machine->name, codegen::describe_cubin(target.cubin));
      continue;
    }
    if (wants(Stage::Llvm)) dump(Stage::Llvm, target.machine->name, codegen::print_llvm(modules, *target.machine));
    if (wants(Stage::Asm)) {
      codegen::Places places = options_.line_info ? codegen::Places::Kept : codegen::Places::Dropped;
      dump(Stage::Asm, target.machine->name, codegen::print_assembly(modules, *target.machine, places));
    }
  }
  std::string text;
  bool one_stage = state_->dumps.size() == 1;
  for (const auto& [stage, parts] : state_->dumps) {
    for (const DumpText& part : parts) text += (one_stage ? "" : part.header) + part.text;
  }
  return write(options_.output.empty() ? "-" : options_.output, text);
}

Status Compiler::write(const std::string& path, std::string_view text) {
  return options_.files ? write_text(*options_.files, path, text, diagnostics_) : write_text(path, text, diagnostics_);
}

}  // namespace tessera::driver
