// Mistakes of kernels, planted one by one, and what a context with checks says.

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/core/poison.h"
#include "runtime/format/check_names.h"
#include "unit/runtime/cuda_sample.h"

using namespace tessera::test;
using namespace tessera::format;
using tessera::runtime::poison_of;
using tessera::runtime::scan_floats;

namespace {

/// y = second(first(x)), through a temp.
Plan two_steps(const std::string& first, const std::string& second) {
  PlanBuilder b("f");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  uint32_t t = b.temp({"N"}, 0, 1);
  b.launch(first, {x, t}, {"N"});
  b.launch(second, {t, y}, {"N"});
  return b.plan;
}

struct Ran {
  tsr_status_t status;
  std::string text;
  std::vector<float> values;
};

/// Calls f on `values` in memory of the context.
Ran run(const Loaded& loaded, std::vector<float> values) {
  int64_t shape[] = {int64_t(values.size())};
  size_t bytes = values.size() * sizeof(float);
  tsr_tensor_t tensors[2] = {};
  for (tsr_tensor_t& tensor : tensors) {
    tensor.device = {1, 0};
    tensor.ndim = 1;
    tensor.dtype = {2, 32, 1};
    tensor.shape = shape;
    REQUIRE(tsrAlloc(loaded.context, bytes, TSR_HOST, &tensor.data) == TSR_SUCCESS);
  }
  std::copy(values.begin(), values.end(), static_cast<float*>(tensors[0].data));
  Ran out;
  out.status = call(loaded.function("f"), {&tensors[0]}, {&tensors[1]});
  out.text = out.status == TSR_SUCCESS ? "" : last_error();
  out.values.assign(static_cast<float*>(tensors[1].data),
                    static_cast<float*>(tensors[1].data) + values.size());
  for (tsr_tensor_t& tensor : tensors) tsrFree(loaded.context, tensor.data);
  return out;
}

Ran run(const Plan& plan, uint32_t checks, std::vector<float> values) {
  Loaded loaded(make_bundle({plan}), checks);
  return run(loaded, std::move(values));
}

/// TSR_DEBUG for as long as it lives.
class DebugVariable {
 public:
  explicit DebugVariable(const char* value) { setenv("TSR_DEBUG", value, 1); }
  ~DebugVariable() { unsetenv("TSR_DEBUG"); }
};

}  // namespace

TEST_CASE("a sound call passes all checks", "[runtime][debug]") {
  Ran out = run(two_steps("add_one", "add_one"), TSR_CHECK_ALL, std::vector<float>(40, 1));
  INFO(out.text);
  CHECK(out.status == TSR_SUCCESS);
  CHECK(out.values == std::vector<float>(40, 3));
}

TEST_CASE("a kernel that writes past a temporary is named", "[runtime][debug]") {
  Ran out = run(two_steps("overrun", "add_one"), TSR_CHECK_ALL, std::vector<float>(16, 1));
  CHECK(out.status == TSR_ECHECK);
  CHECK(out.text == "f: step 0, kernel 'overrun': it wrote 1 bytes past the end of temporary 't2' [16], 64 bytes");
}

TEST_CASE("a kernel that writes past an allocation is named", "[runtime][debug]") {
  std::vector<float> values(15, 1);
  for (uint32_t checks : {TSR_CHECK_CANARIES, TSR_CHECK_CANARIES | TSR_CHECK_GUARDS}) {
    Ran out = run(two_steps("add_one", "overrun"), checks, values);
    CHECK(out.status == TSR_ECHECK);
    CHECK(out.text == "f: step 1, kernel 'overrun': it wrote 1 bytes past the end of output 'y' [15], 60 bytes");
  }
}

TEST_CASE("the first kernel that makes a NaN is named, with its place", "[runtime][debug]") {
  Ran out = run(two_steps("ratio", "add_one"), TSR_CHECK_ALL, {1, 2, 0, 4, 0});
  CHECK(out.status == TSR_ECHECK);
  CHECK(out.text ==
        "f: step 0, kernel 'ratio': temporary 't2' [5] has 2 NaN, the first at [2]; its operands have none");
  // A NaN of the caller is nobody's news.
  out = run(two_steps("add_one", "add_one"), TSR_CHECK_ALL, {1, NAN});
  CHECK(out.status == TSR_SUCCESS);
}

TEST_CASE("infinities are found unless the kernel is written with some", "[runtime][debug]") {
  Ran out = run(two_steps("reciprocal", "add_one"), TSR_CHECK_INF, {1, 0});
  CHECK(out.text == "f: step 0, kernel 'reciprocal': temporary 't2' [2] has 1 infinity at [1]; its operands have none");
  // No NaN makes an infinity, one of the caller's neither.
  out = run(two_steps("reciprocal", "add_one"), TSR_CHECK_INF, {1, 0, NAN});
  CHECK(out.text == "f: step 0, kernel 'reciprocal': temporary 't2' [3] has 1 infinity at [1]; its operands have none");
  out = run(two_steps("reciprocal", "add_one"), TSR_CHECK_INF, {1, INFINITY, NAN});
  CHECK(out.status == TSR_SUCCESS);
  out = run(two_steps("reciprocal", "add_one"), TSR_CHECK_NAN, {1, 0});
  CHECK(out.status == TSR_SUCCESS);
}

TEST_CASE("what is never written is found where it is read and where it is given back", "[runtime][debug]") {
  Ran out = run(two_steps("unfinished", "add_one"), TSR_CHECK_ALL, {1, 2, 3});
  CHECK(out.status == TSR_ECHECK);
  CHECK(out.text ==
        "f: step 1, kernel 'add_one': output 'y' [3] has 1 NaN at [2]: it read temporary 't2' [3], of which 1 elements "
        "were never written, the first at [2]");
  out = run(two_steps("add_one", "unfinished"), TSR_CHECK_POISON, {1, 2, 3});
  CHECK(out.text == "f: 1 elements of output 'y' [3] were never written, the first at [2]");
}

TEST_CASE("a checked kernel's log becomes a message", "[runtime][debug]") {
  Ran out = run(two_steps("checked", "add_one"), 0, std::vector<float>(40, 1));
  CHECK(out.status == TSR_ECHECK);
  CHECK(out.text ==
        "f: step 0, kernel 'checked', program 2 (tile [2] of [3]): a store to temporary 't2' at checked.tsr:5:3 "
        "reaches elements 32 to 47 along axis 0, which has 40");
  out = run(two_steps("checked", "add_one"), 0, std::vector<float>(32, 1));
  CHECK(out.status == TSR_SUCCESS);
  CHECK(out.values == std::vector<float>(32, 3));
}

TEST_CASE("a checked kernel can be launched by itself", "[runtime][debug]") {
  Loaded loaded(make_bundle({}));
  tsr_kernel_t kernel = nullptr;
  REQUIRE(tsrGetKernel(loaded.module, "checked", &kernel) == TSR_SUCCESS);
  std::vector<float> x(20, 1), y(20);
  void *from = x.data(), *to = y.data();
  uint32_t n = 20;
  void* args[] = {&from, &to, &n};
  CHECK(tsrLaunch(kernel, nullptr, {}, args, 3) == TSR_ECHECK);
  CHECK(last_error() ==
        "kernel 'checked', program 1 (tile [1] of [2]): a store to 'y' at checked.tsr:5:3 reaches elements 16 to 31 "
        "along axis 0, which has 20");
  CHECK(y[15] == 2);
  CHECK(y[16] == 0);
}

namespace {

/// What a process that does this writes before it ends by a fault.
template <typename Work>
std::string text_of_fault(Work work) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(STDOUT_FILENO);
    work();
    _exit(0);
  }
  close(ends[1]);
  // What the child writes is read to its end, or it would wait for room.
  std::string text;
  char part[4096];
  for (ssize_t count; (count = read(ends[0], part, sizeof part)) > 0;) text.append(part, size_t(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(!(WIFEXITED(status) && WEXITSTATUS(status) == 0));
  return text;
}

}  // namespace

TEST_CASE("touching a guard page says what was running", "[runtime][debug]") {
  Loaded loaded(make_bundle({two_steps("overread", "add_one")}), TSR_CHECK_GUARDS);
  REQUIRE(tsrSetThreads(loaded.context, 1) == TSR_SUCCESS);
  std::string text = text_of_fault([&] { run(loaded, std::vector<float>(16, 1)); });
  CHECK(text.find("tessera: f: step 0, kernel 'overread': an access at byte 256 of an allocation of 64 bytes\n") == 0);
}

#if !defined(TESSERA_SANITIZED)  // ThreadSanitizer ends a child that starts threads
TEST_CASE("a launch is not blamed for what another thread touches", "[runtime][debug]") {
  Loaded loaded(make_bundle({}), TSR_CHECK_GUARDS);
  tsr_kernel_t kernel = nullptr;
  REQUIRE(tsrGetKernel(loaded.module, "wait_for", &kernel) == TSR_SUCCESS);
  std::string text = text_of_fault([&] {
    float flag = 0, seen = 0;
    float *from = &flag, *to = &seen;
    void* args[] = {&from, &to};
    void* memory = nullptr;
    tsr_stream_t stream = nullptr;
    tsrCreateStream(loaded.context, nullptr, &stream);
    tsrAlloc(loaded.context, 64, TSR_HOST, &memory);
    tsrLaunch(kernel, stream, {}, args, 2);
    tsrSynchronize(loaded.context, stream, 50);  // it runs by now, and does not end
    static_cast<volatile char*>(memory)[64] = 1;
  });
  CHECK(text.find("tessera: outside of a launch: an access at byte 64 of an allocation of 64 bytes\n") == 0);
}
#endif

TEST_CASE("a GPU's memory has canaries, and its results are looked at", "[cuda][debug]") {
  DebugVariable all("all");
  FakeGpu gpu;
  for (const auto& [kernel, text] : {std::pair<std::string, std::string>{
                                         "overrun", "it wrote 1 bytes past the end of temporary 't2' [16], 64 bytes"},
                                     {"ratio", "temporary 't2' [16] has 1 NaN at [3]; its operands have none"}}) {
    CudaLoaded loaded(CudaBundle{{two_steps(kernel, "add_one")}}.bytes());
    std::vector<float> values(16, 1);
    values[3] = 0;
    CudaTensor x(loaded.context, {16}, values);
    CudaTensor y(loaded.context, {16});
    CHECK(call(loaded.function("f"), {&x.tensor}, {&y.tensor}) == TSR_ECHECK);
    CHECK(last_error() == "f: step 0, kernel '" + kernel + "': " + text);
  }
}

TEST_CASE("the log of a GPU's kernel becomes a message", "[cuda][debug]") {
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{{two_steps("checked", "add_one")}}.bytes());
  CudaTensor x(loaded.context, {24}, std::vector<float>(24, 1));
  CudaTensor y(loaded.context, {24});
  CHECK(call(loaded.function("f"), {&x.tensor}, {&y.tensor}) == TSR_ECHECK);
  CHECK(last_error() ==
        "f: step 0, kernel 'checked', program 1 (tile [1] of [2]): a store to temporary 't2' at checked.tsr:5:3 "
        "reaches elements 16 to 31 along axis 0, which has 24");
}

TEST_CASE("checks have names", "[runtime][debug]") {
  CHECK(*parse_checks("") == 0);
  CHECK(*parse_checks("all") == TSR_CHECK_ALL);
  CHECK(*parse_checks("nan,canaries") == (TSR_CHECK_NAN | TSR_CHECK_CANARIES));
  CHECK_FALSE(parse_checks("nan,bananas"));
  tsr_context_t context = nullptr;
  DebugVariable wrong("bananas");
  CHECK(tsrCreateContext(&context) == TSR_EINVAL);
  CHECK(last_error().find("TSR_DEBUG: there is no check 'bananas'") == 0);
}

TEST_CASE("poison is told from NaN in every float", "[runtime][debug]") {
  for (Dtype dtype : {Dtype::F64, Dtype::F32, Dtype::Bf16, Dtype::F16, Dtype::F8E4M3, Dtype::F8E5M2}) {
    auto poison = poison_of(dtype);
    size_t width = poison.width;
    // 0, poison, 1 of the exponent (a finite number), all ones but the sign (NaN).
    uint64_t nan = (uint64_t(1) << (8 * width - 1)) - 1;
    std::string bytes;
    for (uint64_t bits : {uint64_t(0), poison.pattern, uint64_t(1) << (8 * width - 3), nan}) {
      bytes.append(reinterpret_cast<const char*>(&bits), width);
    }
    INFO(dtype_name(dtype));
    auto found = scan_floats(dtype, bytes, -0.0, 0.0);
    CHECK(found.poison.count == 1);
    CHECK(found.poison.first == 1);
    CHECK(found.nan.count == 1);
    CHECK(found.nan.first == 3);
    CHECK(found.infinite.count == 0);
    // NaN lies within no bounds, and what was not written is not a number.
    CHECK(found.outside.count == 2);
    CHECK(found.outside.first == 2);
  }
}
