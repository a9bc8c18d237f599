#include "unit/gpu/gpu_program.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "ir/core/common_attributes.h"
#include "ir/graph/eval.h"
#include "ir/host/ops.h"
#include "ir/text/verifier.h"
#include "passes/pass_manager.h"
#include "unit/frontend/load_program.h"
#include "unit/passes/host_runner.h"

namespace tessera::test {

namespace {

/// The library with other schedules.
class ScheduledKernels : public schedule::KernelLibrary {
 public:
  ScheduledKernels(schedule::KernelLibrary& library, const SmallSchedule& schedule)
      : library_(library), schedule_(schedule) {}

  Result<schedule::KernelInstance> instantiate(Module& module, const schedule::KernelRequest& request) override {
    // What joins parts has other axes than what makes them.
    bool has_own_tiles = request.kernel.ends_with("_joined") || request.kernel.ends_with("_padded");
    if (has_own_tiles) return library_.instantiate(module, request);
    Context& context = module.context();
    schedule::KernelRequest changed = request;
    std::map<std::string, int64_t> block = schedule_.block;
    // Batches and parts are one axis.
    if (request.kernel.ends_with("_parts")) block.erase("b");
    // What belongs to the meaning (the tile of k of a rounded sum) stays.
    if (auto asked = request.schedule.find("block"); asked != request.schedule.end()) {
      for (const auto& [axis, extent] : asked->second->entries) block[std::string(axis)] = extent->integer;
    }
    auto numbers = [&](const std::map<std::string, int64_t>& values) {
      std::vector<NamedAttr> entries;
      for (const auto& [name, value] : values) entries.emplace_back(name, context.integer(value));
      return context.dict(std::move(entries));
    };
    if (!block.empty()) changed.schedule["block"] = numbers(block);
    if (schedule_.warps) changed.schedule["warps"] = context.integer(schedule_.warps);
    if (schedule_.stages) changed.schedule["stages"] = context.integer(schedule_.stages);
    if (!schedule_.roles.empty()) changed.schedule["roles"] = numbers(schedule_.roles);
    if (schedule_.group) {
      changed.schedule["order"] = context.string("grouped");
      changed.schedule["group"] = context.integer(schedule_.group);
    }
    changed.schedule["persistent"] = context.boolean(schedule_.persistent);
    if (!schedule_.cluster.empty()) {
      std::vector<Attr> extents;
      for (int64_t extent : schedule_.cluster) extents.push_back(context.integer(extent));
      changed.schedule["cluster"] = context.array(std::move(extents));
    }
    return library_.instantiate(module, changed);
  }

 private:
  schedule::KernelLibrary& library_;
  const SmallSchedule& schedule_;
};

/// Runs kernels of level tile; results start with a poison, so that what nobody writes shows.
class TileRunner : public HostRunner {
 public:
  TileRunner(DimValues dims, DiagnosticEngine& diagnostics, const tile::RunOptions& options)
      : HostRunner(std::move(dims), diagnostics), options_(options), diagnostics_(diagnostics) {}
  bool failed() const { return failed_; }

 protected:
  void begin_result(TensorValue& result) override {
    if (result.count()) std::memset(result.data(), 0x5b, result.byte_count());
  }
  void run_kernel(Op* kernel, const std::vector<TensorValue*>& parameters, const DimValues& dims) override {
    failed_ = failed_ || tile::run_kernel(kernel, parameters, dims, diagnostics_, options_).failed();
  }

 private:
  const tile::RunOptions& options_;
  DiagnosticEngine& diagnostics_;
  bool failed_ = false;
};

}  // namespace

GpuProgram::GpuProgram(const GpuCase& source, std::string_view machine)
    : GpuProgram(source.source.empty() ? entry_module(source.args, source.body, source.results) : source.source,
                 machine, source.source.empty() || !source.schedule.block.empty() ? &source.schedule : nullptr) {}

GpuProgram::GpuProgram(const std::string& graph, std::string_view machine, const SmallSchedule* schedule)
    : machine_(find_machine(machine)), graph_text_(graph) {
  library_ = load_program(text_.context, text_.sources, graph_text_, text_.diagnostics);
  INFO(graph << "\n" << messages());
  REQUIRE(library_.graph);
  REQUIRE(machine_);
  graph_ = std::move(library_.graph);
  if (schedule) scheduled_ = std::make_unique<ScheduledKernels>(*library_.library, *schedule);
  module_ = std::make_unique<Module>(text_.context, text_.sources, "f", Level::Graph);
  std::map<Value*, Value*> values;
  module_->clone(graph_->find("f"), values)->move_to_end(module_->body());
  module_->set(common::Module::entry, "f");
  module_->set(common::Module::target, machine_->name);
  passes_ = pipeline_for(*machine_);
}

void GpuProgram::step() {
  INFO("pass " << next()->name);
  bool ran = try_step();
  INFO((ran ? "" : messages() + text()));
  REQUIRE(ran);
}

bool GpuProgram::try_step() {
  PassManager manager({});
  schedule::KernelLibrary* kernels = scheduled_ ? scheduled_.get() : library_.library.get();
  PassContext context{text_.diagnostics, machine_, kernels, "f", {}};
  PassId pass[] = {passes_[next_]};
  ++next_;
  return bool(manager.run(*module_, steps_of(pass), context)) && bool(verify(*module_, text_.diagnostics));
}

void GpuProgram::advance_to(PassId pass) {
  while (next_ < passes_.size() && passes_[next_] != pass) step();
  REQUIRE(next_ < passes_.size());
}

void GpuProgram::finish() {
  while (next_ < passes_.size()) step();
}

Tensors GpuProgram::arguments(const DimValues& dims, unsigned seed, int64_t most) const {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> real(-1, 1);
  Tensors tensors;
  Block* block = graph_->find("f")->region()->front();
  for (unsigned i = 0; i < block->arg_count(); ++i) {
    Type type = block->arg(i)->type();
    tensors.push_back(*TensorValue::make(type->dtype, *evaluate(type->dims, dims)));
    for (int64_t e = 0; e < tensors.back().count(); ++e) {
      Element value{.i = int64_t(random() % uint64_t(most + 2)) - 1};
      if (is_float(type->dtype)) value.f = decode_float(type->dtype, encode_float(type->dtype, real(random)));
      tensors.back().set(e, value);
    }
  }
  return tensors;
}

Tensors GpuProgram::expected(const Tensors& arguments) {
  Tensors copies;
  for (const TensorValue& tensor : arguments) copies.push_back(*tensor.clone());
  auto results = graph::evaluate(graph_->find("f"), std::move(copies), {}, text_.diagnostics);
  INFO(messages());
  REQUIRE(results);
  return std::move(*results);
}

Tensors GpuProgram::values(const Tensors& arguments, const DimValues& dims, const tile::RunOptions& options) {
  std::optional<Tensors> found = try_values(arguments, dims, options);
  INFO((found ? "" : messages() + text()));
  REQUIRE(found);
  return std::move(*found);
}

std::optional<Tensors> GpuProgram::try_values(const Tensors& arguments, const DimValues& dims,
                                              tile::RunOptions options) {
  options.async_proxy = machine_->gpu.has_wgmma;  // others' matrix units read as any thread does
  TileRunner runner(dims, text_.diagnostics, options);
  Tensors results = runner.run(module_->find("f"), arguments);
  if (runner.failed()) return std::nullopt;
  return results;
}

/// Whether the kernel runs only where sizes take a branch, which is for sizes that no case has.
static bool is_for_other_sizes(Module& module, Op* kernel) {
  bool runs = false, always = false;
  auto visit = [&](Op* op) {
    if (!op->is(host::info(host::OpKind::Launch)) || !host::may_run(op, kernel)) return;
    bool is_taken = false;
    for (Op *inner = op, *around = op->parent(); around; inner = around, around = around->parent()) {
      bool chooses = around->is(host::info(host::OpKind::If)) && around->has(host::attr::If::when);
      is_taken |= chooses && inner->block()->region() == around->region(host::at::If::then);
    }
    runs = true;
    always |= !is_taken;
  };
  for (Op* op : *module.body()) walk(op, visit);
  return runs && !always;
}

std::vector<Op*> GpuProgram::kernels() const {
  std::vector<Op*> found;
  for (Op* op : *module_->body()) {
    bool kernel = op->is(tile::info(tile::OpKind::Kernel)) || op->is(target::info(target::OpKind::Func));
    std::optional<std::string_view> name = kernel ? op->attr(common::Kernel::kernel) : std::nullopt;
    bool is_of_parts = name && (name->ends_with("_parts") || name->ends_with("_joined"));
    if (kernel && !is_of_parts && !is_for_other_sizes(*module_, op)) found.push_back(op);
  }
  return found;
}

size_t GpuProgram::count(std::string_view op) const {
  size_t found = 0;
  for (Op* kernel : kernels()) {
    if (kernel->has(common::Kernel::assume)) continue;
    walk(kernel, [&](Op* inner) { found += inner->name() == op; });
  }
  return found;
}

bool same_bits(const Tensors& a, const Tensors& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype() != b[i].dtype() || a[i].dims() != b[i].dims()) return false;
    if (!a[i].count() || !std::memcmp(a[i].data(), b[i].data(), a[i].byte_count())) continue;
    if (!is_float(a[i].dtype())) return false;
    for (int64_t e = 0; e < a[i].count(); ++e) {
      double x = a[i].get(e).f, y = b[i].get(e).f;
      bool equal = std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
      if (!equal) return false;
    }
  }
  return true;
}

double largest_difference(const Tensors& got, const Tensors& wanted) {
  double most = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    double size = 1, apart = 0;
    for (int64_t e = 0; e < wanted[i].count(); ++e) {
      if (!is_float(wanted[i].dtype())) {
        if (got[i].get(e).i != wanted[i].get(e).i) return INFINITY;
        continue;
      }
      double x = got[i].get(e).f, y = wanted[i].get(e).f;
      if (std::isfinite(y)) size = std::max(size, 1 + std::fabs(y));
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      double error = std::fabs(x - y);
      apart = std::max(apart, std::isnan(error) ? INFINITY : error);
    }
    most = std::max(most, apart / size);
  }
  return most;
}

std::vector<const GpuCase*> cases_named(std::initializer_list<std::string_view> prefixes) {
  std::vector<const GpuCase*> found;
  for (const GpuCase& each : gpu_cases()) {
    for (std::string_view prefix : prefixes) {
      if (each.name.starts_with(prefix)) found.push_back(&each);
    }
  }
  REQUIRE(!found.empty());
  return found;
}

}  // namespace tessera::test
