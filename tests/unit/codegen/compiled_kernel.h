#pragma once
// Compiled kernels beside the Tile interpreter.

#include "unit/codegen/kernel_runner.h"
#include "unit/passes/tile_fixture.h"

namespace tessera::test {

/// Runs a tile.kernel of constant fragments by the interpreter and compiled, on the same inputs; the results of the
/// compiled one start as a poison. They must agree within `bound` (0: bit for bit).
inline void check_compiled(TileTest& kernel, const Machine& machine, const std::vector<DimValues>& sizes,
                           double bound = 0) {
  LoweredModule lowered(kernel.text(), machine);
  INFO(lowered.messages());
  REQUIRE(lowered.messages().empty());
  KernelFunction function = lowered.kernel(std::string(symbol_name(kernel.kernel())));
  for (const DimValues& dims : sizes) {
    std::string at;
    for (const auto& [name, value] : dims) at += name + "=" + std::to_string(value) + " ";
    INFO(at << machine.name);
    auto value_of = [&](Dim dim) {
      return *evaluate(dim, [&](std::string_view name) { return std::optional(dims.find(name)->second); });
    };
    std::vector<TensorValue> wanted = kernel.make_tensors(dims), got = kernel.make_tensors(dims);
    kernel.run_kernel(wanted, dims);
    std::vector<void*> buffers;
    for (TensorValue& tensor : got) buffers.push_back(tensor.data());
    Op* target = lowered.module().body()->front();
    std::vector<int64_t> free_dims;
    for (std::string_view name : target->attr(target::attr::Func::dims)) {
      free_dims.push_back(dims.find(name)->second);
    }
    int64_t programs = 1;
    for (Dim extent : target->attr(target::attr::Func::grid)) programs *= value_of(extent);
    size_t scratch_bytes = size_t(value_of(target->attr(target::attr::Func::scratch)));
    void* scratch = std::aligned_alloc(64, (scratch_bytes + 127) / 64 * 64);
    std::fill_n(static_cast<uint8_t*>(scratch), scratch_bytes, uint8_t(0x7f));
    function(buffers.data(), free_dims.data(), 0, programs, scratch);
    std::free(scratch);
    for (size_t i = wanted.size() - size_t(target->attr(target::attr::Func::outputs));
         i < wanted.size(); ++i) {
      double error = difference(got[i], wanted[i]);
      if (error > bound) FAIL("result " << i << " differs by " << error << "\n" << kernel.text());
      CHECK(error <= bound);
    }
  }
}

/// The same for the text of a kernel at tile level, on all machines that can run here.
inline void check_tile_kernel(const std::string& kernel, const std::vector<DimValues>& sizes, double bound = 0) {
  for (const Machine* machine : runnable_machines()) {
    TileTest test("module @m level(tile) version(1) {\n" + kernel + "}\n", machine->name.c_str());
    check_compiled(test, *machine, sizes, bound);
  }
}

/// The same for a kernel at schedule level, split into fragments for each machine.
inline void check_schedule_kernel(const std::string& kernel, const std::vector<DimValues>& sizes, double bound = 0) {
  for (const Machine* machine : runnable_machines()) {
    TileTest test(schedule_module(kernel), machine->name.c_str());
    test.to_tiles();
    bool fine = test.to_fragments();
    INFO(test.messages());
    REQUIRE(fine);
    check_compiled(test, *machine, sizes, bound);
  }
}

}  // namespace tessera::test
