// Few long rows, and columns that are long or few: their parts, run by the interpreter at sizes at which launches
// choose them, give what the graph gives.

#include <catch2/catch.hpp>
#include <functional>

#include "unit/gpu/row_cases.h"

using namespace tessera;
using namespace tessera::test;

namespace {

const std::vector<DimValues> long_rows = {
    {{"M", 1}, {"N", 81920}}, {{"M", 2}, {"N", 81957}}, {{"M", 1}, {"N", 82001}}};

/// Puts numbers at places of a row.
void put(TensorValue& x, int64_t row, std::initializer_list<std::pair<int64_t, double>> numbers) {
  for (auto [place, number] : numbers) x.set(row * x.dims()[1] + place, Element{.f = number});
}

}  // namespace

TEST_CASE("sums, extremes and means of few long rows are made of parts") {
  std::vector<GpuCase> cases = {
      rows_case("sum", "x: Tensor[M, N, f32]", "    return sum(x, axis=1), mean(x * x, axis=1)\n", 2, long_rows, 1e-4),
      rows_case("logsumexp", "x: Tensor[M, N, f32]", "    return nn.logsumexp(x)\n", 1, long_rows, 1e-4),
      rows_case("two kept axes, two reduced", "x: Tensor[2, M, 3, N, f32], y: Tensor[M, N, f32]",
                "    return max(x * y[:, None, :], axis=(2, 3)), min(x, axis=(2, 3))\n", 2, {{{"M", 1}, {"N", 27500}}},
                0),
      rows_case("rows that are shifted and stored", "x: Tensor[M, N, f32]",
                "    return x - max(x, axis=1, keepdims=True)\n", 1, {long_rows[1]}, 1e-6),
      rows_case("extents that are known", "x: Tensor[3, 90001, f32]",
                "    return sum(x, axis=1), nn.argmax(x, dtype=i32)\n", 2, {{}}, 1e-4),
      rows_case("integers", "x: Tensor[M, N, i16]",
                "    return sum(x, axis=1), max(x, axis=1), nn.argmin(x)\n", 3,
                {{{"M", 2}, {"N", 163840}}, {{"M", 1}, {"N", 150001}}}, 0),
      rows_case("narrow floats", "x: Tensor[M, N, bf16]", "    return sum(x, axis=1), nn.argmax(x)\n", 2,
                {{{"M", 2}, {"N", 150007}}}, 8e-3),
      rows_case("numbers of elements", "x: Tensor[M, N, f32]",
                "    return max(where(x > 0.0, arange(N, i32), -1), axis=1)\n", 1, {long_rows[1]}, 0)};
  for (const GpuCase& each : cases) check_values(each);
}

TEST_CASE("the first of equal extremes of a long row is found in parts, and NaN before all") {
  GpuCase of = rows_case("places", "x: Tensor[M, N, f32]", "    return nn.argmax(x), nn.argmin(x)\n", 2, {}, 0);
  Tiles program(of);
  constexpr int64_t n = 81957, last = n - 1;
  auto check = [&](const std::function<void(TensorValue&)>& change, int64_t greatest, int64_t least) {
    DimValues dims{{"M", 1}, {"N", n}};
    Tensors arguments = program.arguments(dims);
    change(arguments[0]);
    Tensors found = program.values(arguments, dims);
    CHECK(same_bits(found, program.expected(arguments)));
    CHECK(found[0].get(0).i == greatest);
    CHECK(found[1].get(0).i == least);
  };
  auto fill = [](TensorValue& x, double number) {
    for (int64_t i = 0; i < x.count(); ++i) x.set(i, Element{.f = number});
  };
  check([&](TensorValue& x) { put(x, 0, {{8192, 9.0}, {16385, 9.0}, {last, 9.0}, {8191, -9.0}, {0, -8.0}}); }, 8192,
        8191);
  check([&](TensorValue& x) { put(x, 0, {{last, inf}, {81920, -inf}, {81921, -inf}}); }, last, 81920);
  check([&](TensorValue& x) { put(x, 0, {{5, inf}, {40000, not_a_number}, {81930, not_a_number}, {7, -inf}}); }, 40000,
        40000);
  check([&](TensorValue& x) { put(x, 0, {{81930, not_a_number}, {0, inf}}); }, 81930, 81930);
  check([&](TensorValue& x) { fill(x, -inf); }, 0, 0);
  check([&](TensorValue& x) { fill(x, inf); }, 0, 0);
  check([&](TensorValue& x) { fill(x, -0.0), put(x, 0, {{20000, 0.0}, {0, -1.0}, {9, 1.0}, {9000, 1.0}}); }, 9, 0);
  check([&](TensorValue& x) { fill(x, -0.0), put(x, 0, {{20000, 0.0}}); }, 0, 0);
}

TEST_CASE("rows that are many or short are reduced as they were") {
  GpuCase of = rows_case("sum", "x: Tensor[M, N, f32]", "    return sum(x, axis=1), nn.argmax(x)\n", 2,
                         {{{"M", 70}, {"N", 1500}}, {{"M", 3}, {"N", 0}}, {{"M", 0}, {"N", 90000}},
                          {{"M", 1}, {"N", 1}}},
                         1e-5);
  check_values(of);
  auto launches = [](const std::string& arguments) {
    Tiles program(rows_case("sum", arguments, "    return sum(x, axis=1)\n", 1, {{}}, 0));
    std::string text = program.text();
    CHECK(text.find("host.if") == std::string::npos);
    size_t found = 0;
    for (size_t at = text.find("host.launch"); at != std::string::npos; at = text.find("host.launch", at + 1)) ++found;
    return found;
  };
  // Extents that are known decide: parts, rest and both together; parts alone; rows as they are.
  CHECK(launches("x: Tensor[3, 500000, f32]") == 3);
  CHECK(launches("x: Tensor[3, 524288, f32]") == 2);
  CHECK(launches("x: Tensor[1, 10000000, bf16]") == 3);
  CHECK(launches("x: Tensor[67, 500000, f32]") == 1);
  CHECK(launches("x: Tensor[3, 20000, f32]") == 1);
  CHECK(launches("x: Tensor[64, 100000, f32]") == 1);
}

TEST_CASE("columns are cut where they are long and few, and whole elsewhere") {
  const std::vector<DimValues> sizes = {{{"M", 1}, {"N", 50}},   {{"M", 511}, {"N", 7}},   {{"M", 512}, {"N", 9}},
                                        {{"M", 1000}, {"N", 33}}, {{"M", 3}, {"N", 16384}}, {{"M", 0}, {"N", 5}},
                                        {{"M", 5}, {"N", 0}}};
  std::vector<GpuCase> cases = {
      rows_case("columns", "x: Tensor[M, N, f32], y: Tensor[N, f32]",
                "    return sum(x * y, axis=0), max(x + y[None, :], axis=0)\n", 2, sizes, 1e-3),
      rows_case("narrow columns", "x: Tensor[M, N, bf16]", "    return sum(x, axis=0)\n", 1, sizes, 0.2),
      rows_case("of columns of columns", "x: Tensor[M, N, f32]", "    return sum(x, axis=0)\n", 1,
                {{{"M", 131073}, {"N", 1}}, {{"M", 140000}, {"N", 2}}}, 1e-2),
      rows_case("a sum of everything", "x: Tensor[M, N, f32]", "    return sum(x), sum(x * 2.0) + 1.0\n", 2,
                {{{"M", 1}, {"N", 1}}, {{"M", 77}, {"N", 99}}, {{"M", 200}, {"N", 90}}}, 1e-2)};
  for (const GpuCase& each : cases) check_values(each);
}
