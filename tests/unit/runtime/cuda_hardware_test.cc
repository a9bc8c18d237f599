// The same kernels on a real GPU of compute capability 9.0, where there is one: what the fake
// driver takes on trust (layouts of structures, numbers of attributes, symbols) is found wrong
// here.

#include <catch2/catch.hpp>

#include "unit/runtime/cuda/kernels_ptx.h"
#include "unit/runtime/cuda_sample.h"

using namespace tessera;
using namespace tessera::test;

namespace {

/// A bundle that the machine's GPU runs; null without such a GPU.
std::unique_ptr<CudaLoaded> load_for_hardware(const std::vector<format::Plan>& plans) {
  CudaBundle bundle{plans};
  bundle.has_cubin = false;
  bundle.ptx = cuda_kernels_ptx;
  std::string bytes = bundle.bytes();
  tsr_context_t context = nullptr;
  tsr_module_t module = nullptr;
  bool is_there = create_on("cuda:0", &context) == TSR_SUCCESS;
  tsr_status_t status = TSR_EUNSUPPORTED;
  if (is_there) {
    status = load_with(context, bytes, TSR_ALLOW_JIT, &module);
  }
  std::string why = last_error();
  tsrDestroyContext(context);
  bool is_other = !is_there || why.find("needs compute capability") != std::string::npos;
  if (status == TSR_EUNSUPPORTED && is_other) {
    WARN("not run: " << why);
    return nullptr;
  }
  return std::make_unique<CudaLoaded>(bytes, TSR_ALLOW_JIT);
}

std::vector<float> count_up(size_t n) {
  std::vector<float> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = float(i);
  return out;
}

/// h = x > 0 ? x + 1 : 0, and fills of every width.
format::Plan branch_plan() {
  PlanBuilder b("branch");
  uint32_t x = b.input("x", {"1"});
  uint32_t y = b.output("y", {"1"});
  uint32_t wide = b.output("wide", {"5"}, Dtype::I64);
  uint32_t narrow = b.output("narrow", {"4"}, Dtype::I16);
  uint32_t flag = b.temp({}, 0, 1, Dtype::Bool);
  b.launch("is_positive", {x, flag}, {});
  b.step(format::IfStep{flag, 1, 1});
  b.launch("add_one", {x, y}, {"1"});
  b.step(format::FillStep{y, 4, 0});
  b.step(format::FillStep{wide, 8, 0x0000000200000001});
  b.step(format::FillStep{narrow, 2, 0x1234});
  return b.plan;
}

void launch(CudaLoaded& loaded, const char* name, std::vector<void*> args) {
  tsr_kernel_t kernel = nullptr;
  REQUIRE(tsrGetKernel(loaded.module, name, &kernel) == TSR_SUCCESS);
  tsr_status_t status = tsrLaunch(kernel, nullptr, {}, args.data(), args.size());
  INFO(last_error());
  REQUIRE(status == TSR_SUCCESS);
}

}  // namespace

TEST_CASE("kernels, clusters and tensor maps work on a GPU", "[cuda][hardware]") {
  auto loaded = load_for_hardware({add_one_plan()});
  if (!loaded) return;
  for (uint32_t n : {1u, 40u, 100000u}) {
    CudaTensor x(loaded->context, {n}, count_up(n));
    CudaTensor y(loaded->context, {n});
    std::vector<float> expected = count_up(n);
    for (float& value : expected) ++value;
    REQUIRE(call(loaded->function("add_one"), {&x.tensor}, {&y.tensor}) == TSR_SUCCESS);
    CHECK(y.values() == expected);
    CudaTensor z(loaded->context, {n});
    launch(*loaded, "add_one_persistent", {&x.tensor.data, &z.tensor.data, &n});
    CHECK(z.values() == expected);
  }
  for (uint32_t m : {1u, 64u, 200u}) {
    for (uint32_t n : {4u, 32u, 100u}) {
      CudaTensor x(loaded->context, {m, n}, count_up(m * n));
      CudaTensor y(loaded->context, {m, n});
      launch(*loaded, "copy_boxes", {&x.tensor.data, &y.tensor.data, &m, &n});
      CHECK(y.values() == count_up(m * n));
    }
  }
}

TEST_CASE("branches, fills, streams and events work on a GPU", "[cuda][hardware]") {
  auto loaded = load_for_hardware({branch_plan()});
  if (!loaded) return;
  tsr_stream_t stream = nullptr;
  tsr_event_t start = nullptr;
  tsr_event_t end = nullptr;
  REQUIRE(tsrCreateStream(loaded->context, nullptr, &stream) == TSR_SUCCESS);
  REQUIRE(tsrCreateEvent(loaded->context, &start) == TSR_SUCCESS);
  REQUIRE(tsrCreateEvent(loaded->context, &end) == TSR_SUCCESS);
  CudaTensor wide(loaded->context, {5}, Dtype::I64);
  CudaTensor narrow(loaded->context, {4}, Dtype::I16);
  CudaTensor y(loaded->context, {1});
  for (float value : {5.0f, -5.0f}) {
    CudaTensor x(loaded->context, {1}, {value});
    REQUIRE(tsrRecordEvent(start, stream) == TSR_SUCCESS);
    REQUIRE(call(loaded->function("branch"), {&x.tensor}, {&y.tensor, &wide.tensor, &narrow.tensor},
                 stream) == TSR_SUCCESS);
    REQUIRE(tsrRecordEvent(end, stream) == TSR_SUCCESS);
    REQUIRE(tsrSynchronize(loaded->context, stream, 10000) == TSR_SUCCESS);
    float milliseconds = 0;
    REQUIRE(tsrGetElapsedTime(start, end, &milliseconds) == TSR_SUCCESS);
    CHECK(milliseconds > 0);
    CHECK(y.values()[0] == (value > 0 ? 6 : 0));
  }
  int64_t wide_values[5];
  int16_t narrow_values[4];
  wide.read(wide_values);
  narrow.read(narrow_values);
  for (int64_t value : wide_values) CHECK(value == 0x0000000200000001);
  for (int16_t value : narrow_values) CHECK(value == 0x1234);
}

TEST_CASE("memory of each kind works on a GPU", "[cuda][hardware]") {
  auto loaded = load_for_hardware({});
  if (!loaded) return;
  CudaTensor x(loaded->context, {1000}, count_up(1000));
  for (uint32_t flags : {TSR_DEVICE, TSR_HOST, TSR_PINNED, TSR_DEVICE | TSR_HOST}) {
    void* memory = nullptr;
    std::vector<float> back(1000);
    REQUIRE(tsrAlloc(loaded->context, 4000, flags, &memory) == TSR_SUCCESS);
    REQUIRE(tsrCopy(loaded->context, nullptr, memory, x.tensor.data, 4000) == TSR_SUCCESS);
    REQUIRE(tsrCopy(loaded->context, nullptr, back.data(), memory, 4000) == TSR_SUCCESS);
    CHECK(back == count_up(1000));
    REQUIRE(tsrFree(loaded->context, memory) == TSR_SUCCESS);
  }
  void* huge = nullptr;
  CHECK(tsrAlloc(loaded->context, size_t(1) << 50, TSR_DEVICE, &huge) == TSR_EOOM);
}
