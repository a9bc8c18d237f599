#include "ir/numbers/dtype.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "ir/numbers/elementwise.h"

using namespace tessera;

TEST_CASE("every pattern of every narrow float decodes and encodes to itself") {
  for (DType dtype : {DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2}) {
    for (uint64_t bits = 0; bits < (uint64_t(1) << dtype_info(dtype).bits); ++bits) {
      double value = decode_float(dtype, bits);
      if (std::isnan(value)) {
        CHECK(std::isnan(decode_float(dtype, encode_float(dtype, value))));
      } else {
        CHECK(encode_float(dtype, value) == bits);
      }
    }
  }
}

TEST_CASE("f32 is rounded as the hardware rounds it") {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 100000; ++i) {
    double value = std::bit_cast<double>(rng());
    if (std::isnan(value)) continue;
    CHECK(encode_float(DType::F32, value) == std::bit_cast<uint32_t>(float(value)));
  }
}

TEST_CASE("narrow floats round to nearest even between neighbours") {
  for (DType dtype : {DType::BF16, DType::F16, DType::F8E5M2, DType::F8E4M3}) {
    uint64_t sign = uint64_t(1) << (dtype_info(dtype).bits - 1);
    for (uint64_t bits = 0; bits + 1 < sign; ++bits) {
      double low = decode_float(dtype, bits), high = decode_float(dtype, bits + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      double tie = (low + high) / 2;
      CHECK(encode_float(dtype, tie) == (bits % 2 == 0 ? bits : bits + 1));
      CHECK(encode_float(dtype, std::nextafter(tie, 0.0)) == bits);
      CHECK(encode_float(dtype, std::nextafter(tie, 1e300)) == bits + 1);
    }
  }
}

TEST_CASE("overflow goes to infinity, to NaN where there is none, or saturates") {
  CHECK(encode_float(DType::F16, 65519.9) == 0x7bff);
  CHECK(encode_float(DType::F16, 65520) == 0x7c00);
  CHECK(encode_float(DType::F16, -1e10, true) == 0xfbff);
  CHECK(encode_float(DType::F8E4M3, 1000) == 0x7f);
  CHECK(encode_float(DType::F8E4M3, 1000, true) == 0x7e);
  CHECK(encode_float(DType::BF16, INFINITY) == 0x7f80);
}

TEST_CASE("integers wrap, and division by zero gives zero") {
  auto run = [](ElementwiseKind kind, DType dtype, int64_t a, int64_t b) {
    Element operands[] = {{.i = a}, {.i = b}};
    return evaluate_elementwise(kind, dtype, dtype, operands).i;
  };
  CHECK(run(ElementwiseKind::Add, DType::I8, 127, 1) == -128);
  CHECK(run(ElementwiseKind::Mul, DType::U8, 16, 17) == 16);
  CHECK(run(ElementwiseKind::Div, DType::I32, 5, 0) == 0);
  CHECK(run(ElementwiseKind::Div, DType::I32, INT32_MIN, -1) == INT32_MIN);
  CHECK(run(ElementwiseKind::FloorDiv, DType::I32, -7, 2) == -4);
  CHECK(run(ElementwiseKind::Mod, DType::I32, -7, 2) == 1);
  CHECK(run(ElementwiseKind::Shl, DType::I32, 1, 32) == 0);
  CHECK(run(ElementwiseKind::Shr, DType::I8, -5, 9) == -1);
  CHECK(uint64_t(run(ElementwiseKind::Max, DType::U64, -1, 1)) == ~uint64_t(0));
}

TEST_CASE("casts clamp to the range of integers") {
  auto run = [](DType from, DType to, double value) {
    Element operand{.f = value};
    return evaluate_elementwise(ElementwiseKind::Cast, from, to, {&operand, 1}).i;
  };
  CHECK(run(DType::F32, DType::I8, 1e9) == 127);
  CHECK(run(DType::F32, DType::I8, -1e9) == -128);
  CHECK(run(DType::F32, DType::U8, -1) == 0);
  CHECK(run(DType::F32, DType::I32, NAN) == 0);
  CHECK(run(DType::F32, DType::I64, 9.3e18) == INT64_MAX);
  CHECK(run(DType::F32, DType::I32, -2.9) == -2);
}

TEST_CASE("wide integers round once to narrow floats") {
  std::mt19937_64 rng(3);
  for (int i = 0; i < 100000; ++i) {
    int64_t value = int64_t(rng()) >> (rng() % 60);
    Element operand{.i = value};
    double got = evaluate_elementwise(ElementwiseKind::Cast, DType::I64, DType::F32, {&operand, 1}).f;
    CHECK(got == double(float(value)));
  }
}
