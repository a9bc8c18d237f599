// The tests of split_to_fragments (tests/unit/passes/split*_test.cc) on machine code: what is
// compiled computes what the interpreter computes for whole tiles.

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "passes/analysis/kernels.h"
#include "unit/codegen/kernel_runner.h"
#include "unit/passes/tile_fixture.h"

namespace tessera {

namespace {

int64_t value_of(Dim dim, const DimValues& dims) {
  return *evaluate(dim,
                   [&](std::string_view name) { return std::optional(dims.find(name)->second); });
}

/// The values of a kernel's free dims, in the order of a launch.
std::vector<int64_t> dim_values(Op* kernel, const DimValues& dims) {
  std::vector<int64_t> values;
  for (const std::string& name : free_dims(kernel)) values.push_back(dims.at(name));
  return values;
}

}  // namespace

bool run_fragments(TileTest& split, std::vector<TensorValue>& tensors, const DimValues& dims,
                   const char* machine) {
  std::vector<const Machine*> machines = test::runnable_machines();
  const Machine* wanted = find_machine(machine);
  if (std::find(machines.begin(), machines.end(), wanted) == machines.end()) return false;
  Op* kernel = split.kernel();
  // One kernel is run for several sizes in a row.
  static std::string text;
  static std::unique_ptr<test::LoweredModule> compiled;
  std::string now = split.text() + machine;
  if (now != text) {
    compiled = std::make_unique<test::LoweredModule>(split.text(), *wanted);
    text = now;
  }
  INFO(compiled->messages());
  REQUIRE(compiled->messages().empty());
  std::vector<void*> buffers;
  for (TensorValue& tensor : tensors) buffers.push_back(tensor.data());
  int64_t programs = 1;
  for (Dim extent : kernel->attr(tile::attr::Kernel::grid)) programs *= value_of(extent, dims);
  size_t bytes = size_t(value_of(kernel->attr(tile::attr::Kernel::scratch), dims));
  std::unique_ptr<void, decltype(&std::free)> scratch(std::aligned_alloc(64, bytes + 64),
                                                      &std::free);
  std::vector<int64_t> values = dim_values(kernel, dims);
  compiled->kernel(std::string(symbol_name(kernel)))(buffers.data(), values.data(), 0, programs,
                                                     scratch.get());
  return true;
}

double allowed_difference(DType dtype, double bound) {
  if (!is_float(dtype)) return bound;
  bool narrow = byte_size(dtype) < 4;
  return std::max(bound, narrow ? 0.01 : 1e-5);
}

}  // namespace tessera
