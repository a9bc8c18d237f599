#include "codegen/bundle/write_bundle.h"

#include <algorithm>

#include "codegen/bundle/manifest_of.h"
#include "codegen/plan/emit_plan.h"
#include "ir/host/ops.h"
#include "ir/numbers/peak_figures.h"
#include "ir/target/distinct_kernels.h"
#include "ir/text/printer.h"
#include "runtime/format/bundle.h"
#include "runtime/format/cuda_image.h"
#include "support/diagnostic_rows.h"

namespace tessera::codegen {

namespace {

bool is_entry(Op* op) {
  return op->is(host::info(host::OpKind::Func));
}

class BundleBuilder {
 public:
  BundleBuilder(const BundleInput& input, DiagnosticEngine& diagnostics)
      : input_(input), diagnostics_(diagnostics) {}

  Result<std::string> run() {
    for (const BundleTarget& target : input_.targets) {
      if (!add_target(target)) return failure;
    }
    if (!add(std::string(format::reflection_name), format::write_reflection(reflection_)) ||
        !add(std::string(format::schedules_name), schedules_json(input_.targets))) {
      return failure;
    }
    if (input_.graph && !add(std::string(format::graph_ir_name), print(*input_.graph)))
      return failure;
    if (!add_called()) return failure;
    format::Result<std::string> bytes = writer_.finish(manifest());
    if (!bytes) return refuse(bytes.error().text);
    return std::move(*bytes);
  }

 private:
  Failure refuse(const std::string& why) {
    diagnostics_.report(diag::bundle_refused, Loc(), why);
    return failure;
  }

  Status add(std::string name, std::string bytes) {
    format::Outcome added = writer_.add(std::move(name), std::move(bytes));
    if (!added) return refuse(added.error().text);
    return success;
  }

  Status add_called() {
    std::string text;
    for (Module* module : input_.called) text += print(*module);
    return text.empty() ? success : add(std::string(format::called_kernels_name), std::move(text));
  }

  Status add_target(const BundleTarget& target) {
    const std::string& name = target.machine->name;
    std::vector<format::KernelMeta>& kernels = reflection_.kernels[name];
    std::map<std::string, std::string, std::less<>> twins;
    if (target.machine->is_gpu()) twins = target::twin_names(target.modules);
    for (Module* module : target.modules) {
      for (Op* op : *module->body()) {
        if (is_entry(op)) {
          if (!add_entry(op, name)) return failure;
        } else {
          kernels.push_back(kernel_meta(op, *target.machine));
          if (auto twin = twins.find(kernels.back().name); twin != twins.end()) kernels.back().code = twin->second;
          add_registers(target, kernels.back());
        }
      }
    }
    std::sort(kernels.begin(), kernels.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    if (!target.machine->is_gpu()) return add(format::kernels_path(name), target.object);
    if (!target.cubin.empty() && !add(format::kernels_path(name, "cubin"), target.cubin)) return failure;
    return add(format::kernels_path(name, "ptx"), target.object);
  }

  /// Registers, and how many blocks they leave room for.
  static void add_registers(const BundleTarget& target, format::KernelMeta& kernel) {
    if (!target.machine->is_gpu()) return;
    auto known = target.registers.find(format::cuda_symbol(kernel.name));
    if (known != target.registers.end()) {
      kernel.regs_per_thread = known->second.per_thread;
      kernel.spills = known->second.spill_bytes;
    }
    kernel.occupancy = resident_blocks(*target.machine, kernel.block[0], kernel.regs_per_thread,
                                       kernel.smem_per_cta);
  }

  Status add_entry(Op* function, const std::string& target) {
    format::StepSources& sources = reflection_.steps[target][std::string(symbol_name(function))];
    Result<format::Plan> plan = emit_plan(function, target, diagnostics_, &sources);
    if (!plan) return failure;
    // All targets implement the same entries; the first one's functions describe them.
    bool known = std::any_of(functions_.begin(), functions_.end(),
                             [&](Op* f) { return symbol_name(f) == symbol_name(function); });
    if (!known) functions_.push_back(function);
    return add(format::plan_path(symbol_name(function), target), format::encode_plan(*plan));
  }

  format::Manifest manifest() const {
    format::Manifest manifest;
    manifest.compiler = input_.compiler;
    manifest.tools = input_.tools;
    manifest.debug = input_.debug;
    manifest.fast = input_.fast;
    for (const BundleTarget& target : input_.targets)
      manifest.targets.push_back(target.machine->name);
    for (Op* function : functions_) manifest.entries.push_back(manifest_entry(function));
    std::sort(manifest.entries.begin(), manifest.entries.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    manifest.params = manifest_params(functions_, input_.graph);
    return manifest;
  }

  const BundleInput& input_;
  DiagnosticEngine& diagnostics_;
  format::BundleWriter writer_;
  format::Reflection reflection_;
  std::vector<Op*> functions_;
};

}  // namespace

Result<std::string> write_bundle(const BundleInput& input, DiagnosticEngine& diagnostics) {
  return BundleBuilder(input, diagnostics).run();
}

}  // namespace tessera::codegen
