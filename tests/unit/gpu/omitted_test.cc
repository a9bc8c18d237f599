// Passes that nothing relies on, left out one by one: kernels compute the same and become PTX.

#include <catch2/catch.hpp>

#include "codegen/ptx/emit_ptx.h"
#include "passes/pass_manager.h"
#include "unit/gpu/gpu_program.h"

using namespace tessera;
using namespace tessera::test;

namespace {

/// Runs all passes of tile level but one, and compares with the graph.
void check_without(const PassInfo& without, const GpuCase& each, std::string_view machine) {
  INFO(each.name << " for " << machine << " without " << without.name);
  GpuProgram program(each, machine);
  while (program.next() && program.next()->name != "tile_to_nv") {
    program.next()->name == without.name ? program.skip() : program.step();
  }
  for (const DimValues& dims : each.sizes) {
    Tensors arguments = program.arguments(dims);
    Tensors now = program.values(arguments, dims, {.workers = 2, .seed = 1});
    CHECK(largest_difference(now, program.expected(arguments)) <= each.bound);
  }
  program.finish();
  Module* modules[] = {&program.module()};
  bool lowered = bool(codegen::emit_ptx(modules, program.machine(), program.diagnostics()));
  INFO(program.messages());
  CHECK(lowered);
}

}  // namespace

TEST_CASE("kernels compute the same without any one of the passes that nothing relies on") {
  for (std::string_view machine : gpu_machines) {
    for (const PassInfo& pass : all_passes()) {
      if (!is_optional(pass) || pass.reads != Level::Tile || pass.name == "merge_loops") continue;
      DYNAMIC_SECTION("without " << pass.name << " for " << machine) {
        // A pass for one kind of kernel is tried on that kind.
        std::vector<const GpuCase*> cases = cases_named({"matmul", "softmax", "layer", "generated: column"});
        if (pass.name == "swap_factors") cases = cases_named({"weights of i8", "parts of weights of i8"});
        for (const GpuCase* each : cases) check_without(pass, *each, machine);
      }
    }
  }
}
