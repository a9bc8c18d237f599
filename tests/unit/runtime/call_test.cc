// Plans run through the C interface: steps, dims, memory.

#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "unit/runtime/sample.h"

using namespace tessera::test;
using namespace tessera::format;

namespace {

std::vector<float> iota(size_t count) {
  std::vector<float> out(count);
  std::iota(out.begin(), out.end(), 0.0f);
  return out;
}

/// y = x + 1 + 1 + 1, through two temps.
Plan chain() {
  PlanBuilder b("chain");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  uint32_t t = b.temp({"N"}, 0, 1);
  uint32_t u = b.temp({"N"}, 1, 2);
  b.launch("add_one", {x, t}, {"N"});
  b.launch("add_one", {t, u}, {"N"});
  b.launch("add_one", {u, y}, {"N"});
  return b.plan;
}

}  // namespace

TEST_CASE("a chain of launches runs through temps", "[runtime]") {
  Loaded loaded(make_bundle({chain()}));
  for (int64_t n : {1, 16, 1000}) {
    HostTensor x({n}, iota(size_t(n)));
    HostTensor y({n});
    REQUIRE(call(loaded.function("chain"), {&x.tensor}, {&y.tensor}) == TSR_SUCCESS);
    for (int64_t i = 0; i < n; ++i) REQUIRE(y.floats()[i] == float(i) + 3);
  }
}

TEST_CASE("a call uses the caller's workspace", "[runtime]") {
  Loaded loaded(make_bundle({chain()}));
  tsr_function_t function = loaded.function("chain");
  HostTensor x({100}, iota(100)), y({100});
  const tsr_tensor_t* inputs[] = {&x.tensor};
  tsr_tensor_t* outputs[] = {&y.tensor};
  size_t bytes = 0;
  REQUIRE(tsrGetWorkspaceSize(function, inputs, 1, &bytes) == TSR_SUCCESS);
  CHECK(bytes >= 800);
  HostTensor workspace({int64_t(bytes / 4) + 16});
  std::fill_n(workspace.floats(), bytes / 4 + 16, 0.5f);
  // With no memory of the context at all.
  auto limits = sized<tsr_limits_t>();
  limits.memory = 1;
  REQUIRE(tsrSetLimits(loaded.context, &limits) == TSR_SUCCESS);
  CHECK(tsrCall(function, nullptr, inputs, 1, outputs, 1, nullptr) == TSR_EOOM);
  auto options = sized<tsr_call_options_t>();
  options.workspace = workspace.floats();
  options.workspace_size = bytes;
  REQUIRE(tsrCall(function, nullptr, inputs, 1, outputs, 1, &options) == TSR_SUCCESS);
  for (size_t i = 0; i < 100; ++i) REQUIRE(y.floats()[i] == float(i) + 3);
  CHECK(workspace.floats()[0] != 0.5f);
  for (size_t i = 0; i < 16; ++i) CHECK(workspace.floats()[bytes / 4 + i] == 0.5f);
  --options.workspace_size;
  CHECK(tsrCall(function, nullptr, inputs, 1, outputs, 1, &options) == TSR_EINVAL);
  CHECK(last_error() == "chain: the workspace has " + std::to_string(bytes - 1) + " bytes; the call needs " +
                            std::to_string(bytes));
  HostTensor both({int64_t(bytes / 4) + 100});
  options.workspace_size = bytes;
  options.workspace = both.floats();
  tsr_tensor_t inside = y.tensor;
  inside.data = both.floats() + bytes / 4 - 16;
  outputs[0] = &inside;
  CHECK(tsrCall(function, nullptr, inputs, 1, outputs, 1, &options) == TSR_EINVAL);
  CHECK(last_error() == "chain: the workspace overlaps output 'y'");
  outputs[0] = &y.tensor;
  inputs[0] = &inside;
  CHECK(tsrCall(function, nullptr, inputs, 1, outputs, 1, &options) == TSR_EINVAL);
  CHECK(last_error() == "chain: the workspace overlaps input 'x'");
  inside.data = both.floats() + bytes / 4;
  std::fill_n(both.floats(), bytes / 4 + 100, 1.0f);
  CHECK(tsrCall(function, nullptr, inputs, 1, outputs, 1, &options) == TSR_SUCCESS);
  inputs[0] = &x.tensor;
  options.workspace = workspace.floats() + 1;
  CHECK(tsrCall(function, nullptr, inputs, 1, outputs, 1, &options) == TSR_EINVAL);
  CHECK(last_error() == "chain: the workspace must be at a multiple of 64 bytes");
}

namespace {

/// "0:x[3]" for each tensor that is told, the number being its kind.
void note_tensor(void* user, const tsr_trace_tensor_t* tensor) {
  std::string& text = *static_cast<std::string*>(user);
  text += std::to_string(int(tensor->kind)) + ":" + tensor->name + "[";
  for (int32_t i = 0; i < tensor->ndim; ++i) text += (i ? "," : "") + std::to_string(tensor->shape[i]);
  text += "]";
  if (*tensor->kernel) text += "@" + std::string(tensor->kernel) + std::to_string(tensor->step);
  text += " ";
}

}  // namespace

TEST_CASE("a watched call tells its tensors as they flow", "[runtime]") {
  Loaded loaded(make_bundle({chain()}));
  std::string told;
  REQUIRE(tsrSetTrace(loaded.context, note_tensor, &told) == TSR_SUCCESS);
  HostTensor x({3}, iota(3));
  HostTensor y({3});
  REQUIRE(call(loaded.function("chain"), {&x.tensor}, {&y.tensor}) == TSR_SUCCESS);
  CHECK(told ==
        "0:x[3] 2:x[3]@add_one0 3:t2[3]@add_one0 2:t2[3]@add_one1 3:t3[3]@add_one1 "
        "2:t3[3]@add_one2 3:y[3]@add_one2 4:y[3] ");
  // A call that is refused tells nothing.
  told.clear();
  HostTensor z({2});
  CHECK(call(loaded.function("chain"), {&x.tensor}, {&z.tensor}) == TSR_EINVAL);
  CHECK(told.empty());
  REQUIRE(tsrSetTrace(loaded.context, nullptr, nullptr) == TSR_SUCCESS);
  REQUIRE(call(loaded.function("chain"), {&x.tensor}, {&y.tensor}) == TSR_SUCCESS);
  CHECK(told.empty());
  CHECK(tsrSetTrace(nullptr, note_tensor, &told) == TSR_EINVAL);
}

TEST_CASE("a zero extent launches nothing", "[runtime]") {
  Loaded loaded(make_bundle({chain()}));
  HostTensor x({0});
  HostTensor y({0});
  CHECK(call(loaded.function("chain"), {&x.tensor}, {&y.tensor}) == TSR_SUCCESS);
  x.tensor.data = nullptr;
  y.tensor.data = nullptr;
  CHECK(call(loaded.function("chain"), {&x.tensor}, {&y.tensor}) == TSR_SUCCESS);
}

TEST_CASE("results do not depend on the number of threads", "[runtime]") {
  PlanBuilder b("linear");
  b.dim("M");
  b.dim("K");
  b.dim("N");
  uint32_t x = b.input("x", {"M", "K"});
  uint32_t w = b.input("w", {"K", "N"});
  uint32_t y = b.output("y", {"M", "N"});
  b.launch("tile_linear", {x, w, y}, {"M", "N", "K"});
  Loaded loaded(make_bundle({b.plan}));
  HostTensor a({37, 19}, iota(37 * 19));
  HostTensor c({19, 23}, iota(19 * 23));
  std::vector<std::vector<float>> results;
  for (uint32_t threads : {1u, 2u, 5u}) {
    REQUIRE(tsrSetThreads(loaded.context, threads) == TSR_SUCCESS);
    HostTensor out({37, 23});
    REQUIRE(call(loaded.function("linear"), {&a.tensor, &c.tensor}, {&out.tensor}) == TSR_SUCCESS);
    results.push_back(out.values());
  }
  float expected = 0;
  for (int p = 0; p < 19; ++p) expected += float(36 * 19 + p) * float(p * 23 + 22);
  CHECK(results[0].back() == expected);
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

TEST_CASE("each call of a kernel has its scratch memory", "[runtime]") {
  PlanBuilder b("sums");
  b.dim("M");
  b.dim("N");
  uint32_t x = b.input("x", {"M", "N"});
  uint32_t y = b.output("y", {"M"});
  b.launch("row_sum", {x, y}, {"M", "N"});
  Loaded loaded(make_bundle({b.plan}));
  REQUIRE(tsrSetThreads(loaded.context, 4) == TSR_SUCCESS);
  HostTensor in({500, 33}, std::vector<float>(500 * 33, 2.0f));
  HostTensor out({500});
  REQUIRE(call(loaded.function("sums"), {&in.tensor}, {&out.tensor}) == TSR_SUCCESS);
  CHECK(out.values() == std::vector<float>(500, 66.0f));
}

TEST_CASE("select chooses by dims and if by content", "[runtime]") {
  PlanBuilder b("choose");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  uint32_t z = b.output("z", {"N"});
  uint32_t flag = b.temp({}, 3, 4, Dtype::Bool);
  b.step(SelectStep{b.expr("N > 4"), 1, 1});  // step 0
  b.launch("add_one", {x, y}, {"N"});
  b.step(CopyStep{y, x});
  b.launch("is_positive", {x, flag}, {});  // step 3
  b.step(IfStep{flag, 1, 1});
  b.step(FillStep{z, 4, 0x3f800000});  // 1.0f
  b.step(FillStep{z, 1, 0});
  Loaded loaded(make_bundle({b.plan}));
  HostTensor small({2}, {5, 7});
  HostTensor copied({2});
  HostTensor ones({2});
  REQUIRE(call(loaded.function("choose"), {&small.tensor}, {&copied.tensor, &ones.tensor}) ==
          TSR_SUCCESS);
  CHECK(copied.values() == std::vector<float>{5, 7});
  CHECK(ones.values() == std::vector<float>{1, 1});
  HostTensor large({5}, {-1, 2, 3, 4, 5});
  HostTensor added({5});
  HostTensor zeros({5}, {9, 9, 9, 9, 9});
  REQUIRE(call(loaded.function("choose"), {&large.tensor}, {&added.tensor, &zeros.tensor}) ==
          TSR_SUCCESS);
  CHECK(added.values() == std::vector<float>{0, 3, 4, 5, 6});
  CHECK(zeros.values() == std::vector<float>{0, 0, 0, 0, 0});
}

TEST_CASE("temps of steps that the dims do not choose have no memory, and no shape", "[runtime]") {
  PlanBuilder b("untaken");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  uint32_t rest = b.temp({"100 // (N - 4)"}, 1, 1);
  uint32_t same = b.temp({"N"}, 2, 3);
  b.step(SelectStep{b.expr("N > 4"), 1, 2});
  b.step(FillStep{rest, 4, 0});
  b.launch("add_one", {x, same}, {"N"});
  b.step(CopyStep{y, same});
  Loaded loaded(make_bundle({b.plan}));
  for (int64_t n : {4, 2, 0}) {
    HostTensor in({n}, std::vector<float>(size_t(n), 1));
    HostTensor out({n});
    REQUIRE(call(loaded.function("untaken"), {&in.tensor}, {&out.tensor}) == TSR_SUCCESS);
    CHECK(out.values() == std::vector<float>(size_t(n), 2));
  }
  HostTensor in({5}, {1, 2, 3, 4, 5});
  HostTensor out({5}, {9, 9, 9, 9, 9});
  REQUIRE(call(loaded.function("untaken"), {&in.tensor}, {&out.tensor}) == TSR_SUCCESS);
  CHECK(out.values() == std::vector<float>(5, 9));
}

TEST_CASE("a loop reads its counter and works on views", "[runtime]") {
  // Row i of y is row i of x plus 1.
  PlanBuilder b("rows");
  b.dim("M");
  b.dim("N");
  uint32_t i = b.loop_dim("i");
  uint32_t x = b.input("x", {"M", "N"});
  uint32_t y = b.output("y", {"M", "N"});
  uint32_t from = b.temp({"N"}, 1, 3);
  uint32_t to = b.temp({"N"}, 1, 3);
  b.plan.buffers[from].alignment = b.plan.buffers[to].alignment = 4;
  b.step(ForStep{i, b.expr("0"), b.expr("M"), 3});
  b.step(AliasStep{from, x, b.expr("4*i*N")});
  b.step(AliasStep{to, y, b.expr("4*i*N")});
  b.launch("add_one", {from, to}, {"N"});
  Loaded loaded(make_bundle({b.plan}));
  HostTensor in({3, 5}, iota(15));
  HostTensor out({3, 5});
  REQUIRE(call(loaded.function("rows"), {&in.tensor}, {&out.tensor}) == TSR_SUCCESS);
  for (int k = 0; k < 15; ++k) CHECK(out.floats()[k] == float(k) + 1);
}

TEST_CASE("constants are aligned and have the plan's content", "[runtime]") {
  PlanBuilder b("scaled");
  b.dim("M");
  uint32_t x = b.input("x", {"M", "3"});
  uint32_t y = b.output("y", {"M", "3"});
  b.constant({0});
  uint32_t s = b.constant({2, 3, 5});
  b.launch("scale", {x, s, y}, {"M", "3"});
  Loaded loaded(make_bundle({b.plan}));
  HostTensor in({2, 3}, {1, 1, 1, 2, 2, 2});
  HostTensor out({2, 3});
  REQUIRE(call(loaded.function("scaled"), {&in.tensor}, {&out.tensor}) == TSR_SUCCESS);
  CHECK(out.values() == std::vector<float>{2, 3, 5, 4, 6, 10});
}

TEST_CASE("a donated input is its output's memory", "[runtime]") {
  PlanBuilder b("update");
  b.dim("N");
  uint32_t state = b.input("state", {"N"});
  uint32_t next = b.output("next", {"N"});
  b.step(AliasStep{next, state, b.expr("0")});
  b.launch("add_one", {state, next}, {"N"});
  EntryFacts facts;
  facts.donated["next"] = "state";
  Loaded loaded(make_bundle({b.plan}, {{"update", facts}}));
  HostTensor held({3}, {1, 2, 3});
  HostTensor result({3});
  result.tensor.data = nullptr;
  REQUIRE(call(loaded.function("update"), {&held.tensor}, {&result.tensor}) == TSR_SUCCESS);
  CHECK(result.tensor.data == held.tensor.data);
  CHECK(held.values() == std::vector<float>{2, 3, 4});
  HostTensor other({3});
  CHECK(call(loaded.function("update"), {&held.tensor}, {&other.tensor}) == TSR_EINVAL);
  CHECK(last_error() ==
        "update: output 'next' is the donated input 'state'; its data must be NULL or that "
        "input's");
}

TEST_CASE("an omitted seed is zero", "[runtime]") {
  PlanBuilder b("seeded");
  uint32_t seed = b.input("seed", {}, Dtype::U64);
  uint32_t y = b.output("y", {}, Dtype::U64);
  b.launch("copy_seed", {seed, y}, {});
  EntryFacts facts;
  facts.seeds = {"seed"};
  Loaded loaded(make_bundle({b.plan}, {{"seeded", facts}}));
  HostTensor given({}, Dtype::U64);
  HostTensor out({}, Dtype::U64);
  auto& number = *static_cast<uint64_t*>(out.tensor.data);
  *static_cast<uint64_t*>(given.tensor.data) = 41;
  REQUIRE(call(loaded.function("seeded"), {&given.tensor}, {&out.tensor}) == TSR_SUCCESS);
  CHECK(number == 41);
  REQUIRE(call(loaded.function("seeded"), {nullptr}, {&out.tensor}) == TSR_SUCCESS);
  CHECK(number == 0);
  auto info = sized<tsr_tensor_info_t>();
  REQUIRE(tsrGetInputInfo(loaded.function("seeded"), 0, &info) == TSR_SUCCESS);
  CHECK(info.flags == TSR_TENSOR_SEED);
  CHECK(std::string(info.dtype) == "u64");
}

TEST_CASE("an integer input may be a dimension", "[runtime]") {
  PlanBuilder b("first_rows");
  b.dim("N");
  uint32_t count = b.input("count", {}, Dtype::I32);
  b.scalar_dim("count", count);
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"count"});
  b.guard("count <= N", "where count <= N (rows.tsr:3:9) does not hold");
  b.launch("add_one", {x, y}, {"count"});
  Loaded loaded(make_bundle({b.plan}));
  HostTensor n({}, Dtype::I32);
  auto& value = *static_cast<int32_t*>(n.tensor.data);
  HostTensor in({4}, iota(4));
  HostTensor out({2});
  value = 2;
  int64_t extent = 0;
  int32_t rank = 0;
  const tsr_tensor_t* inputs[] = {&n.tensor, &in.tensor};
  REQUIRE(tsrGetOutputShape(loaded.function("first_rows"), 0, inputs, 2, &extent, 1, &rank) ==
          TSR_SUCCESS);
  CHECK(rank == 1);
  CHECK(extent == 2);
  REQUIRE(call(loaded.function("first_rows"), {&n.tensor, &in.tensor}, {&out.tensor}) ==
          TSR_SUCCESS);
  CHECK(out.values() == std::vector<float>{1, 2});
  value = 7;
  CHECK(call(loaded.function("first_rows"), {&n.tensor, &in.tensor}, {&out.tensor}) == TSR_EINVAL);
  CHECK(last_error() ==
        "first_rows: where count <= N (rows.tsr:3:9) does not hold: 7 <= 4; N = 4 from input 'x', axis 0, "
        "count = 7 from input 'count'");
  value = -1;
  CHECK(call(loaded.function("first_rows"), {&n.tensor, &in.tensor}, {&out.tensor}) == TSR_EINVAL);
  CHECK(last_error() == "first_rows: an extent of 'y' is count = -1, which is negative");
}

TEST_CASE("poison shows what a plan leaves unwritten", "[runtime]") {
  PlanBuilder b("unwritten");
  b.dim("N");
  b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  uint32_t t = b.temp({"N"}, 0, 0);
  b.step(CopyStep{y, t});
  ::setenv("TSR_POISON", "1", 1);
  Loaded loaded(make_bundle({b.plan}));
  ::unsetenv("TSR_POISON");  // which calls do not look at
  HostTensor in({3}, {1, 2, 3});
  HostTensor out({3});
  tsr_status_t status = call(loaded.function("unwritten"), {&in.tensor}, {&out.tensor});
  REQUIRE(status == TSR_SUCCESS);
  for (float value : out.values()) CHECK(std::isnan(value));
}

TEST_CASE("parameters are bound by name", "[runtime]") {
  PlanBuilder b("scaled");
  b.dim("M");
  b.dim("N");
  uint32_t x = b.input("x", {"M", "N"});
  uint32_t w = b.param("layer.w", {"N"});
  uint32_t y = b.output("y", {"M", "N"});
  b.launch("scale", {x, w, y}, {"M", "N"});
  Loaded loaded(make_bundle({b.plan}));
  HostTensor in({1, 2}, {3, 4});
  HostTensor out({1, 2});
  CHECK(call(loaded.function("scaled"), {&in.tensor}, {&out.tensor}) == TSR_EINVAL);
  CHECK(last_error() == "scaled: parameter 'layer.w' has no value; tsrBindParameters gives it one");
  HostTensor weight({2}, {10, 100});
  const char* name = "layer.w";
  const tsr_tensor_t* tensor = &weight.tensor;
  REQUIRE(tsrBindParameters(loaded.module, &name, &tensor, 1) == TSR_SUCCESS);
  REQUIRE(call(loaded.function("scaled"), {&in.tensor}, {&out.tensor}) == TSR_SUCCESS);
  CHECK(out.values() == std::vector<float>{30, 400});
  const char* wrong = "layer.v";
  CHECK(tsrBindParameters(loaded.module, &wrong, &tensor, 1) == TSR_ENOTFOUND);
  CHECK(last_error() == "the bundle has no parameter 'layer.v'");
  HostTensor longer({3});
  tensor = &longer.tensor;
  REQUIRE(tsrBindParameters(loaded.module, &name, &tensor, 1) == TSR_SUCCESS);
  CHECK(call(loaded.function("scaled"), {&in.tensor}, {&out.tensor}) == TSR_EINVAL);
  CHECK(last_error() ==
        "scaled: parameter 'layer.w', axis 0: expected N = 2, got 3; N = 2 from input 'x', axis 1");
}

TEST_CASE("one function may be called from several threads at once", "[runtime]") {
  Loaded loaded(make_bundle({chain()}));
  tsr_function_t function = loaded.function("chain");
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        int64_t n = 100 + 37 * t + i;
        HostTensor x({n}, Dtype::F32);
        HostTensor y({n}, Dtype::F32);
        for (int64_t k = 0; k < n; ++k) x.floats()[k] = float(k + t);
        bool failed = call(function, {&x.tensor}, {&y.tensor}) != TSR_SUCCESS;
        for (int64_t k = 0; k < n; ++k) failed |= y.floats()[k] != float(k + t) + 3;
        wrong += failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
