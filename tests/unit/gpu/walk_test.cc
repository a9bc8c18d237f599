// Every pass that works on tiles, tried on every kernel: what the interpreter computes before it is what it computes
// after it, bit for bit unless the pass decides the order of a sum, and it finds no race, no missing wait and no read
// of memory that nobody wrote.

#include <catch2/catch.hpp>

#include "unit/gpu/gpu_program.h"

using namespace tessera;
using namespace tessera::test;

namespace {

/// Passes that may give sums and products of all elements along an axis another order. plan_pipeline does where the
/// instruction's sum is promoted, as that of f8.
bool reorders(const PassInfo& pass, const GpuCase& each) {
  if (pass.name == "plan_pipeline") return each.args.find("f8") != std::string::npos;
  return pass.name == "pad_tiles" || pass.name == "split_large_tiles" || pass.name == "assign_layouts";
}

/// What a program computes for each of a case's sizes, by its text: many passes leave a kernel as it was, and machines
/// have most of their passes in common.
using Computed = std::map<std::string, std::vector<Tensors>>;

std::string text_without_target(GpuProgram& program) {
  std::string text = program.text();
  std::string_view target = program.machine().name;
  if (size_t at = text.find(target); at != std::string::npos) text.erase(at, target.size());
  return text + (program.machine().gpu.has_wgmma ? "async proxy" : "");
}

void walk_case(const GpuCase& each, std::string_view machine, Computed& computed) {
  GpuProgram program(each, machine);
  INFO(each.name << " for " << machine);
  program.advance_to(PassId::schedule_to_tile);
  program.step();
  std::vector<Tensors> arguments;
  for (const DimValues& dims : each.sizes) arguments.push_back(program.arguments(dims));
  const std::vector<Tensors>* before = nullptr;
  while (program.is_tile()) {
    const PassInfo& pass = *program.next();
    program.step();
    if (!program.is_tile()) break;
    // Padding counts until masks have been propagated.
    if ((pass.name == "simplify_tiles" || pass.name == "measure_work") && !before) continue;
    auto [entry, is_new] = computed.try_emplace(text_without_target(program));
    std::vector<Tensors>& now = entry->second;
    for (size_t i = 0; i < each.sizes.size(); ++i) {
      std::string sizes;
      for (const auto& [name, value] : each.sizes[i]) sizes += name + " = " + std::to_string(value) + " ";
      INFO("after " << pass.name << ", " << sizes);
      if (is_new) now.push_back(program.values(arguments[i], each.sizes[i]));
      if (!before) {
        // The graph of a kernel is the kernel.
        if (each.source.empty()) CHECK(largest_difference(now[i], program.expected(arguments[i])) <= each.bound);
      } else if (reorders(pass, each)) {
        CHECK(largest_difference(now[i], (*before)[i]) <= each.bound);
      } else {
        CHECK(same_bits(now[i], (*before)[i]));
      }
    }
    before = &now;
  }
}

}  // namespace

TEST_CASE("no pass changes what a kernel computes") {
  for (const GpuCase& each : gpu_cases()) {
    DYNAMIC_SECTION(each.name) {
      Computed computed;
      for (std::string_view machine : gpu_machines) walk_case(each, machine, computed);
    }
  }
}
