// Arithmetic, comparisons, select and casts, compiled and run, are those of evaluate_elementwise bit for bit.

#include <catch2/catch.hpp>

#include "unit/codegen/elementwise_kernel.h"

using namespace tessera;
using namespace tessera::test;
using Kind = ElementwiseKind;

namespace {

bool is_transcendental(Kind kind) {
  switch (kind) {
    case Kind::Exp:
    case Kind::Exp2:
    case Kind::Expm1:
    case Kind::Log:
    case Kind::Log2:
    case Kind::Log1p:
    case Kind::Sin:
    case Kind::Cos:
    case Kind::Tanh:
    case Kind::Sigmoid:
    case Kind::Erf:
    case Kind::Gelu:
    case Kind::Silu:
    case Kind::Pow: return true;
    default: return false;
  }
}

bool takes(Kind kind, DType dtype) {
  switch (elementwise_info(kind).cls) {
    case ElementwiseClass::Arithmetic: return dtype != DType::Bool;
    case ElementwiseClass::Real: return is_float(dtype);
    case ElementwiseClass::Logical: return !is_float(dtype);
    case ElementwiseClass::Convert: return false;
    default: return true;
  }
}

DType result_of(Kind kind, DType dtype) {
  return elementwise_info(kind).cls == ElementwiseClass::Compare ? DType::Bool : dtype;
}

std::vector<Kind> exact_kinds() {
  std::vector<Kind> kinds;
  for (int k = int(Kind::None) + 1; k <= int(Kind::Cast); ++k) {
    if (!is_transcendental(Kind(k)) && Kind(k) != Kind::Cast) kinds.push_back(Kind(k));
  }
  return kinds;
}

constexpr DType dtypes[] = {DType::F64, DType::F32, DType::BF16, DType::F16, DType::I64, DType::I32,
                            DType::I16, DType::I8,  DType::U64,  DType::U32, DType::U16, DType::U8,
                            DType::Bool};

}  // namespace

TEST_CASE("unary ops on every bf16 and f16") {
  for (const Machine* machine : runnable_machines()) {
    for (DType dtype : {DType::BF16, DType::F16}) {
      std::vector<uint8_t> inputs = all_patterns(dtype);
      for (Kind kind : exact_kinds()) {
        if (elementwise_info(kind).operands != 1 || !takes(kind, dtype)) continue;
        CHECK(first_difference(kind, dtype, dtype, *machine, {inputs}, 65536) == "");
      }
    }
  }
}

TEST_CASE("casts of every bf16 and f16") {
  for (const Machine* machine : runnable_machines()) {
    for (DType from : {DType::BF16, DType::F16}) {
      std::vector<uint8_t> inputs = all_patterns(from);
      for (DType to : dtypes) {
        CHECK(first_difference(Kind::Cast, from, to, *machine, {inputs}, 65536) == "");
      }
    }
  }
}

TEST_CASE("casts of every f8 and to f8") {
  for (const Machine* machine : runnable_machines()) {
    for (DType f8 : {DType::F8E4M3, DType::F8E5M2}) {
      for (DType to : {DType::F32, DType::BF16, DType::F16, DType::F64, DType::I8, DType::Bool}) {
        CHECK(first_difference(Kind::Cast, f8, to, *machine, {all_patterns(f8)}, 256) == "");
      }
      for (DType from : {DType::BF16, DType::F16}) {
        CHECK(first_difference(Kind::Cast, from, f8, *machine, {all_patterns(from)}, 65536) == "");
      }
      for (DType from : {DType::F32, DType::F64, DType::I32, DType::TF32}) {
        CHECK(first_difference(Kind::Cast, from, f8, *machine, {sample(from, 5000, 3)}, 5000) == "");
      }
    }
  }
}

TEST_CASE("casts between all dtypes") {
  constexpr int64_t count = 3000;
  for (const Machine* machine : runnable_machines()) {
    for (DType from : dtypes) {
      for (DType to : dtypes) {
        CHECK(first_difference(Kind::Cast, from, to, *machine, {sample(from, count, 7)}, count) == "");
      }
      CHECK(first_difference(Kind::Cast, from, DType::TF32, *machine, {sample(from, count, 8)}, count) == "");
    }
  }
}

TEST_CASE("exact ops of all dtypes on samples") {
  constexpr int64_t count = 2000;
  for (const Machine* machine : runnable_machines()) {
    for (DType dtype : dtypes) {
      for (Kind kind : exact_kinds()) {
        if (!takes(kind, dtype) || (kind == Kind::Mod && dtype == DType::F64)) continue;
        std::vector<std::vector<uint8_t>> operands;
        for (unsigned n = 0; n < elementwise_info(kind).operands; ++n) {
          operands.push_back(sample(operand_dtype(kind, dtype, n), count, 11 + n));
        }
        CHECK(first_difference(kind, dtype, result_of(kind, dtype), *machine, operands, count) == "");
      }
    }
  }
}
