// Plans that no compiler writes: what their launches reach, and how long they run.

#include <catch2/catch.hpp>

#include "unit/runtime/sample.h"

using namespace tessera::test;
using namespace tessera::format;

namespace {

/// What loading a bundle says; empty when it is loaded.
std::string load_error(const std::string& bundle) {
  tsr_context_t context = nullptr;
  tsr_module_t module = nullptr;
  REQUIRE(tsrCreateContext(&context) == TSR_SUCCESS);
  tsr_status_t status = tsrLoadModule(context, bundle.data(), bundle.size(), &module);
  std::string text = status == TSR_SUCCESS ? "" : tsrGetLastError();
  if (status != TSR_SUCCESS) CHECK(status == TSR_EIMAGE);
  tsrDestroyContext(context);
  return text;
}

/// y = x + 1 on [N], by a launch with other dims.
Plan launch_of(const std::string& extent, const std::string& dim) {
  PlanBuilder b("add");
  if (extent == "N") b.dim("N");
  uint32_t x = b.input("x", {extent});
  uint32_t y = b.output("y", {extent});
  b.launch("add_one", {x, y}, {dim});
  return b.plan;
}

void set_limits(const Loaded& loaded, uint64_t steps, uint64_t milliseconds, uint64_t memory) {
  tsr_limits_t limits{sizeof limits, steps, milliseconds, memory};
  REQUIRE(tsrSetLimits(loaded.context, &limits) == TSR_SUCCESS);
}

}  // namespace

TEST_CASE("a launch whose sizes are numbers fits its buffers when it is loaded", "[runtime]") {
  CHECK(load_error(make_bundle({launch_of("5", "5")})) == "");
  CHECK(load_error(make_bundle({launch_of("5", "1000000")})) ==
        "the plan of 'add': step 0 launches the kernel 'add_one' with arguments that do not fit it: "
        "'x' has 4000000 bytes for its dims, and 'x' is f32[5]");
  CHECK(load_error(make_bundle({launch_of("5", "0 - 1")})) ==
        "the plan of 'add': step 0 launches the kernel 'add_one' with arguments that do not fit it: "
        "'x' has no size for N = -1");
  CHECK(load_error(make_bundle({launch_of("5", "4611686018427387904")})) ==
        "the plan of 'add': step 0 launches the kernel 'add_one' with arguments that do not fit it: "
        "'x' has no size for N = 4611686018427387904");
}

TEST_CASE("other launches fit their buffers when they are reached", "[runtime]") {
  Loaded loaded(make_bundle({launch_of("N", "1000000*N")}));
  HostTensor in({5});
  HostTensor out({5});
  CHECK(call(loaded.function("add"), {&in.tensor}, {&out.tensor}) == TSR_EIMAGE);
  CHECK(last_error() ==
        "add: step 0 of the plan: kernel 'add_one': 'x' has 20000000 bytes for N = 5000000, and 'x' has 20");
}

TEST_CASE("a launch is checked in every iteration that changes its sizes", "[runtime]") {
  // Each iteration adds 1 to a longer beginning of x.
  PlanBuilder b("grow");
  b.dim("N");
  uint32_t i = b.loop_dim("i");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  b.step(ForStep{i, b.expr("0"), b.expr("N + 3"), 1});
  b.launch("add_one", {x, y}, {"i"});
  Loaded loaded(make_bundle({b.plan}));
  HostTensor in({2}, {1, 2});
  HostTensor out({2});
  CHECK(call(loaded.function("grow"), {&in.tensor}, {&out.tensor}) == TSR_EIMAGE);
  CHECK(last_error() == "grow: step 1 of the plan: kernel 'add_one': 'x' has 12 bytes for N = 3, and 'x' has 8");
  CHECK(out.values() == std::vector<float>{2, 3});
}

TEST_CASE("a launch that a branch keeps from running may not fit", "[runtime]") {
  PlanBuilder b("choose");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  b.step(SelectStep{b.expr("N > 4"), 1, 1});
  b.launch("add_one", {x, y}, {"4"});
  b.launch("add_one", {x, y}, {"N"});
  Loaded loaded(make_bundle({b.plan}));
  HostTensor in({1}, {1});
  HostTensor out({1});
  REQUIRE(call(loaded.function("choose"), {&in.tensor}, {&out.tensor}) == TSR_SUCCESS);
  CHECK(out.values() == std::vector<float>{2});
}

TEST_CASE("a kernel runs only for sizes that it assumes", "[runtime]") {
  Reflection reflection{{{sample_target, sample_kernels()}}};
  std::vector<KernelMeta>& kernels = reflection.kernels[sample_target];
  kernels[0].assume = {*parse_expr("N % 4 == 0", {{"N"}})};
  std::string text = write_reflection(reflection);
  CHECK(text.find("\"assume\": [") != text.npos);
  auto again = read_reflection(text);
  REQUIRE(again);
  CHECK(*again == reflection);
  BundleWriter writer;
  REQUIRE(writer.add(std::string(reflection_name), text));
  REQUIRE(writer.add(kernels_path(sample_target), sample_object()));
  Plan plan = launch_of("N", "N");
  REQUIRE(writer.add(plan_path("add", sample_target), encode_plan(plan)));
  auto bundle = writer.finish(manifest_for({plan}));
  REQUIRE(bundle);
  Loaded loaded(*bundle);
  HostTensor in({6}), out({6}), in8({8}), out8({8});
  CHECK(call(loaded.function("add"), {&in.tensor}, {&out.tensor}) == TSR_EINVAL);
  CHECK(last_error() ==
        "add: step 0 of the plan: kernel 'add_one': it was compiled for sizes where N % 4 == 0, which is not so for "
        "N = 6");
  CHECK(call(loaded.function("add"), {&in8.tensor}, {&out8.tensor}) == TSR_SUCCESS);
  tsr_kernel_t kernel = nullptr;
  REQUIRE(tsrGetKernel(loaded.module, "add_one", &kernel) == TSR_SUCCESS);
  uint32_t n = 6;
  void* args[] = {&in.tensor.data, &out.tensor.data, &n};
  CHECK(tsrLaunch(kernel, nullptr, {}, args, 3) == TSR_EINVAL);
}

TEST_CASE("kernels write nothing that is only read", "[runtime]") {
  PlanBuilder b("through");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t w = b.param("w", {"N"});
  uint32_t y = b.output("y", {"N"});
  uint32_t view = b.temp({"N"}, 0, 1);
  b.step(AliasStep{view, w, b.expr("0")});
  b.launch("add_one", {x, view}, {"N"});
  b.step(CopyStep{y, x});
  CHECK(load_error(make_bundle({b.plan})) ==
        "the plan of 'through': step 1 launches the kernel 'add_one' with arguments that do not fit it: it "
        "writes 't3', which is only read");
}

TEST_CASE("only whole inputs are taken over, and no seeds", "[runtime]") {
  PlanBuilder b("seeded");
  uint32_t seed = b.input("seed", {}, Dtype::U64);
  uint32_t y = b.output("y", {}, Dtype::U64);
  b.step(AliasStep{y, seed, b.expr("0")});
  EntryFacts facts;
  facts.seeds = {"seed"};
  facts.donated["y"] = "seed";
  CHECK(load_error(make_bundle({b.plan}, {{"seeded", facts}})) ==
        "the plan of 'seeded' takes over the memory of a seed, which a call may leave out");
  b.plan.buffers[y].shape = {b.expr("1000")};
  Outcome checked = check_plan(b.plan);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().text == "plan: step 0: an output is a view of something other than a whole input or param");
}

TEST_CASE("memory of tsrAlloc holds what a kernel is launched on", "[runtime]") {
  Loaded loaded(make_bundle({}));
  tsr_kernel_t kernel = nullptr;
  REQUIRE(tsrGetKernel(loaded.module, "add_one", &kernel) == TSR_SUCCESS);
  void *in = nullptr, *out = nullptr;
  REQUIRE(tsrAlloc(loaded.context, 80, TSR_DEVICE, &in) == TSR_SUCCESS);
  REQUIRE(tsrAlloc(loaded.context, 80, TSR_DEVICE, &out) == TSR_SUCCESS);
  void* later = static_cast<char*>(out) + 8;
  uint32_t n = 20;
  void* args[] = {&in, &later, &n};
  CHECK(tsrLaunch(kernel, nullptr, {}, args, 3) == TSR_EINVAL);
  CHECK(last_error() == "add_one: 'y' has 80 bytes for these dims, and the memory it is in ends after 72");
  n = 18;
  CHECK(tsrLaunch(kernel, nullptr, {}, args, 3) == TSR_SUCCESS);
}

namespace {

/// A loop whose condition is always true.
Plan endless() {
  PlanBuilder b("endless");
  uint32_t truth = b.temp({}, 0, 2, Dtype::Bool);
  uint32_t y = b.output("y", {});
  b.step(WhileStep{truth, 1, 1});
  b.step(FillStep{truth, 1, 1});
  b.step(FillStep{y, 1, 0});
  return b.plan;
}

/// Loops in loops, of 2^62 iterations each.
Plan nested() {
  PlanBuilder b("nested");
  uint32_t i = b.loop_dim("i");
  uint32_t j = b.loop_dim("j");
  uint32_t y = b.output("y", {});
  b.step(ForStep{i, b.expr("0"), b.expr("4611686018427387904"), 2});
  b.step(ForStep{j, b.expr("0"), b.expr("4611686018427387904"), 1});
  b.step(SelectStep{b.expr("1"), 0, 0});
  b.step(FillStep{y, 1, 0});
  return b.plan;
}

}  // namespace

TEST_CASE("a call ends at its last step or its last millisecond", "[runtime]") {
  Loaded loaded(make_bundle({endless(), nested()}));
  HostTensor out({});
  for (const char* name : {"endless", "nested"}) {
    set_limits(loaded, 1000, 0, 0);
    CHECK(call(loaded.function(name), {}, {&out.tensor}) == TSR_ETIMEOUT);
    CHECK(last_error() ==
          std::string(name) + ": it was ended after 1000 steps of its plan, the most that it was given");
    set_limits(loaded, 0, 1, 0);
    CHECK(call(loaded.function(name), {}, {&out.tensor}) == TSR_ETIMEOUT);
    CHECK(last_error() == std::string(name) + ": it was ended after 1 ms, the most that it was given");
  }
}

TEST_CASE("the time of a call is over while its launches are sized, too", "[runtime]") {
  PlanBuilder b("many");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  uint32_t sum = b.expr(long_sum(400));
  constexpr uint32_t launches = 20000;  // which are not reached
  b.step(SelectStep{b.expr("0"), launches, 0});
  b.launch("add_one", {x, y}, {"N"});
  std::get<LaunchStep>(b.plan.steps.back()).dims = {sum};
  PlanStep launch = b.plan.steps.back();
  while (b.plan.steps.size() <= launches) b.step(launch);
  b.step(CopyStep{y, x});
  Loaded loaded(make_bundle({b.plan}));
  HostTensor in({2}, {1, 2}), out({2});
  set_limits(loaded, 0, 1, 0);
  CHECK(call(loaded.function("many"), {&in.tensor}, {&out.tensor}) == TSR_ETIMEOUT);
  CHECK(last_error() == "many: it was ended after 1 ms, the most that it was given");
  set_limits(loaded, 0, 0, 0);
  REQUIRE(call(loaded.function("many"), {&in.tensor}, {&out.tensor}) == TSR_SUCCESS);
  CHECK(out.values() == std::vector<float>{1, 2});
}

TEST_CASE("a call within its limits is not touched by them", "[runtime]") {
  Loaded loaded(make_bundle({launch_of("N", "N")}));
  HostTensor in({40}, std::vector<float>(40, 1.0f));
  HostTensor out({40});
  set_limits(loaded, 1, UINT64_MAX, UINT64_MAX);
  for (uint32_t threads : {1u, 3u}) {
    REQUIRE(tsrSetThreads(loaded.context, threads) == TSR_SUCCESS);
    for (int iteration = 0; iteration < 3; ++iteration) {
      REQUIRE(call(loaded.function("add"), {&in.tensor}, {&out.tensor}) == TSR_SUCCESS);
    }
  }
  CHECK(out.values() == std::vector<float>(40, 2.0f));
  REQUIRE(tsrSetLimits(loaded.context, nullptr) == TSR_SUCCESS);
  CHECK(tsrSetLimits(nullptr, nullptr) == TSR_EINVAL);
}

TEST_CASE("a context holds no more memory than it may", "[runtime]") {
  PlanBuilder b("large");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  uint32_t t = b.temp({"1000000000*N"}, 0, 0);
  b.step(FillStep{t, 1, 0});
  b.step(CopyStep{y, x});
  Loaded loaded(make_bundle({b.plan}));
  set_limits(loaded, 0, 0, 1000);
  void *some = nullptr, *more = nullptr;
  REQUIRE(tsrAlloc(loaded.context, 600, TSR_HOST, &some) == TSR_SUCCESS);
  CHECK(tsrAlloc(loaded.context, 600, TSR_HOST, &more) == TSR_EOOM);
  CHECK(last_error() == "600 bytes more are needed; the limit is 1000 bytes, of which 600 are in use");
  REQUIRE(tsrFree(loaded.context, some) == TSR_SUCCESS);
  REQUIRE(tsrAlloc(loaded.context, 600, TSR_HOST, &more) == TSR_SUCCESS);
  HostTensor in({2});
  HostTensor out({2});
  CHECK(call(loaded.function("large"), {&in.tensor}, {&out.tensor}) == TSR_EOOM);
  CHECK(last_error().find("large: its temporaries: 8000000000 bytes more are needed; the limit is 1000") == 0);
}
