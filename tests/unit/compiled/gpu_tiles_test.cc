// What a GPU's program computes is what machine code of the CPU computes: the last tiles of each kernel, run by the
// interpreter, beside the compiled graph. Both may be off from the graph by the case's bound: sums have other orders,
// and the CPU has its own polynomials.

#include <catch2/catch.hpp>

#include "unit/compiled/compiled_program.h"
#include "unit/gpu/gpu_program.h"

using namespace tessera;
using namespace tessera::test;

TEST_CASE("the tiles of GPUs compute what the CPU's machine code computes") {
  for (std::string_view machine : gpu_machines) {
    for (const GpuCase& each : gpu_cases()) {
      GpuProgram program(each, machine);
      while (program.next()->name != "tile_to_nv") program.step();
      CompiledProgram compiled(program.graph(), *find_machine("cpu:x86-64-v3"));
      INFO(each.name << " for " << machine << "\n" << compiled.messages());
      for (const tessera::DimValues& dims : each.sizes) {
        Tensors arguments = program.arguments(dims);
        Tensors tiles = program.values(arguments, dims, {.workers = 3});
        CHECK(largest_difference(tiles, compiled.launch(arguments, dims)) <= 2 * each.bound);
      }
    }
  }
}
