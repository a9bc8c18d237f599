// Streams run in order beside the caller; events order them among each other.

#include <catch2/catch.hpp>

#include "unit/runtime/sample.h"

using namespace tessera::test;
using namespace tessera::format;

namespace {

struct Gate {
  Gate() : loaded(make_bundle({})), flag({1}, {0}), seen({1}, {0}) {
    REQUIRE(tsrGetKernel(loaded.module, "wait_for", &kernel) == TSR_SUCCESS);
    REQUIRE(tsrCreateStream(loaded.context, &stream) == TSR_SUCCESS);
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

}  // namespace

TEST_CASE("waiting for a busy stream times out and then succeeds", "[runtime]") {
  Gate gate;
  gate.close();
  CHECK(tsrSynchronizeStream(gate.stream, 5) == TSR_ETIMEOUT);
  CHECK(last_error() == "the stream was still busy after 5 ms");
  gate.open();
  CHECK(tsrSynchronizeStream(gate.stream, TSR_FOREVER) == TSR_SUCCESS);
  CHECK(gate.seen.floats()[0] == 3);
}

TEST_CASE("an event holds back another stream", "[runtime]") {
  Gate gate;
  tsr_event_t event = nullptr;
  tsr_event_t end = nullptr;
  tsr_stream_t other = nullptr;
  REQUIRE(tsrCreateEvent(gate.loaded.context, &event) == TSR_SUCCESS);
  REQUIRE(tsrCreateEvent(gate.loaded.context, &end) == TSR_SUCCESS);
  REQUIRE(tsrCreateStream(gate.loaded.context, &other) == TSR_SUCCESS);
  CHECK(tsrSynchronizeEvent(event, 0) == TSR_SUCCESS);
  gate.close();
  REQUIRE(tsrRecordEvent(event, gate.stream) == TSR_SUCCESS);
  REQUIRE(tsrWaitEvent(other, event) == TSR_SUCCESS);
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
  REQUIRE(tsrCreateStream(loaded.context, &stream) == TSR_SUCCESS);
  HostTensor three({3}, {1, 2, 3});
  HostTensor out({3});
  REQUIRE(call(loaded.function("divide"), {&three.tensor}, {&out.tensor}, stream) == TSR_SUCCESS);
  CHECK(tsrSynchronizeStream(stream, TSR_FOREVER) == TSR_EINVAL);
  CHECK(last_error() ==
        "divide: the value of an expression of step 0 cannot be found: it divides by zero");
  CHECK(tsrSynchronizeStream(stream, TSR_FOREVER) == TSR_SUCCESS);
  HostTensor four({4}, {1, 2, 3, 4});
  HostTensor copy({4});
  REQUIRE(call(loaded.function("divide"), {&four.tensor}, {&copy.tensor}, stream) == TSR_SUCCESS);
  CHECK(tsrUnloadModule(loaded.module) == TSR_SUCCESS);
  CHECK(copy.values() == four.values());
}
