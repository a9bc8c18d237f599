#include <catch2/catch.hpp>

#include "tools/report/facts.h"

using namespace tessera;
using namespace tessera::report;

namespace {

/// TFLOP/s at which a launch of dots alone is estimated.
double rate(const char* target, const char* dot_dtype, format::KernelFragments fragments) {
  format::KernelMeta kernel;
  kernel.work.dot_dtype = dot_dtype;
  kernel.fragments = std::move(fragments);
  Cost cost{.programs = 1, .flops = int64_t(1e15), .dot_flops = int64_t(1e15)};
  return 1e9 / estimate(cost, kernel, *find_machine(target), peak_figures(*find_machine(target))).microseconds();
}

}  // namespace

TEST_CASE("the roofline of a dot is that of its instruction") {
  // The same dtype by each instruction of a machine.
  CHECK(rate("cuda:sm_90a", "bf16", {"64x128x16", "bf16", "f32"}) == Approx(989.4));
  CHECK(rate("cuda:sm_90a", "bf16", {"16x8x16", "bf16", "f32"}) == Approx(0.63 * 989.4));
  CHECK(rate("cuda:sm_90a", "bf16", {}) == Approx(66.9));
  CHECK(rate("cuda:sm_80", "bf16", {"16x8x16", "bf16", "f32"}) == Approx(312));
  CHECK(rate("cuda:sm_80", "bf16", {}) == Approx(19.5));
  CHECK(rate("cpu:x86-64-v4-amx", "bf16", {"16x16x32", "bf16", "f32"}) == Approx(2.6624));
  CHECK(rate("cpu:x86-64-v4-amx", "bf16", {"1x16x2", "bf16", "f32"}) == Approx(0.3328));
  CHECK(rate("cpu:x86-64-v4-amx", "bf16", {}) == Approx(0.1664));
  CHECK(rate("cpu:x86-64-v4-bf16", "bf16", {"1x16x2", "bf16", "f32"}) == Approx(0.3328));
  CHECK(rate("cpu:x86-64-v3", "bf16", {}) == Approx(0.0832));
}

TEST_CASE("the roofline of a dot is that of the factors of its instruction") {
  CHECK(rate("cuda:sm_90a", "f32", {}) == Approx(66.9));
  CHECK(rate("cuda:sm_90a", "f64", {}) == Approx(33.5));
  // f32 that is multiplied as bf16, and 8 bits.
  CHECK(rate("cuda:sm_90a", "f32", {"64x128x16", "bf16", "f32"}) == Approx(989.4));
  CHECK(rate("cuda:sm_90a", "f8e4m3", {"64x128x32", "f8e4m3", "f32"}) == Approx(1978.9));
  CHECK(rate("cuda:sm_90a", "i8", {}) == Approx(66.9));
}

TEST_CASE("a roofline is that of the figures it is given") {
  const Machine& machine = *find_machine("cpu:x86-64-v3");
  format::KernelMeta kernel;
  Cost cost{.programs = 1, .flops = 64000, .reads = 3000, .writes = 1000};
  // 32 operations a cycle: two multiply-adds of eight lanes.
  Estimate time = estimate(cost, kernel, machine, cpu_figures(machine, 4, 8));
  CHECK(time.arithmetic == Approx(0.5));
  CHECK(time.memory == Approx(0.5));
  CHECK(time.microseconds() == Approx(0.5));
  CHECK(estimate(cost, kernel, machine, cpu_figures(machine, 8, 8)).is_memory_bound());
  CHECK_FALSE(estimate(cost, kernel, machine, cpu_figures(machine, 4, 16)).is_memory_bound());
  CHECK(estimate(cost, kernel, machine, peak_figures(machine)).arithmetic == Approx(64000 / 83.2e3));
}

TEST_CASE("a kernel is known by its source, then by its symbol") {
  format::KernelMeta kernel;
  kernel.name = "mlp.2";
  CHECK(title_of(kernel) == "mlp.2");
  kernel.title = "matmul";
  CHECK(title_of(kernel) == "matmul · mlp.2");
  kernel.title = "mlp.2";
  CHECK(title_of(kernel) == "mlp.2");
}
