// Streams run in order beside the caller; events order them among each other.

#include <malloc.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <thread>

#include "runtime/core/context.h"
#include "runtime/cpu/cpu_device.h"
#include "unit/runtime/sample.h"

using namespace tessera::test;
using namespace tessera::format;

namespace {

struct Gate {
  Gate() : loaded(make_bundle({})), flag({1}, {0}), seen({1}, {0}) {
    REQUIRE(tsrGetKernel(loaded.module, "wait_for", &kernel) == TSR_SUCCESS);
    REQUIRE(tsrCreateStream(loaded.context, nullptr, &stream) == TSR_SUCCESS);
  }
  /// Work that ends when the flag is set.
  void close() {
    void* args[] = {&flag.tensor.data, &seen.tensor.data};
    REQUIRE(tsrLaunch(kernel, stream, {}, args, 2) == TSR_SUCCESS);
  }
  void open() { *static_cast<volatile float*>(flag.tensor.data) = 3; }

  Loaded loaded;
  HostTensor flag;
  HostTensor seen;
  tsr_kernel_t kernel = nullptr;
  tsr_stream_t stream = nullptr;
};

template <typename Work>
std::future<tsr_status_t> in_a_thread(Work work) {
  return std::async(std::launch::async, work);
}

bool is_done(const std::future<tsr_status_t>& future, std::chrono::milliseconds within) {
  return future.wait_for(within) == std::future_status::ready;
}

constexpr std::chrono::milliseconds a_moment{30}, long_enough{20000};

/// y = x by a plan of two steps.
std::string two_copies() {
  PlanBuilder b("twice");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  b.step(CopyStep{y, x});
  b.step(CopyStep{y, x});
  return make_bundle({b.plan});
}

/// The same, loaded in a context that has other modules.
struct TwoCopies {
  explicit TwoCopies(tsr_context_t context) {
    std::string bundle = two_copies();
    REQUIRE(tsrLoadModule(context, bundle.data(), bundle.size(), &module) == TSR_SUCCESS);
    REQUIRE(tsrGetFunction(module, "twice", &function) == TSR_SUCCESS);
  }

  tsr_module_t module = nullptr;
  tsr_function_t function = nullptr;
};

}  // namespace

TEST_CASE("waiting for a busy stream times out and then succeeds", "[runtime]") {
  Gate gate;
  gate.close();
  CHECK(tsrSynchronize(gate.loaded.context, gate.stream, 5) == TSR_ETIMEOUT);
  CHECK(last_error() == "the stream was still busy after 5 ms");
  gate.open();
  CHECK(tsrSynchronize(gate.loaded.context, gate.stream, TSR_FOREVER) == TSR_SUCCESS);
  CHECK(gate.seen.floats()[0] == 3);
}

TEST_CASE("an event holds back another stream", "[runtime]") {
  Gate gate;
  tsr_event_t event = nullptr;
  tsr_event_t end = nullptr;
  tsr_stream_t other = nullptr;
  REQUIRE(tsrCreateEvent(gate.loaded.context, &event) == TSR_SUCCESS);
  REQUIRE(tsrCreateEvent(gate.loaded.context, &end) == TSR_SUCCESS);
  REQUIRE(tsrCreateStream(gate.loaded.context, nullptr, &other) == TSR_SUCCESS);
  CHECK(tsrSynchronizeEvent(event, 0) == TSR_SUCCESS);
  gate.close();
  REQUIRE(tsrRecordEvent(event, gate.stream) == TSR_SUCCESS);
  REQUIRE(tsrWaitEvent(event, other) == TSR_SUCCESS);
  float copied = 0;
  REQUIRE(tsrCopy(gate.loaded.context, other, &copied, gate.seen.floats(), sizeof copied) ==
          TSR_SUCCESS);
  REQUIRE(tsrRecordEvent(end, other) == TSR_SUCCESS);
  CHECK(tsrSynchronizeEvent(event, 5) == TSR_ETIMEOUT);
  float milliseconds = -1;
  CHECK(tsrGetElapsedTime(event, end, &milliseconds) == TSR_EINVAL);
  gate.open();
  REQUIRE(tsrSynchronizeEvent(end, TSR_FOREVER) == TSR_SUCCESS);
  CHECK(copied == 3);
  REQUIRE(tsrGetElapsedTime(event, end, &milliseconds) == TSR_SUCCESS);
  CHECK(milliseconds >= 0);
  CHECK(tsrDestroyEvent(event) == TSR_SUCCESS);
  CHECK(tsrDestroyStream(other) == TSR_SUCCESS);
}

TEST_CASE("a failure on a stream is reported once, by the next wait", "[runtime]") {
  PlanBuilder b("divide");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  b.step(SelectStep{b.expr("100 // (N - 3) > 0"), 1, 0});
  b.step(CopyStep{y, x});
  Loaded loaded(make_bundle({b.plan}));
  tsr_stream_t stream = nullptr;
  REQUIRE(tsrCreateStream(loaded.context, nullptr, &stream) == TSR_SUCCESS);
  HostTensor three({3}, {1, 2, 3});
  HostTensor out({3});
  REQUIRE(call(loaded.function("divide"), {&three.tensor}, {&out.tensor}, stream) == TSR_SUCCESS);
  CHECK(tsrSynchronize(loaded.context, stream, TSR_FOREVER) == TSR_EINVAL);
  CHECK(last_error() ==
        "divide: the value of an expression of step 0 cannot be found: it divides by zero");
  CHECK(tsrSynchronize(loaded.context, stream, TSR_FOREVER) == TSR_SUCCESS);
  HostTensor four({4}, {1, 2, 3, 4});
  HostTensor copy({4});
  REQUIRE(call(loaded.function("divide"), {&four.tensor}, {&copy.tensor}, stream) == TSR_SUCCESS);
  CHECK(tsrUnloadModule(loaded.module) == TSR_SUCCESS);
  CHECK(copy.values() == four.values());
}

TEST_CASE("unloading a module waits for work and holds up nobody else", "[runtime]") {
  Gate gate;
  tsr_context_t context = gate.loaded.context;
  gate.close();
  auto unloaded = in_a_thread([&] { return tsrUnloadModule(gate.loaded.module); });
  CHECK_FALSE(is_done(unloaded, a_moment));
  auto others = in_a_thread([&]() -> tsr_status_t {
    void* memory = nullptr;
    tsr_stream_t stream = nullptr;
    for (tsr_status_t status : {tsrAlloc(context, 64, TSR_HOST, &memory), tsrFree(context, memory),
                                tsrCreateStream(context, nullptr, &stream), tsrDestroyStream(stream)}) {
      if (status != TSR_SUCCESS) return status;
    }
    return TSR_SUCCESS;
  });
  CHECK(is_done(others, long_enough));
  CHECK_FALSE(is_done(unloaded, a_moment));
  gate.open();
  CHECK(unloaded.get() == TSR_SUCCESS);
  CHECK(others.get() == TSR_SUCCESS);
  CHECK(gate.seen.floats()[0] == 3);
}

TEST_CASE("a module outlives its work on a stream that is being destroyed", "[runtime]") {
  Gate gate;
  gate.close();
  auto destroyed = in_a_thread([&] { return tsrDestroyStream(gate.stream); });
  CHECK_FALSE(is_done(destroyed, a_moment));
  auto unloaded = in_a_thread([&] { return tsrUnloadModule(gate.loaded.module); });
  CHECK_FALSE(is_done(unloaded, a_moment));
  gate.open();
  CHECK(destroyed.get() == TSR_SUCCESS);
  CHECK(unloaded.get() == TSR_SUCCESS);
  CHECK(gate.seen.floats()[0] == 3);
}

TEST_CASE("work that a module waits for may use the context", "[runtime]") {
  Gate gate;
  tsr_context_t context = gate.loaded.context;
  TwoCopies copies(context);
  auto allocate = [](void* user, const tsr_trace_tensor_t*) {
    void* memory = nullptr;
    tsrAlloc(static_cast<tsr_context_t>(user), 64, TSR_HOST, &memory);
  };
  HostTensor x({2}, {1, 2}), y({2});
  gate.close();
  REQUIRE(tsrSetTrace(context, allocate, context) == TSR_SUCCESS);
  REQUIRE(call(copies.function, {&x.tensor}, {&y.tensor}, gate.stream) == TSR_SUCCESS);
  auto unloaded = in_a_thread([&] { return tsrUnloadModule(copies.module); });
  CHECK_FALSE(is_done(unloaded, a_moment));
  gate.open();
  CHECK(unloaded.get() == TSR_SUCCESS);
  CHECK(y.values() == x.values());
}

TEST_CASE("modules go at once while streams come and go", "[runtime]") {
  std::string bundle = two_copies();
  tsr_context_t context = nullptr;
  REQUIRE(tsrCreateContext(&context) == TSR_SUCCESS);
  auto use_and_unload = [&](HostTensor& x, HostTensor& y) -> tsr_status_t {
    tsr_module_t module = nullptr;
    tsr_function_t function = nullptr;
    tsr_stream_t stream = nullptr;
    for (int i = 0; i < 20; ++i) {
      tsrLoadModule(context, bundle.data(), bundle.size(), &module);
      tsrGetFunction(module, "twice", &function);
      tsrCreateStream(context, nullptr, &stream);
      tsr_status_t status = call(function, {&x.tensor}, {&y.tensor}, stream);
      if (status == TSR_SUCCESS) status = tsrUnloadModule(module);
      if (status == TSR_SUCCESS) status = tsrDestroyStream(stream);
      if (status != TSR_SUCCESS || y.values() != x.values()) return TSR_EINTERNAL;
    }
    return TSR_SUCCESS;
  };
  HostTensor x({2}, {1, 2}), y({2}), z({2});
  auto first = in_a_thread([&] { return use_and_unload(x, y); });
  auto second = in_a_thread([&] { return use_and_unload(x, z); });
  CHECK(first.get() == TSR_SUCCESS);
  CHECK(second.get() == TSR_SUCCESS);
  CHECK(tsrDestroyContext(context) == TSR_SUCCESS);
}

TEST_CASE("a call keeps the limits that it was made with", "[runtime]") {
  Gate gate;
  TwoCopies copies(gate.loaded.context);
  HostTensor x({2}, {1, 2}), y({2});
  gate.close();
  auto one_step = sized<tsr_limits_t>();
  one_step.steps = 1;
  REQUIRE(tsrSetLimits(gate.loaded.context, &one_step) == TSR_SUCCESS);
  REQUIRE(call(copies.function, {&x.tensor}, {&y.tensor}, gate.stream) == TSR_SUCCESS);
  REQUIRE(tsrSetLimits(gate.loaded.context, nullptr) == TSR_SUCCESS);
  gate.open();
  CHECK(tsrSynchronize(gate.loaded.context, gate.stream, TSR_FOREVER) == TSR_ETIMEOUT);
  CHECK(last_error() == "twice: it was ended after 1 steps of its plan, the most that it was given");
  CHECK(call(copies.function, {&x.tensor}, {&y.tensor}, gate.stream) == TSR_SUCCESS);
  CHECK(tsrSynchronize(gate.loaded.context, gate.stream, TSR_FOREVER) == TSR_SUCCESS);
}

TEST_CASE("an event may go while its place has not been passed", "[runtime]") {
  Gate gate;
  tsr_event_t event = nullptr;
  tsr_stream_t other = nullptr;
  float copied = 0;
  REQUIRE(tsrCreateEvent(gate.loaded.context, &event) == TSR_SUCCESS);
  REQUIRE(tsrCreateStream(gate.loaded.context, nullptr, &other) == TSR_SUCCESS);
  gate.close();
  REQUIRE(tsrRecordEvent(event, gate.stream) == TSR_SUCCESS);
  REQUIRE(tsrWaitEvent(event, other) == TSR_SUCCESS);
  CHECK(tsrDestroyEvent(event) == TSR_SUCCESS);
  REQUIRE(tsrCopy(gate.loaded.context, other, &copied, gate.seen.floats(), sizeof copied) == TSR_SUCCESS);
  gate.open();
  CHECK(tsrSynchronize(gate.loaded.context, other, TSR_FOREVER) == TSR_SUCCESS);
  CHECK(copied == 3);
}

TEST_CASE("work that waits is dropped by tsrCancel, and later work runs", "[runtime]") {
  Gate gate;
  tsr_context_t context = gate.loaded.context;
  TwoCopies copies(context);
  HostTensor x({2}, {1, 2}), y({2}, {0, 0}), z({2}, {0, 0});
  tsr_event_t event = nullptr;
  REQUIRE(tsrCreateEvent(context, &event) == TSR_SUCCESS);
  std::vector<tsr_status_t> told;
  auto note = [](void* user, tsr_status_t status) { static_cast<std::vector<tsr_status_t>*>(user)->push_back(status); };
  gate.close();
  REQUIRE(call(copies.function, {&x.tensor}, {&y.tensor}, gate.stream) == TSR_SUCCESS);
  REQUIRE(tsrRecordEvent(event, gate.stream) == TSR_SUCCESS);
  REQUIRE(tsrNotify(context, gate.stream, note, &told) == TSR_SUCCESS);
  REQUIRE(tsrCancel(context, gate.stream) == TSR_SUCCESS);
  gate.open();
  CHECK(tsrSynchronizeEvent(event, TSR_FOREVER) == TSR_SUCCESS);
  CHECK(tsrSynchronize(context, gate.stream, TSR_FOREVER) == TSR_ECANCELED);
  CHECK(last_error() == "work of the stream was dropped by tsrCancel");
  CHECK(y.values() == std::vector<float>{0, 0});
  CHECK(told == std::vector<tsr_status_t>{TSR_ECANCELED});
  REQUIRE(tsrCancel(context, gate.stream) == TSR_SUCCESS);  // of nothing
  REQUIRE(call(copies.function, {&x.tensor}, {&z.tensor}, gate.stream) == TSR_SUCCESS);
  REQUIRE(tsrNotify(context, gate.stream, note, &told) == TSR_SUCCESS);
  CHECK(tsrSynchronize(context, gate.stream, TSR_FOREVER) == TSR_SUCCESS);
  CHECK(z.values() == std::vector<float>{1, 2});
  CHECK(told == std::vector<tsr_status_t>{TSR_ECANCELED, TSR_SUCCESS});
}

TEST_CASE("a call that runs ends before its next step when it is cancelled", "[runtime]") {
  Loaded loaded(two_copies());
  struct Watch {
    tsr_context_t context;
    tsr_stream_t stream;
    int steps;
  };
  auto cancel = [](void* user, const tsr_trace_tensor_t* tensor) {
    auto& watch = *static_cast<Watch*>(user);
    if (tensor->kind != TSR_TRACE_RESULT) return;
    ++watch.steps;
    tsrCancel(watch.context, watch.stream);
  };
  tsr_stream_t beside = nullptr;
  REQUIRE(tsrCreateStream(loaded.context, nullptr, &beside) == TSR_SUCCESS);
  for (tsr_stream_t stream : {static_cast<tsr_stream_t>(nullptr), beside}) {
    Watch watch{loaded.context, stream, 0};
    REQUIRE(tsrSetTrace(loaded.context, cancel, &watch) == TSR_SUCCESS);
    HostTensor x({2}, {1, 2}), y({2});
    tsr_status_t status = call(loaded.function("twice"), {&x.tensor}, {&y.tensor}, stream);
    if (stream) {
      CHECK(status == TSR_SUCCESS);
      status = tsrSynchronize(loaded.context, stream, TSR_FOREVER);
    }
    CHECK(status == TSR_ECANCELED);
    CHECK(last_error() == "twice: it was ended by tsrCancel");
    CHECK(watch.steps == 1);
    REQUIRE(tsrSetTrace(loaded.context, nullptr, nullptr) == TSR_SUCCESS);
    CHECK(call(loaded.function("twice"), {&x.tensor}, {&y.tensor}, stream) == TSR_SUCCESS);
    CHECK(tsrSynchronize(loaded.context, stream, TSR_FOREVER) == TSR_SUCCESS);
  }
}

TEST_CASE("a function is called when work is over, and may not wait", "[runtime]") {
  Loaded loaded(two_copies());
  struct Done {
    tsr_context_t context;
    tsr_status_t status = TSR_EINTERNAL, waited = TSR_SUCCESS;
    std::thread::id thread;
  } done{loaded.context, TSR_EINTERNAL, TSR_SUCCESS, {}};
  auto note = [](void* user, tsr_status_t status) {
    auto& seen = *static_cast<Done*>(user);
    seen.status = status;
    seen.waited = tsrSynchronize(seen.context, nullptr, 0);
    seen.thread = std::this_thread::get_id();
  };
  REQUIRE(tsrNotify(loaded.context, nullptr, note, &done) == TSR_SUCCESS);
  CHECK(done.status == TSR_SUCCESS);
  CHECK(done.waited == TSR_EINVAL);
  CHECK(done.thread == std::this_thread::get_id());
  tsr_stream_t stream = nullptr;
  REQUIRE(tsrCreateStream(loaded.context, nullptr, &stream) == TSR_SUCCESS);
  REQUIRE(tsrNotify(loaded.context, stream, note, &done) == TSR_SUCCESS);
  REQUIRE(tsrSynchronize(loaded.context, stream, TSR_FOREVER) == TSR_SUCCESS);
  CHECK(done.thread != std::this_thread::get_id());
  CHECK(done.waited == TSR_EINVAL);
  CHECK(tsrNotify(loaded.context, stream, nullptr, nullptr) == TSR_EINVAL);
  CHECK(last_error() == "the function to be called is NULL");
}

TEST_CASE("a log is told what nobody would learn otherwise", "[runtime]") {
  std::vector<std::string> messages;
  auto write = [](void* user, const tsr_log_message_t* message) {
    CHECK(message->size == sizeof *message);
    static_cast<std::vector<std::string>*>(user)->push_back(std::to_string(message->kind) + " " + message->text);
  };
  auto options = sized<tsr_context_options_t>();
  options.log = write;
  options.log_user = &messages;
  tsr_context_t context = nullptr;
  ::setenv("TSR_THREADS", "many", 1);
  tsr_status_t status = tsrCreateContextWith(&options, &context);
  ::unsetenv("TSR_THREADS");
  REQUIRE(status == TSR_SUCCESS);
  TwoCopies copies(context);
  auto limits = sized<tsr_limits_t>();
  limits.steps = 1;
  REQUIRE(tsrSetLimits(context, &limits) == TSR_SUCCESS);
  HostTensor x({2}, {1, 2}), y({2});
  for (bool destroys : {true, false}) {
    tsr_stream_t stream = nullptr;
    REQUIRE(tsrCreateStream(context, nullptr, &stream) == TSR_SUCCESS);
    REQUIRE(call(copies.function, {&x.tensor}, {&y.tensor}, stream) == TSR_SUCCESS);
    if (destroys) REQUIRE(tsrDestroyStream(stream) == TSR_SUCCESS);
  }
  REQUIRE(tsrDestroyContext(context) == TSR_SUCCESS);
  const std::string lost =
      "2 a stream ended with a failure that nobody had waited for: twice: it was ended after 1 steps of its plan, the "
      "most that it was given";
  const std::string unread = "2 TSR_THREADS is 'many', which is not a number of threads, and is not used";
  const std::string loaded = "1 a module was loaded; of its targets cpu:x86-64-v3 was chosen";
  const std::vector<std::string> wanted = {unread, loaded, lost, lost};
  CHECK(messages == wanted);
}

TEST_CASE("work behind what was cancelled runs before anybody waits", "[runtime]") {
  Gate gate;
  tsr_context_t context = gate.loaded.context;
  TwoCopies copies(context);
  HostTensor x({2}, {1, 2}), dropped({2}, {0, 0}), later({2}, {0, 0});
  gate.close();
  REQUIRE(call(copies.function, {&x.tensor}, {&dropped.tensor}, gate.stream) == TSR_SUCCESS);
  REQUIRE(tsrCancel(context, gate.stream) == TSR_SUCCESS);
  REQUIRE(call(copies.function, {&x.tensor}, {&later.tensor}, gate.stream) == TSR_SUCCESS);
  gate.open();
  CHECK(tsrSynchronize(context, gate.stream, TSR_FOREVER) == TSR_ECANCELED);
  CHECK(dropped.values() == std::vector<float>{0, 0});
  CHECK(later.values() == std::vector<float>{1, 2});
  CHECK(tsrSynchronize(context, gate.stream, TSR_FOREVER) == TSR_SUCCESS);
}

TEST_CASE("work that fails behind what was cancelled is the failure, and drops what follows", "[runtime]") {
  Gate gate;
  tsr_context_t context = gate.loaded.context;
  TwoCopies copies(context);
  HostTensor x({2}, {1, 2}), y({2}), later({2}, {0, 0});
  auto limits = sized<tsr_limits_t>();
  limits.steps = 1;
  gate.close();
  REQUIRE(call(copies.function, {&x.tensor}, {&y.tensor}, gate.stream) == TSR_SUCCESS);
  REQUIRE(tsrCancel(context, gate.stream) == TSR_SUCCESS);
  REQUIRE(tsrSetLimits(context, &limits) == TSR_SUCCESS);
  REQUIRE(call(copies.function, {&x.tensor}, {&y.tensor}, gate.stream) == TSR_SUCCESS);
  REQUIRE(tsrSetLimits(context, nullptr) == TSR_SUCCESS);
  REQUIRE(call(copies.function, {&x.tensor}, {&later.tensor}, gate.stream) == TSR_SUCCESS);
  gate.open();
  CHECK(tsrSynchronize(context, gate.stream, TSR_FOREVER) == TSR_ETIMEOUT);
  CHECK(later.values() == std::vector<float>{0, 0});
}

TEST_CASE("a stream has ended for good when its destruction returns", "[runtime]") {
  using namespace tessera::runtime;
  /// Work of a driver that the owner may end as soon as the stream was destroyed.
  struct Native : ThreadStream {
    Native(Queue& queue, std::atomic<bool>& is_there) : ThreadStream(queue), there(is_there) {}
    ~Native() override { there = false; }
    std::atomic<bool>& there;
  };
  std::unique_ptr<Device> device = make_cpu_device();
  Context context;
  Queue* queue = nullptr;
  std::unique_ptr<Stream> direct;
  REQUIRE_FALSE(device->make_default_stream(direct).failed());
  REQUIRE_FALSE(direct->submit([&](Queue& own) { return queue = &own, ok(); }).failed());
  std::atomic<bool> there = true;
  auto stream = std::make_shared<ContextStream>(context);
  stream->work = std::make_unique<Native>(*queue, there);
  context.adopt(context.streams, stream);
  std::shared_ptr<ContextStream> held = stream;  // as one that waits for all work does
  stream.reset();
  CHECK(tsrDestroyStream(held->handle.get()) == TSR_SUCCESS);
  CHECK_FALSE(there);
  held->drain();
}

TEST_CASE("asking whether a stream is done leaves nothing in it", "[runtime]") {
  Gate gate;
  gate.close();
  CHECK(tsrSynchronize(gate.loaded.context, gate.stream, 0) == TSR_ETIMEOUT);
  size_t before = ::mallinfo2().uordblks;
  for (int i = 0; i < 5000; ++i) (void)tsrSynchronize(gate.loaded.context, gate.stream, 0);
  CHECK(::mallinfo2().uordblks < before + 100000);
  gate.open();
  CHECK(tsrSynchronize(gate.loaded.context, gate.stream, TSR_FOREVER) == TSR_SUCCESS);
}
