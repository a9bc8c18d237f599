// What a caller gets wrong is said by name.

#include <catch2/catch.hpp>

#include "unit/runtime/sample.h"

using namespace tessera::test;
using namespace tessera::format;

namespace {

/// y[B, 3*D] from x[B, D] and w[3*D]; launches nothing.
Plan layer() {
  PlanBuilder b("layer");
  b.dim("B");
  b.dim("D");
  uint32_t x = b.input("x", {"B", "D"});
  b.input("w", {"3*D"});
  uint32_t y = b.output("y", {"B", "D"});
  b.guard("D % 2 == 0", "where D % 2 == 0 (layer.tsr:4:7) does not hold");
  b.step(CopyStep{y, x});
  return b.plan;
}

struct Case {
  Case() : loaded(make_bundle({layer()})), x({2, 4}), w({12}), y({2, 4}) {}

  tsr_status_t run() { return call(loaded.function("layer"), {&x.tensor, &w.tensor}, {&y.tensor}); }

  Loaded loaded;
  HostTensor x;
  HostTensor w;
  HostTensor y;
};

}  // namespace

TEST_CASE("a fitting call succeeds", "[runtime]") {
  Case c;
  CHECK(c.run() == TSR_SUCCESS);
}

TEST_CASE("wrong numbers of tensors are named", "[runtime]") {
  Case c;
  CHECK(call(c.loaded.function("layer"), {&c.x.tensor}, {&c.y.tensor}) == TSR_EINVAL);
  CHECK(last_error() == "layer: expected 2 inputs, got 1");
  CHECK(call(c.loaded.function("layer"), {&c.x.tensor, &c.w.tensor}, {}) == TSR_EINVAL);
  CHECK(last_error() == "layer: expected 1 outputs, got 0");
  CHECK(call(c.loaded.function("layer"), {&c.x.tensor, nullptr}, {&c.y.tensor}) == TSR_EINVAL);
  CHECK(last_error() == "layer: input 'w' is missing");
  tsr_function_t function = nullptr;
  CHECK(tsrGetFunction(c.loaded.module, "layr", &function) == TSR_ENOTFOUND);
  CHECK(last_error() == "the bundle has no entry 'layr'; it has layer");
}

TEST_CASE("wrong dtypes, ranks and extents are named", "[runtime]") {
  Case c;
  SECTION("dtype") {
    c.x.tensor.dtype = {4, 16, 1};
    CHECK(c.run() == TSR_EINVAL);
    CHECK(last_error() == "layer: input 'x': expected dtype f32, got bf16");
    c.x.tensor.dtype = {5, 64, 1};
    CHECK(c.run() == TSR_EINVAL);
    CHECK(last_error() ==
          "layer: input 'x': expected dtype f32, got DLPack type code 5 of 64 bits and 1 lanes");
  }
  SECTION("rank") {
    c.x.tensor.ndim = 1;
    CHECK(c.run() == TSR_EINVAL);
    CHECK(last_error() == "layer: input 'x' has rank 1; expected rank 2, [B, D]");
  }
  SECTION("extent of an expression") {
    c.w.shape[0] = 10;
    CHECK(c.run() == TSR_EINVAL);
    CHECK(last_error() ==
          "layer: input 'w', axis 0: expected 3*D = 12, got 10; D = 4 from input 'x', axis 1");
  }
  SECTION("negative extent") {
    c.x.shape[1] = -4;
    CHECK(c.run() == TSR_EINVAL);
    CHECK(last_error() == "layer: input 'x', axis 1: the extent -4 is negative");
  }
  SECTION("extent of an output") {
    c.y.shape[0] = 3;
    CHECK(c.run() == TSR_EINVAL);
    CHECK(last_error() ==
          "layer: output 'y', axis 0: expected 2, got 3; the shape is [B, D] = [2, 4]");
  }
  SECTION("guard") {
    HostTensor x({2, 3});
    HostTensor w({9});
    HostTensor y({2, 3});
    CHECK(call(c.loaded.function("layer"), {&x.tensor, &w.tensor}, {&y.tensor}) == TSR_EINVAL);
    CHECK(last_error() ==
          "layer: where D % 2 == 0 (layer.tsr:4:7) does not hold: 1 == 0; D = 3 from input 'x', axis 1");
  }
  SECTION("an extent that overflows") {
    c.x.shape = {0, INT64_MAX / 2};
    c.x.tensor.shape = c.x.shape.data();
    CHECK(c.run() == TSR_EINVAL);
    CHECK(last_error() ==
          "layer: input 'w', axis 0: expected 3*D, but it overflows 64 bits; D = "
          "4611686018427387903 from input 'x', axis 1");
  }
}

TEST_CASE("wrong memory is named", "[runtime]") {
  Case c;
  SECTION("alignment") {
    c.x.tensor.byte_offset = 4;
    CHECK(c.run() == TSR_EINVAL);
    CHECK(last_error() ==
          "layer: input 'x': its data must be at a multiple of 64 bytes; tsrAlloc gives such "
          "memory");
  }
  SECTION("strides") {
    int64_t strides[] = {1, 2};
    c.x.tensor.strides = strides;
    CHECK(c.run() == TSR_EINVAL);
    CHECK(last_error() ==
          "layer: input 'x', axis 1: expected stride 1, got 2; only dense row-major tensors are "
          "accepted");
    strides[0] = 4;
    strides[1] = 1;
    CHECK(c.run() == TSR_SUCCESS);
  }
  SECTION("device") {
    c.x.tensor.device.device_type = 2;
    CHECK(c.run() == TSR_EINVAL);
    CHECK(last_error() == "layer: input 'x': expected memory of the CPU, got memory of cuda:0");
  }
  SECTION("missing data") {
    c.x.tensor.data = nullptr;
    CHECK(c.run() == TSR_EINVAL);
    CHECK(last_error() == "layer: input 'x': its data is NULL");
  }
  SECTION("overlap") {
    c.y.tensor.data = c.x.tensor.data;
    CHECK(c.run() == TSR_EINVAL);
    CHECK(last_error() == "layer: output 'y' overlaps input 'x'");
  }
}

TEST_CASE("a plan that contradicts itself is the image's fault", "[runtime]") {
  PlanBuilder b("broken");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  uint32_t view = b.temp({"N"}, 0, 2);
  b.step(SelectStep{b.expr("N > 4"), 1, 0});
  b.step(AliasStep{view, x, b.expr("4")});
  b.step(CopyStep{y, view});
  Loaded loaded(make_bundle({b.plan}));
  HostTensor in({5});
  HostTensor out({5});
  CHECK(call(loaded.function("broken"), {&in.tensor}, {&out.tensor}) == TSR_EIMAGE);
  CHECK(last_error() == "broken: step 1 of the plan: a view of 20 bytes at 4 in 20");
  in.shape[0] = 2;
  out.shape[0] = 2;
  CHECK(call(loaded.function("broken"), {&in.tensor}, {&out.tensor}) == TSR_EIMAGE);
  CHECK(last_error() == "broken: step 2 of the plan: temporary 't2' has no memory");
}
