// Rows whose extents lie between those that registers hold whole, and long ones of which there are many: the kernels
// that launches choose for them, run by the interpreter, give what the graph gives.

#include <catch2/catch.hpp>

#include "ir/core/common_attributes.h"
#include "ir/schedule/schedule_keys.h"
#include "ir/text/entries.h"
#include "unit/gpu/row_cases.h"

using namespace tessera;
using namespace tessera::test;

namespace {

/// Warps of the kernels that assume a relation to that number.
std::vector<int64_t> warps_where(const GpuProgram& program, Relation relation, int64_t number) {
  std::vector<int64_t> warps;
  for (Op* kernel : program.kernels()) {
    for (const DimFact& fact : read_facts(kernel->attr(common::Kernel::assume))) {
      if (fact.relation != relation || !fact.right->is_constant(number)) continue;
      warps.push_back(entry::read(kernel->attr(common::Kernel::schedule), schedule::key::warps).value_or(0));
    }
  }
  return warps;
}

const std::vector<DimValues> many = {{{"M", 528}, {"N", 4098}}, {{"M", 529}, {"N", 6151}}, {{"M", 528}, {"N", 8192}}};

}  // namespace

TEST_CASE("few warps walk each of many long rows that are only combined") {
  check_values(rows_case("sum", "x: Tensor[M, N, bf16]", "    return sum(x, axis=1)\n", 1, many, 8e-3));
  check_values(rows_case("logsumexp", "x: Tensor[M, N, f32]", "    return nn.logsumexp(x)\n", 1, {many[1]}, 1e-5));
  Tiles program(rows_case("sum", "x: Tensor[M, N, bf16]", "    return sum(x, axis=1)\n", 1, many, 8e-3));
  std::vector<int64_t> warps = warps_where(program, Relation::GreaterEqual, 528);
  REQUIRE(warps.size() == 2);  // of pairs, and of any; rows of vectors are held
  CHECK(warps == std::vector<int64_t>(2, 4));
}

TEST_CASE("the first of equal extremes of one of many long rows is found, and NaN before all") {
  GpuCase of = rows_case("places", "x: Tensor[M, N, bf16]", "    return nn.argmax(x), nn.argmin(x)\n", 2, {}, 0);
  Tiles program(of);
  for (int64_t n : {8194, 4097}) {
    DimValues dims{{"M", 528}, {"N", n}};
    Tensors arguments = program.arguments(dims);
    TensorValue& x = arguments[0];
    auto put = [&](int64_t row, int64_t place, double number) { x.set(row * n + place, Element{.f = number}); };
    put(0, n - 1, inf), put(0, 2, -inf), put(0, 4090, -inf);
    put(1, 4090, inf), put(1, 17, inf), put(1, n - 1, -inf);
    put(2, n - 1, not_a_number), put(2, 3, inf);
    put(527, 4095, not_a_number), put(527, n - 1, not_a_number);
    Tensors found = program.values(arguments, dims);
    CHECK(same_bits(found, program.expected(arguments)));
    CHECK(found[0].get(0).i == n - 1);
    CHECK(found[1].get(0).i == 2);
    CHECK(found[0].get(1).i == 17);
    CHECK(found[0].get(2).i == n - 1);
    CHECK(found[1].get(527).i == 4095);
  }
}

TEST_CASE("rows that are stored again have kernels between the powers of two") {
  const std::vector<DimValues> sizes = {{{"M", 2}, {"N", 5120}}, {{"M", 1}, {"N", 9002}}, {{"M", 2}, {"N", 12001}},
                                        {{"M", 1}, {"N", 10240}}, {{"M", 2}, {"N", 20002}}};
  std::string norm = "    return nn.layernorm(x, g, g)\n", sum = "    return nn.rmsnorm(x + y, g)\n";
  GpuCase layer = rows_case("layernorm", "x: Tensor[M, N, bf16], g: Tensor[N, bf16]", norm, 1, sizes, 1e-2);
  GpuCase both = rows_case("rmsnorm of a sum", "x: Tensor[M, N, bf16], y: Tensor[M, N, bf16], g: Tensor[N, bf16]", sum,
                           1, sizes, 1e-2);
  GpuCase soft = rows_case("softmax", "x: Tensor[M, N, bf16]", "    return softmax(x)\n", 1, sizes, 1e-2);
  for (const GpuCase& each : {layer, both, soft}) check_values(each);

  // Of vectors, of pairs and of any: as many warps as hold them without another multiprocessor's registers.
  Tiles program(layer);
  CHECK(warps_where(program, Relation::LessEqual, 6144) == std::vector<int64_t>{4, 8, 8});
  CHECK(warps_where(program, Relation::LessEqual, 10240) == std::vector<int64_t>{8, 8});
  CHECK(warps_where(program, Relation::LessEqual, 12288) == std::vector<int64_t>{8, 16, 16});
  // Two rows of a program's own are not read again, even as vectors.
  CHECK(warps_where(program, Relation::LessEqual, 32768) == std::vector<int64_t>{32, 32});
  CHECK(warps_where(Tiles(both), Relation::LessEqual, 32768) == std::vector<int64_t>{16, 32, 32});
  // With nothing beside it a row has fewer threads.
  CHECK(warps_where(Tiles(soft), Relation::LessEqual, 16384).at(0) == 8);
}

TEST_CASE("several short rows that are only combined are a program's up to 2048 elements") {
  const std::vector<DimValues> sizes = {{{"M", 3}, {"N", 1026}}, {{"M", 5}, {"N", 2048}}, {{"M", 1}, {"N", 2047}}};
  std::string body = "    return sum(x, axis=1), max(x, axis=1)\n";
  check_values(rows_case("sum", "x: Tensor[M, N, bf16]", body, 2, sizes, 8e-3));
  auto kernels = [](const std::string& body) {
    Tiles program(rows_case("rows", "x: Tensor[M, N, bf16]", body, 1, {}, 0));
    return warps_where(program, Relation::LessEqual, 2048);
  };
  CHECK(kernels("    return sum(x, axis=1)\n").at(0) == 4);  // of two rows
  CHECK(kernels("    return x - max(x, axis=1, keepdims=True)\n").at(0) == 2);
}
