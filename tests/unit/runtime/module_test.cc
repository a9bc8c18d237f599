// Loading: what a bundle must agree on, and the checks of its code.

#include "runtime/core/module.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "runtime/cpu/targets.h"
#include "runtime/files/safetensors.h"
#include "unit/runtime/sample.h"

using namespace tessera::test;
using namespace tessera::format;

namespace {

Plan copy_plan() {
  PlanBuilder b("copy");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  b.step(CopyStep{y, x});
  return b.plan;
}

/// Assembles a bundle of any parts and returns what loading says.
struct Parts {
  Manifest manifest = manifest_for({copy_plan()});
  Plan plan = copy_plan();
  std::string reflection = write_reflection({{{sample_target, sample_kernels()}}});
  std::string object = sample_object();

  std::string load() const {
    BundleWriter writer;
    REQUIRE(writer.add("reflection.json", reflection));
    REQUIRE(writer.add(kernels_path(sample_target), object));
    REQUIRE(writer.add(plan_path("copy", sample_target), encode_plan(plan)));
    auto bundle = writer.finish(manifest);
    REQUIRE(bundle);
    tsr_context_t context = nullptr;
    tsr_module_t module = nullptr;
    REQUIRE(tsrCreateContext(&context) == TSR_SUCCESS);
    tsr_status_t status = tsrLoadModule(context, bundle->data(), bundle->size(), &module);
    std::string text = status == TSR_SUCCESS ? "" : tsrGetLastError();
    tsrDestroyContext(context);
    return text;
  }
};

}  // namespace

TEST_CASE("a bundle's parts must agree", "[runtime]") {
  Parts parts;
  CHECK(parts.load() == "");
  SECTION("ABI") {
    parts.manifest.abi_major = 1;
    CHECK(parts.load() == "the bundle was built for ABI 1.0; this library has 2.0");
  }
  SECTION("minor ABI") {
    parts.manifest.abi_minor = TSR_ABI_MINOR + 1;
    CHECK(parts.load() == "the bundle was built for ABI 2.1; this library has 2.0");
  }
  SECTION("targets") {
    parts.manifest.targets = {"cuda:sm_90a", "cpu:armv9"};
    CHECK(parts.load() ==
          "this device can run none of the bundle's targets: cuda:sm_90a needs a GPU, such as the "
          "device cuda:0 (tsr: --device cuda:0); cpu:armv9 needs a device of that kind; take another device, or "
          "compile for this one (tesserac --help lists targets)");
  }
  SECTION("plan of another target") {
    parts.plan.target = "cpu:x86-64-v4";
    CHECK(parts.load() ==
          "the bundle's plan/copy/cpu-x86-64-v3.plan is the plan of another entry or target");
  }
  SECTION("signature") {
    parts.plan.buffers[0].dtype = Dtype::I32;
    parts.plan.buffers[1].dtype = Dtype::I32;
    CHECK(parts.load() == "the manifest and the plan of 'copy' disagree about its signature");
  }
  SECTION("donation") {
    parts.manifest.entries[0].outputs[0].alias_of = "x";
    CHECK(parts.load() == "the manifest and the plan of 'copy' disagree about donated memory");
  }
  SECTION("an unknown kernel") {
    parts.plan.kernels = {"absent"};
    CHECK(parts.load() == "the plan of 'copy' launches the unknown kernel 'absent'");
  }
  SECTION("arguments of a launch") {
    parts.plan.kernels = {"add_one"};
    parts.plan.steps = {LaunchStep{0, {0, 1}, {}, 0, 0}};
    CHECK(parts.load() ==
          "the plan of 'copy': step 0 launches the kernel 'add_one' with arguments that do not fit it: "
          "it has 0 dims instead of 1");
  }
  SECTION("a kernel that the object lacks") {
    auto kernels = sample_kernels();
    kernels[0].name = "aaa";
    parts.reflection = write_reflection({{{sample_target, kernels}}});
    CHECK(parts.load() == "the bundle's CPU code has no kernel 'aaa'");
  }
  SECTION("an object that is none") {
    parts.object = "elf";
    CHECK(parts.load() == "the bundle's CPU code cannot be loaded: it is too short");
  }
}

TEST_CASE("TSR_TARGET chooses the code", "[runtime]") {
  ::setenv("TSR_TARGET", "cpu:x86-64-v9", 1);
  std::string text = Parts().load();
  ::unsetenv("TSR_TARGET");
  CHECK(text == "the bundle has no code for the target 'cpu:x86-64-v9' of TSR_TARGET");
}

TEST_CASE("other images are refused by kind", "[runtime]") {
  tsr_context_t context = nullptr;
  tsr_module_t module = nullptr;
  REQUIRE(tsrCreateContext(&context) == TSR_SUCCESS);
  std::string object = sample_object();
  CHECK(tsrLoadModule(context, object.data(), object.size(), &module) == TSR_EUNSUPPORTED);
  CHECK(last_error() ==
        "the image is an ELF object, which has no kernel metadata; load the bundle it belongs to");
  CHECK(tsrLoadModule(context, "junk", 4, &module) == TSR_EIMAGE);
  CHECK(last_error() == "bundle: it is cut off");
  CHECK(tsrLoadModuleFile(context, "/nonexistent.bundle", nullptr, &module) == TSR_ENOTFOUND);
  CHECK(last_error() == "cannot read '/nonexistent.bundle': No such file or directory");
  tsrDestroyContext(context);
}

TEST_CASE("weights inside a bundle bind its parameters", "[runtime]") {
  PlanBuilder b("scaled");
  b.dim("M");
  uint32_t x = b.input("x", {"M", "2"});
  uint32_t w = b.param("w", {"2"});
  uint32_t y = b.output("y", {"M", "2"});
  b.launch("scale", {x, w, y}, {"M", "2"});
  const float values[] = {3, 5};
  auto weights = write_safetensors(
      {{"w", Dtype::F32, {2}, std::string_view(reinterpret_cast<const char*>(values), 8)}});
  REQUIRE(weights);
  std::string bundle = make_bundle({b.plan}, {}, {{"weights/a.safetensors", *weights}});
  HostTensor in({1, 2}, {1, 10});
  HostTensor out({1, 2});
  {
    Loaded loaded(bundle);
    REQUIRE(call(loaded.function("scaled"), {&in.tensor}, {&out.tensor}) == TSR_SUCCESS);
    CHECK(out.values() == std::vector<float>{3, 50});
  }
  // From a file they are used where they are.
  TemporaryFile file(bundle);
  tsr_context_t context = nullptr;
  tsr_module_t module = nullptr;
  tsr_function_t function = nullptr;
  REQUIRE(tsrCreateContext(&context) == TSR_SUCCESS);
  REQUIRE(tsrLoadModuleFile(context, file.path.c_str(), nullptr, &module) == TSR_SUCCESS);
  auto info = sized<tsr_tensor_info_t>();
  REQUIRE(tsrGetParameterInfo(module, 0, &info) == TSR_SUCCESS);
  CHECK(info.flags == TSR_TENSOR_BOUND);
  CHECK(std::string(info.shape) == "[2]");
  REQUIRE(tsrGetFunction(module, "scaled", &function) == TSR_SUCCESS);
  HostTensor again({1, 2});
  REQUIRE(call(function, {&in.tensor}, {&again.tensor}) == TSR_SUCCESS);
  CHECK(again.values() == out.values());
  tsrDestroyContext(context);
}

TEST_CASE("two modules with different code live side by side", "[runtime]") {
  std::string bundle = make_bundle({copy_plan()});
  tsr_context_t context = nullptr;
  tsr_module_t first = nullptr;
  tsr_module_t second = nullptr;
  tsr_kernel_t a = nullptr;
  tsr_kernel_t b = nullptr;
  REQUIRE(tsrCreateContext(&context) == TSR_SUCCESS);
  REQUIRE(tsrLoadModule(context, bundle.data(), bundle.size(), &first) == TSR_SUCCESS);
  REQUIRE(tsrLoadModule(context, bundle.data(), bundle.size(), &second) == TSR_SUCCESS);
  REQUIRE(tsrGetKernel(first, "add_one", &a) == TSR_SUCCESS);
  REQUIRE(tsrGetKernel(second, "add_one", &b) == TSR_SUCCESS);
  using tessera::runtime::object_of;
  CHECK(object_of(a)->code != object_of(b)->code);
  CHECK(tsrUnloadModule(first) == TSR_SUCCESS);
  CHECK(tsrUnloadModule(second) == TSR_SUCCESS);
  tsrDestroyContext(context);
}

TEST_CASE("targets are ranked", "[runtime]") {
  using tessera::runtime::cpu_target_rank;
  CHECK(cpu_target_rank("cpu:x86-64-v3") < cpu_target_rank("cpu:x86-64-v4"));
  CHECK(cpu_target_rank("cpu:x86-64-v4") < cpu_target_rank("cpu:x86-64-v4-bf16"));
  CHECK(cpu_target_rank("cpu:x86-64-v4-bf16") < cpu_target_rank("cpu:x86-64-v4-amx"));
  using tessera::runtime::is_faster_cpu_target;
  auto faster = [](const char* a, const char* b) {
    return is_faster_cpu_target(*cpu_target_rank(a), *cpu_target_rank(b));
  };
  CHECK(faster("cpu:x86-64-v4", "cpu:x86-64-v3"));
  CHECK(faster("cpu:x86-64-v4-amx", "cpu:x86-64-v4-bf16"));
  // Which of the two is better depends on the processor, but one is, and the same one each time.
  bool pairs = faster("cpu:x86-64-v4-bf16", "cpu:x86-64-v4");
  CHECK(faster("cpu:x86-64-v4", "cpu:x86-64-v4-bf16") == !pairs);
  CHECK(faster("cpu:x86-64-v4-bf16", "cpu:x86-64-v3"));
  CHECK_FALSE(cpu_target_rank("cuda:sm_90a"));
}
