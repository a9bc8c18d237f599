// What a GPU's program computes is what machine code of the CPU computes: the last tiles of each kernel, run by the
// interpreter, beside the compiled graph. Both may be off from the graph by the case's bound: sums have other orders,
// and the CPU has its own polynomials.

#include <catch2/catch.hpp>

#include "unit/compiled/compiled_program.h"
#include "unit/gpu/gpu_program.h"

using namespace tessera;
using namespace tessera::test;

TEST_CASE("the tiles of GPUs compute what the CPU's machine code computes") {
  for (const GpuCase& each : gpu_cases()) {
    INFO(each.name);
    GpuProgram programs[] = {{each, gpu_machines[0]}, {each, gpu_machines[1]}};
    CompiledProgram compiled(programs[0].graph(), *find_machine("cpu:x86-64-v3"));
    INFO(compiled.messages());
    for (GpuProgram& program : programs) {
      while (program.next()->name != "tile_to_nv") program.step();
    }
    for (const tessera::DimValues& dims : each.sizes) {
      Tensors arguments = programs[0].arguments(dims);
      Tensors of_cpu = compiled.launch(arguments, dims);
      for (GpuProgram& program : programs) {
        INFO(program.machine().name);
        CHECK(largest_difference(program.values(arguments, dims, {.workers = 3}), of_cpu) <= 2 * each.bound);
      }
    }
  }
}
