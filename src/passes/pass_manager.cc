#include "passes/pass_manager.h"

#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <map>

#include "ir/core/common_attributes.h"
#include "ir/core/kernel_size.h"
#include "ir/text/printer.h"
#include "ir/text/verifier.h"
#include "support/diagnostic_rows.h"
#include "support/reproducer.h"

namespace tessera {

namespace {

constexpr std::string_view property_names[] = {
    "",
#define PROPERTY(Name, text, ...) text,
#include "passes/properties.def"
#undef PROPERTY
};

void set_properties(Module& module, Properties properties) {
  Context& context = module.context();
  std::vector<Attr> names;
  for (size_t i = 1; i < std::size(property_names); ++i) {
    if (properties & (1u << i)) names.push_back(context.string(property_names[i]));
  }
  module.set_node(common::Module::properties,
                  names.empty() ? nullptr : context.array(std::move(names)));
}

std::string names_of(Properties properties) {
  std::string text;
  for (size_t i = 1; i < std::size(property_names); ++i) {
    if (properties & (1u << i)) text += fmt::format("{}{}", text.empty() ? "" : ", ", property_names[i]);
  }
  return text;
}

/// The fewest passes that, run in this order on a module with the properties it had, let a pass run; empty for none.
std::string passes_before(const PassInfo& wanted, Properties had) {
  std::map<Properties, std::string> reached = {{had, ""}};
  std::deque<Properties> open = {had};
  for (; !open.empty(); open.pop_front()) {
    Properties now = open.front();
    if (!(wanted.needs & ~now)) return reached[now];
    for (const PassInfo& pass : all_passes()) {
      bool can_run = pass.reads == wanted.reads && pass.leaves == wanted.reads && !(pass.needs & ~now);
      Properties then = can_run ? properties_after(pass, now) : now;
      const std::string& earlier = reached[now];
      std::string text = fmt::format("{}{}{}", earlier, earlier.empty() ? "" : ", ", pass.name);
      if (reached.try_emplace(then, std::move(text)).second) open.push_back(then);
    }
  }
  return {};
}

bool wants(const std::set<std::string, std::less<>>& names, std::string_view pass) {
  return names.contains(pass) || names.contains("all");
}

}  // namespace

Properties properties_of(const Module& module) {
  Properties properties = 0;
  for (std::string_view name : module.attr(common::Module::properties)) {
    for (size_t i = 1; i < std::size(property_names); ++i) {
      if (name == property_names[i]) properties |= 1u << i;
    }
  }
  return properties;
}

std::span<const PassInfo> all_passes() { return std::span(pass_table).first(std::size(pass_table) - 1); }

const PassInfo* find_pass(std::string_view name) {
  for (const PassInfo& pass : all_passes()) {
    if (pass.name == name) return &pass;
  }
  return nullptr;
}

Status PassManager::run(Module& module, std::span<const PassStep> steps, PassContext& context) {
  // The module as it is now, before a pass that fails has half changed it.
  std::string start = options_.reproducer.empty() ? std::string() : tessera::print(module);
  ReproducerScope reproducer(options_.reproducer, [&] {
    std::string target = context.machine ? " --target=" + context.machine->name : "";
    return fmt::format("// tessera-opt{} --passes={}\n{}", target, print_pipeline(steps), start);
  });
  if (check_kernel_sizes(module, context.diagnostics).failed()) return failure;
  for (const PassStep& step : steps) {
    if (run_step(module, step, context).failed()) return failure;
    bool lowered = step.pass->reads != step.pass->leaves;
    if (lowered && check_kernel_sizes(module, context.diagnostics).failed()) return failure;
  }
  return check_kernel_sizes(module, context.diagnostics);
}

Status PassManager::run_step(Module& module, const PassStep& step, PassContext& context) {
  const PassInfo& pass = *step.pass;
  if (module.level() != pass.reads) {
    context.diagnostics.report(diag::pass_level, {}, pass.name, to_string(pass.reads),
                               to_string(module.level()));
    return failure;
  }
  Properties had = properties_of(module);
  if (Properties missing = pass.needs & ~had) {
    auto builder = context.diagnostics.report(diag::pass_property, {}, pass.name, names_of(missing));
    std::string givers = passes_before(pass, had);
    if (!givers.empty()) builder.help("these passes make it so: " + givers);
    return failure;
  }
  if (wants(options_.print_before, pass.name)) print("before", step, module);
  internal_error_context().pass = pass.name;
  context.options = step.options;
  if (options_.starts) options_.starts(step);
  auto start = std::chrono::steady_clock::now();
  Status status = pass.run(module, context);
  std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  timings_.push_back({pass.name, elapsed.count()});
  if (status.failed()) return failure;
  TSR_CHECK(module.level() == pass.leaves, "a pass left the module at another level than it says");
  set_properties(module, properties_after(pass, had));
  if (wants(options_.print_after, pass.name)) print("after", step, module);
  if (options_.ran) options_.ran(module, step, elapsed.count());
  if (options_.verify_each && verify(module, context.diagnostics).failed()) return failure;
  return success;
}

void PassManager::print(std::string_view when, const PassStep& step, Module& module) {
  if (!options_.print) return;
  std::string text = tessera::print(module, {.locations = options_.locations});
  options_.print(fmt::format("// {} {}\n{}", when, step.pass->name, text));
}

}  // namespace tessera
