// The kernels as PTX: what the interpreter's tiles become is a text that ptxas takes without a warning, with no local
// memory, under the library's own schedules and under small ones.

#include <catch2/catch.hpp>

#include "codegen/ptx/emit_ptx.h"
#include "codegen/ptx/ptxas.h"
#include "unit/gpu/gpu_program.h"

using namespace tessera;
using namespace tessera::test;

namespace {

std::string ptx_of(GpuProgram& program) {
  program.finish();
  Module* modules[] = {&program.module()};
  Result<std::string> ptx = codegen::emit_ptx(modules, program.machine(), program.diagnostics());
  INFO(program.messages());
  REQUIRE(ptx);
  return std::move(*ptx);
}

}  // namespace

TEST_CASE("every kernel has PTX that assembles without spills or losses") {
  bool assembles = !codegen::find_ptxas().empty();
  if (!assembles) WARN("there is no ptxas: PTX is not assembled");
  for (std::string_view machine : gpu_machines) {
    for (GpuCase each : gpu_cases()) {
      for (bool small : {true, false}) {
        if (!small) each.schedule = {.persistent = machine == "cuda:sm_90a"};
        INFO(each.name << " for " << machine << (small ? ", small tiles" : ""));
        GpuProgram program(each, machine);
        std::string ptx = ptx_of(program);
        CHECK(ptx.find("ld.local") == std::string::npos);
        if (!assembles) continue;
        auto cubin = codegen::assemble_ptx(ptx, program.machine(), program.diagnostics());
        INFO(program.messages());
        CHECK(cubin);
      }
    }
  }
}
