// Arithmetic, comparisons, select and casts, compiled and run, are those of evaluate_elementwise bit for bit.

#include <catch2/catch.hpp>
#include <functional>

#include "unit/codegen/elementwise_kernel.h"

using namespace tessera;
using namespace tessera::test;
using Kind = ElementwiseKind;

namespace {

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

namespace {

using Operands = std::vector<std::vector<uint8_t>>;

/// Compares all cases, compiled together, on operands that `inputs` gives.
void check_all(const std::vector<ElementwiseCase>& cases,
               const std::function<Operands(const ElementwiseCase&)>& inputs) {
  for (const Machine* machine : runnable_machines()) {
    ElementwiseKernels kernels(cases, *machine);
    REQUIRE(kernels.messages() == "");
    for (size_t n = 0; n < kernels.size(); ++n) {
      Operands operands = inputs(kernels.at(n));
      DType first = operand_dtype(kernels.at(n).kind, kernels.at(n).from, 0);
      CHECK(kernels.first_difference(n, operands, int64_t(operands[0].size() / byte_size(first))) == "");
    }
  }
}

}  // namespace

TEST_CASE("unary ops on every bf16 and f16") {
  std::vector<ElementwiseCase> cases;
  for (DType dtype : {DType::BF16, DType::F16}) {
    for (Kind kind : exact_kinds()) {
      if (elementwise_info(kind).operands == 1 && takes(kind, dtype)) cases.push_back({kind, dtype, dtype});
    }
  }
  check_all(cases, [](const ElementwiseCase& test) { return Operands{all_patterns(test.from)}; });
}

TEST_CASE("casts of every bf16, f16 and f8") {
  std::vector<ElementwiseCase> cases;
  for (DType from : {DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2}) {
    for (DType to : dtypes) cases.push_back({Kind::Cast, from, to});
    for (DType to : {DType::F8E4M3, DType::F8E5M2, DType::TF32}) cases.push_back({Kind::Cast, from, to});
  }
  check_all(cases, [](const ElementwiseCase& test) { return Operands{all_patterns(test.from)}; });
}

TEST_CASE("casts between all dtypes") {
  std::vector<ElementwiseCase> cases;
  for (DType from : dtypes) {
    for (DType to : dtypes) cases.push_back({Kind::Cast, from, to});
    for (DType to : {DType::F8E4M3, DType::F8E5M2, DType::TF32}) cases.push_back({Kind::Cast, from, to});
  }
  for (DType to : {DType::F32, DType::F8E4M3, DType::I32}) cases.push_back({Kind::Cast, DType::TF32, to});
  check_all(cases, [](const ElementwiseCase& test) { return Operands{sample(test.from, 3000, 7)}; });
}

TEST_CASE("exact ops of all dtypes on samples") {
  std::vector<ElementwiseCase> cases;
  for (DType dtype : dtypes) {
    for (Kind kind : exact_kinds()) {
      if (!takes(kind, dtype) || (kind == Kind::Mod && dtype == DType::F64)) continue;
      cases.push_back({kind, dtype, result_of(kind, dtype)});
    }
  }
  check_all(cases, [](const ElementwiseCase& test) {
    Operands operands;
    for (unsigned n = 0; n < elementwise_info(test.kind).operands; ++n) {
      operands.push_back(sample(operand_dtype(test.kind, test.from, n), 2000, 11 + n));
    }
    return operands;
  });
}
