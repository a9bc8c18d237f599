// Calls that come again are one launch of a graph, with the results of the steps.

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>
#include <thread>

#include "unit/runtime/cuda_sample.h"

using namespace tessera;
using namespace tessera::test;

namespace {

/// The values of x, seen in y after a call.
std::vector<float> result_of(tsr_function_t function, CudaTensor& x, CudaTensor& y) {
  tsr_status_t status = call(function, {&x.tensor}, {&y.tensor});
  INFO(last_error());
  REQUIRE(status == TSR_SUCCESS);
  return y.values();
}

void write(const CudaLoaded& loaded, CudaTensor& x, std::vector<float> values) {
  REQUIRE(tsrCopy(loaded.context, nullptr, x.tensor.data, values.data(), values.size() * sizeof(float)) == TSR_SUCCESS);
}

/// A plan with an input and two results, y = x + 3 and z = x + 2, whose steps are to come.
struct Fork {
  explicit Fork(const char* name) : b(name) {
    b.dim("N");
    x = b.input("x", {"N"});
    y = b.output("y", {"N"});
    z = b.output("z", {"N"});
  }

  PlanBuilder b;
  uint32_t x, y, z;
};

void check_calls(const Fork& fork, int times) {
  CudaLoaded loaded(CudaBundle{{fork.b.plan}}.bytes());
  CudaTensor x(loaded.context, {16}, std::vector<float>(16, 1)), y(loaded.context, {16}), z(loaded.context, {16});
  for (int i = 0; i < times; ++i) {
    REQUIRE(call(loaded.function(fork.b.plan.entry.c_str()), {&x.tensor}, {&y.tensor, &z.tensor}) == TSR_SUCCESS);
    CHECK(y.values() == std::vector<float>(16, 4));
    CHECK(z.values() == std::vector<float>(16, 3));
  }
}

}  // namespace

TEST_CASE("from the second call on the same tensors a call is one graph", "[cuda]") {
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{{twice_plan()}}.bytes());
  tsr_function_t twice = loaded.function("twice");
  CudaTensor x(loaded.context, {3}, {1, 2, 3}), y(loaded.context, {3});
  CHECK(result_of(twice, x, y) == std::vector<float>{3, 4, 5});
  CHECK(gpu.launches().size() == 2);
  CHECK(gpu.counts().graph_launches == 0);
  CHECK(result_of(twice, x, y) == std::vector<float>{3, 4, 5});
  CHECK(gpu.launches().size() == 4);
  CHECK(gpu.counts().graph_launches == 1);
  write(loaded, x, {10, 20, 30});
  CHECK(result_of(twice, x, y) == std::vector<float>{12, 22, 32});
  CHECK(gpu.launches().size() == 4);
  CHECK(gpu.counts().graph_launches == 2);

  SECTION("other tensors and other sizes are calls of their own") {
    CudaTensor other(loaded.context, {3}, {5, 6, 7}), small(loaded.context, {1}, {8}), one(loaded.context, {1});
    CHECK(result_of(twice, other, y) == std::vector<float>{7, 8, 9});
    CHECK(result_of(twice, small, one) == std::vector<float>{10});
    CHECK(gpu.counts().graph_launches == 2);
    CHECK(gpu.launches().size() == 8);
    CHECK(result_of(twice, x, y) == std::vector<float>{12, 22, 32});
    CHECK(gpu.counts().graph_launches == 3);
    CHECK(result_of(twice, other, y) == std::vector<float>{7, 8, 9});
    CHECK(gpu.counts().graph_launches == 4);
  }
  SECTION("graphs that were used longest ago go first") {
    std::vector<std::unique_ptr<CudaTensor>> tensors;
    for (int i = 0; i < 80; ++i) {
      auto& next = tensors.emplace_back(std::make_unique<CudaTensor>(loaded.context, std::vector<int64_t>{3},
                                                                     std::vector<float>{float(i), 0, 1}));
      for (int times = 0; times < 2; ++times) CHECK(result_of(twice, *next, y)[0] == float(i + 2));
    }
    CHECK(gpu.counts().graphs == 64);
  }
}

TEST_CASE("loops are part of a graph, unless they are too long for one", "[cuda]") {
  auto [rows, graphs] = GENERATE(std::pair<size_t, int>(2, 2), std::pair<size_t, int>(17000, 0));
  PlanBuilder b("rows");
  b.dim("N");
  uint32_t x = b.input("x", {"N", "16"});
  uint32_t y = b.output("y", {"N", "16"});
  uint32_t i = b.loop_dim("i");
  uint32_t from = b.temp({"16"}, 0, 3), to = b.temp({"16"}, 0, 3);
  b.step(format::ForStep{i, b.expr("0"), b.expr("N"), 3});
  b.step(format::AliasStep{from, x, b.expr("i * 64")});
  b.step(format::AliasStep{to, y, b.expr("i * 64")});
  b.launch("add_one", {from, to}, {"16"});
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{{b.plan}}.bytes());
  std::vector<float> values(rows * 16), wanted(rows * 16);
  for (size_t at = 0; at < values.size(); ++at) wanted[at] = (values[at] = float(at)) + 1;
  CudaTensor in(loaded.context, {int64_t(rows), 16}, values), out(loaded.context, {int64_t(rows), 16});
  for (int times = 0; times < 3; ++times) CHECK(result_of(loaded.function("rows"), in, out) == wanted);
  CHECK(gpu.counts().graph_launches == graphs);
}

TEST_CASE("calls that wait for the GPU or are one operation are no graphs", "[cuda]") {
  PlanBuilder b("branch");
  uint32_t x = b.input("x", {"1"});
  uint32_t y = b.output("y", {"1"});
  uint32_t flag = b.temp({}, 0, 1, Dtype::Bool);
  b.launch("is_positive", {x, flag}, {});
  b.step(format::IfStep{flag, 1, 1});
  b.launch("add_one", {x, y}, {"1"});
  b.step(format::FillStep{y, 4, 0});
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{{add_one_plan(), b.plan}}.bytes());
  CudaTensor in(loaded.context, {1}, {5}), out(loaded.context, {1});
  for (const char* name : {"branch", "add_one"}) {
    for (int times = 0; times < 3; ++times) CHECK(result_of(loaded.function(name), in, out)[0] == 6);
  }
  CHECK(gpu.counts().graph_launches == 0);
}

TEST_CASE("without graphs all calls are followed step by step", "[cuda]") {
  const char* variable = GENERATE("TSR_GRAPHS", "TSR_SYNC");
  ::setenv(variable, std::string(variable) == "TSR_SYNC" ? "1" : "0", 1);
  {
    FakeGpu gpu;
    CudaLoaded loaded(CudaBundle{{twice_plan()}}.bytes());
    CudaTensor x(loaded.context, {3}, {1, 2, 3}), y(loaded.context, {3});
    for (int times = 0; times < 3; ++times) {
      CHECK(result_of(loaded.function("twice"), x, y) == std::vector<float>{3, 4, 5});
    }
    CHECK(gpu.counts().graph_launches == 0);
    CHECK(gpu.launches().size() == 6);
  }
  ::unsetenv(variable);
}

TEST_CASE("where a graph cannot be made, calls go on without", "[cuda]") {
  const char* symbol = GENERATE("cuStreamCreate", "cuStreamBeginCapture_v2", "cuStreamEndCapture",
                                "cuStreamGetCaptureInfo_v2", "cuStreamUpdateCaptureDependencies",
                                "cuGraphInstantiateWithFlags", "cuLaunchKernel");
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{{twice_plan()}}.bytes());
  CudaTensor x(loaded.context, {3}, {1, 2, 3}), y(loaded.context, {3});
  CHECK(result_of(loaded.function("twice"), x, y) == std::vector<float>{3, 4, 5});
  gpu.fail(symbol, 2);
  for (int times = 0; times < 2; ++times) {
    CHECK(result_of(loaded.function("twice"), x, y) == std::vector<float>{3, 4, 5});
  }
  CHECK(gpu.counts().graph_launches == 0);
  CHECK(gpu.counts().streams == 0);
}

TEST_CASE("what a graph did wrong is said with its entry", "[cuda]") {
  PlanBuilder b("faults");
  uint32_t x = b.input("x", {"4"});
  uint32_t y = b.output("y", {"4"});
  b.launch("add_one", {x, y}, {"4"});
  b.launch("add_one", {x, y}, {"4"});
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{{b.plan}}.bytes());
  CudaTensor in(loaded.context, {4}, {1, 2, 3, 4}), out(loaded.context, {4});
  for (int times = 0; times < 2; ++times) result_of(loaded.function("faults"), in, out);
  gpu.fail("cuGraphLaunch", 2);
  CHECK(call(loaded.function("faults"), {&in.tensor}, {&out.tensor}) == TSR_EOOM);
  CHECK(last_error() == "faults: cuGraphLaunch: CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
  CHECK(result_of(loaded.function("faults"), in, out)[0] == 2);
}

TEST_CASE("operations of a graph wait for those that share memory with them", "[cuda]") {
  // The fake GPU runs last what the graph lets it run last: y by way of v and w, and z by way of u.
  Fork fork("apart");
  auto& [b, x, y, z] = fork;
  uint32_t u = b.temp({"N"}, 0, 1), v = b.temp({"N"}, 2, 4), w = b.temp({"N"}, 3, 6);
  b.launch("add_one", {x, u}, {"N"});
  b.launch("add_one", {u, z}, {"N"});
  b.launch("add_one", {x, v}, {"N"});
  b.launch("add_one", {v, w}, {"N"});
  b.step(format::FillStep{v, 4, 0});
  b.launch("add_one", {w, y}, {"N"});
  b.step(format::CopyStep{w, y});
  FakeGpu gpu;
  check_calls(fork, 4);
  CHECK(gpu.counts().graph_launches == 3);
}

TEST_CASE("a kernel of a graph starts early where it waits for one launch alone", "[cuda]") {
  Fork fork("early");
  auto& [b, x, y, z] = fork;
  uint32_t u = b.temp({"N"}, 0, 4), v = b.temp({"N"}, 1, 4), w = b.temp({"N"}, 2, 4);
  b.launch("add_one_persistent", {x, u}, {"N"});
  b.launch("add_one_persistent", {u, v}, {"N"});
  b.step(format::CopyStep{w, v});
  b.launch("add_one_persistent", {w, y}, {"N"});
  b.launch("add_one_persistent", {u, z}, {"N"});
  FakeGpu gpu;
  check_calls(fork, 2);
  std::vector<FakeLaunch> launches = gpu.launches();
  REQUIRE(launches.size() == 8);
  for (size_t i = 0; i < 4; ++i) CHECK(launches[i].overlaps);  // step by step each has a launch ahead of it
  // Recorded: nothing ahead, one launch, a copy, one launch.
  for (size_t i = 0; i < 4; ++i) CHECK(launches[4 + i].overlaps == (i % 2 == 1));
}

TEST_CASE("calls that were cancelled become graphs later", "[cuda]") {
  PlanBuilder b("long");
  b.dim("N");
  uint32_t x = b.input("x", {"N"}), y = b.output("y", {"N"});
  for (int i = 0; i < 200; ++i) b.launch("add_one", {x, y}, {"N"});
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{{b.plan}}.bytes());
  std::atomic<bool> is_over = false;
  std::thread cancelling([&] {
    while (!is_over) tsrCancel(loaded.context, nullptr);
  });
  std::vector<std::unique_ptr<CudaTensor>> in, out;
  for (int i = 0; i < 20; ++i) {
    in.push_back(std::make_unique<CudaTensor>(loaded.context, std::vector<int64_t>{i + 1}));
    out.push_back(std::make_unique<CudaTensor>(loaded.context, std::vector<int64_t>{i + 1}));
    for (int k = 0; k < 3; ++k) (void)call(loaded.function("long"), {&in[i]->tensor}, {&out[i]->tensor});
  }
  is_over = true;
  cancelling.join();
  for (int i = 0; i < 20; ++i) {
    REQUIRE(call(loaded.function("long"), {&in[i]->tensor}, {&out[i]->tensor}) == TSR_SUCCESS);
    int before = gpu.counts().graph_launches;
    REQUIRE(call(loaded.function("long"), {&in[i]->tensor}, {&out[i]->tensor}) == TSR_SUCCESS);
    REQUIRE(tsrSynchronize(loaded.context, nullptr, TSR_FOREVER) == TSR_SUCCESS);
    CHECK(gpu.counts().graph_launches == before + 1);
  }
}
