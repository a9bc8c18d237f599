// The kernels as PTX: what the interpreter's tiles become is a text that ptxas takes without a warning, with no local
// memory, under the library's own schedules and under small ones.

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "codegen/ptx/assembler.h"
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

size_t count_of(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

using Counts = std::map<std::string_view, size_t>;

void check_counts(std::string_view name, std::string_view machine, const Counts& wanted) {
  GpuProgram program(*cases_named({name})[0], machine);
  std::string ptx = ptx_of(program);
  INFO(name << " for " << machine << "\n" << ptx);
  for (const auto& [instruction, count] : wanted) {
    INFO(instruction);
    CHECK(count_of(ptx, instruction) == count);
  }
}

}  // namespace

TEST_CASE("a matmul has the instructions that its plan says, and no others") {
  // Tiles of 64 x 96 by steps of 16: one MMA a step; b comes in three boxes of 64 bytes, the result
  // leaves in three of 128. Three slots have two barriers each. Two warpgroups start with 248
  // registers a thread.
  check_counts("matmul of wide tiles", "cuda:sm_90a",
               {{"wgmma.mma_async", 1},
                {"wgmma.commit_group", 1},
                {"wgmma.wait_group", 2},
                {"mbarrier.init", 6},
                {"mbarrier.arrive.expect_tx", 1},
                {"mbarrier.arrive.shared", 2},
               {"bar.warp.sync", 2},  // each lane has read before one of its warp says so
               {"mbarrier.try_wait", 2},
                {"shared::cluster.global", 4},
                {"global.shared::cta", 3},
                {"bulk.commit_group", 3},
                {"bulk.wait_group", 3},
                {"fence.proxy.async", 3},
                {"bar.sync 0, 256", 1},
                {"bar.sync 2, 128", 5},
                {"setmaxnreg.dec", 2},
                {"setmaxnreg.inc", 0},
                {"cp.async.c", 0},
                {"ld.global", 0},
                {"st.global", 0},
                {"ld.local", 0},
                {"st.local", 0}});
  // Four warps of 32 x 48, fragments of 16 x 8 by 16.
  check_counts("matmul of wide tiles", "cuda:sm_80",
               {{"mma.sync", 12},
                {"wgmma", 0},
                {"mbarrier", 0},
                {"bulk", 0},
                {"fence.proxy", 0},
                {"setmaxnreg", 0},
                {"ld.shared", 0},
                {"st.shared", 0},
                {"ld.local", 0},
                {"st.local", 0}});
  // A warp has two whole rows, which are moved 16 bytes at a time and summed by shuffles alone.
  for (std::string_view machine : gpu_machines) {
    check_counts("softmax, rows of 1000", machine,
                 {{"shfl.sync.bfly", 20}, {"bar.sync", 0}, {"ld.local", 0}, {"st.local", 0}});
  }
}

/// Cases in which the compiler's own schedule spills; a compile warns of it. Parts of keys hold sums of their own
/// beside the accumulator, rows of 32768 numbers of 32 bits take 64 of a thread's 128 registers, and parts of matmuls
/// of 8 bits that no tensor map can say have addresses for each vector.
bool is_known_to_spill(const GpuCase& each, std::string_view machine) {
  constexpr std::string_view known[] = {
      "attention over what is held",
      "parts of keys and a bias",
      "parts of keys that nothing sees",
      "parts of keys with a NaN",
      "attention written out",
      "softmax of short rows, any size",
      "softmax, any size",
      "matmul f8, a K x M, b K x N, any size",
      "matmul u8, any size",
      "matmul i8, any size",
      "parts of integers",
  };
  return machine == "cuda:sm_90a" && std::ranges::count(known, each.name) != 0;
}

TEST_CASE("every kernel has PTX that assembles without spills or losses") {
  bool assembles = !codegen::find_ptxas().empty();
  if (!assembles) WARN("there is no ptxas: PTX is not assembled");
  Cache cache(default_cache_folder());  // cases share kernels
  for (std::string_view machine : gpu_machines) {
    for (GpuCase each : gpu_cases()) {
      DYNAMIC_SECTION(each.name << " for " << machine) {
        for (bool small : {true, false}) {
          if (!small) each.schedule = {.persistent = machine == "cuda:sm_90a"};
          INFO((small ? "small tiles" : "the library's tiles"));
          GpuProgram program(each, machine);
          std::string ptx = ptx_of(program);
          CHECK(ptx.find("ld.local") == std::string::npos);
          // Most of ptxas' time goes to variants for sizes; under small tiles those are the same kernels again.
          bool is_for_any_size = !each.sizes[0].empty();
          if (!assembles || (small && is_for_any_size)) continue;
          auto cubin = codegen::assemble_ptx(ptx, program.machine(), {}, program.diagnostics(), {.cache = &cache});
          INFO(program.messages());
          CHECK(bool(cubin) == (small || !is_known_to_spill(each, machine)));
        }
      }
    }
  }
}

TEST_CASE("a GPU without instructions of its own has PTX that assembles") {
  bool assembles = !codegen::find_ptxas().empty();
  for (const GpuCase* each : cases_named({"matmul of wide", "softmax", "layer"})) {
    INFO(each->name);
    GpuProgram program(*each, "cuda:sm_89");
    std::string ptx = ptx_of(program);
    bool is_for_it = ptx.find(".target sm_89\n") != std::string::npos;
    CHECK(is_for_it);
    if (!assembles) continue;
    CHECK(codegen::assemble_ptx(ptx, program.machine(), {}, program.diagnostics(), {}));
  }
}
