// The tile interpreter: what ops compute is stated by numbers, and what a program may not do is
// reported.

#include <cmath>

#include "ir/tile/eval.h"
#include "unit/ir/tile_fixture.h"

using namespace tessera;

namespace {

/// Runs a kernel over a grid of [1] whose last parameter, named %y, is its result.
struct EvalTest : TextFixture {
  std::vector<TensorValue> tensors;

  bool run(const std::string& parameters, const std::vector<std::string>& body,
           std::vector<TensorValue> inputs) {
    std::string text = tile_kernel(parameters, body, 1);
    text.replace(text.find("[4, 1]"), 6, "[1, 1]");
    auto modules = parse_modules(context, sources.add("test.tir", text), diagnostics);
    INFO(render_all(diagnostics, {}));
    REQUIRE(modules);
    tensors = std::move(inputs);
    std::vector<TensorValue*> pointers;
    for (TensorValue& tensor : tensors) pointers.push_back(&tensor);
    return bool(
        tile::run_kernel((*modules)[0]->body()->front(), pointers, {{"N", 5}}, diagnostics));
  }
  std::string said() const { return render_all(diagnostics, {}); }
  double result(int64_t i) const { return tensors.back().get(i).f; }
};

TensorValue counted(DType dtype, std::vector<int64_t> dims, double first = 0) {
  TensorValue tensor = *TensorValue::make(dtype, std::move(dims));
  for (int64_t i = 0; i < tensor.count(); ++i) {
    if (is_float(dtype)) tensor.set(i, {.f = first + double(i)});
    if (!is_float(dtype)) tensor.set(i, {.i = int64_t(first) + i});
  }
  return tensor;
}

std::vector<TensorValue> inputs(std::vector<int64_t> x, std::vector<int64_t> y) {
  std::vector<TensorValue> all;
  all.push_back(counted(DType::F32, std::move(x)));
  all.push_back(counted(DType::F32, std::move(y), 900));
  return all;
}

const std::string zero = "%z: i64 = tile.constant {value = 0}";
const std::string two = "%two: i64 = tile.constant {value = 2}";
const std::string load5 = "%a: tile<5, f32> = tile.load %x, [%z], []";

}  // namespace

TEST_CASE("loads past a limit give the fill, stores past a limit do nothing") {
  EvalTest test;
  REQUIRE(test.run("%x: tensor<N, f32>, %y: tensor<N, f32>",
                   {zero, two, "%four: i64 = tile.constant {value = 4}",
                    "%a: tile<8, f32> = tile.load %x, [%two], [%two] {fill = -1.5}",
                    "tile.store %a, %y, [%z], [%four]"},
                   inputs({5}, {5})));
  for (auto [i, wanted] : {std::pair{0, 2.0}, {1, 3.0}, {2, -1.5}, {3, -1.5}, {4, 904.0}}) {
    CHECK(test.result(i) == wanted);
  }
}

TEST_CASE("a reduction combines in its tree, below its limit") {
  EvalTest test;
  REQUIRE(test.run(
      "%x: tensor<N, f32>, %y: tensor<1, f32>",
      {zero, two, load5, R"(%s: tile<f32> = tile.reduce %a, [%two] {axis = 0, kind = "sum"})",
       "%r: tile<1, f32> = tile.reshape %s", "tile.store %r, %y, [%z], []"},
      inputs({5}, {1})));
  CHECK(test.result(0) == 1);
  EvalTest none;
  REQUIRE(none.run("%x: tensor<N, f32>, %y: tensor<1, f32>",
                   {zero, load5, R"(%s: tile<f32> = tile.reduce %a, [%z] {axis = 0, kind = "max"})",
                    "%r: tile<1, f32> = tile.reshape %s", "tile.store %r, %y, [%z], []"},
                   inputs({5}, {1})));
  CHECK(none.result(0) == -INFINITY);
  // 2^24 + 1 is not representable: 2^24 + (1 + 1) is reached only when the ones are added first.
  EvalTest tree;
  std::vector<TensorValue> values = inputs({5}, {1});
  for (auto [i, v] : {std::pair{0, 16777216.0}, {1, 1.0}, {2, 0.0}, {3, 1.0}, {4, 0.0}})
    values[0].set(i, {.f = v});
  REQUIRE(tree.run("%x: tensor<N, f32>, %y: tensor<1, f32>",
                   {zero, load5, R"(%s: tile<f32> = tile.reduce %a, [] {axis = 0, kind = "sum"})",
                    "%r: tile<1, f32> = tile.reshape %s", "tile.store %r, %y, [%z], []"},
                   std::move(values)));
  CHECK(tree.result(0) == 16777218.0);
}

TEST_CASE("a scan joins neighbouring groups, from the first element or from the last") {
  auto scan = [](const std::string& flags, const std::vector<double>& values) {
    EvalTest test;
    std::vector<TensorValue> tensors = inputs({5}, {6});
    for (size_t i = 0; i < values.size(); ++i) tensors[0].set(int64_t(i), {.f = values[i]});
    REQUIRE(test.run("%x: tensor<N, f32>, %y: tensor<6, f32>",
                     {zero, load5, "%four: i64 = tile.constant {value = 4}", "%five: i64 = tile.constant {value = 5}",
                      "%s: tile<5, f32>, %t: tile<1, f32> = tile.scan %a, [], [%four] {axis = 0, " + flags + "}",
                      "tile.store %s, %y, [%z], []", "tile.store %t, %y, [%five], []"},
                     std::move(tensors)));
    std::vector<double> got;
    for (int i = 0; i < 6; ++i) got.push_back(test.result(i));
    return got;
  };
  using V = std::vector<double>;
  const V numbers{1, 2, 3, 4, 100};
  CHECK(scan("kind = \"sum\"", numbers) == V{1, 3, 6, 10, 10, 10});
  CHECK(scan("kind = \"sum\", reverse = true", numbers) == V{10, 9, 7, 4, 0, 10});
  CHECK(scan("exclusive = true, kind = \"prod\"", numbers) == V{1, 1, 2, 6, 24, 24});
  CHECK(scan("exclusive = true, kind = \"max\", reverse = true", numbers) == V{4, 4, 4, -INFINITY, -INFINITY, 4});
  // 2^24 + 1 is not representable: the ones are added to each other before `before` is added to
  // them.
  CHECK(scan("kind = \"sum\"", {16777216.0, 0, 1, 1, 0}) ==
        V{16777216.0, 16777216.0, 16777216.0, 16777218.0, 16777218.0, 16777218.0});
}

TEST_CASE("a dot adds in the order of k with one rounding a step") {
  EvalTest test;
  REQUIRE(test.run(
      "%x: tensor<2 x 2, f32>, %y: tensor<2 x 2, f32>",
      {zero, "%a: tile<2 x 2, f32> = tile.load %x, [%z, %z], []",
       "%c: tile<2 x 2, f32> = tile.full {value = 10}",
       "%d: tile<2 x 2, f32> = tile.dot %a, %a, %c, []", "tile.store %d, %y, [%z, %z], []"},
      inputs({2, 2}, {2, 2})));
  for (auto [i, wanted] : {std::pair{0, 12.0}, {1, 13.0}, {2, 16.0}, {3, 21.0}})
    CHECK(test.result(i) == wanted);
}

TEST_CASE("a dot of pairs adds even and odd products apart, without denormals") {
  EvalTest pairs;
  REQUIRE(pairs.run("%x: tensor<4 x 2, f32>, %y: tensor<2 x 4, f32>",
                    {zero, "%a: tile<4 x 2, f32> = tile.load %x, [%z, %z], []",
                     "%p: tile<2 x 4, f32> = tile.pair_rows %a",
                     "tile.store %p, %y, [%z, %z], []"},
                    inputs({4, 2}, {2, 4})));
  for (auto [i, wanted] : {std::pair{0, 0.0}, {1, 2.0}, {2, 1.0}, {3, 3.0}, {5, 6.0}, {6, 5.0}})
    CHECK(pairs.result(i) == wanted);
  auto dot = [](std::array<double, 4> factors, double sum, const char* order = "") {
    EvalTest test;
    std::vector<TensorValue> values = inputs({1, 5}, {1, 1});
    for (int64_t i = 0; i < 4; ++i) values[0].set(i, {.f = factors[size_t(i)]});
    values[0].set(4, {.f = sum});
    REQUIRE(test.run("%x: tensor<1 x 5, f32>, %y: tensor<1 x 1, f32>",
                     {zero, "%four: i64 = tile.constant {value = 4}",
                      "%f: tile<1 x 4, f32> = tile.load %x, [%z, %z], []",
                      "%a: tile<1 x 4, bf16> = tile.cast %f",
                      "%b: tile<2 x 2, bf16> = tile.full {value = 1}",
                      "%c: tile<1 x 1, f32> = tile.load %x, [%z, %four], []",
                      std::string("%d: tile<1 x 1, f32> = tile.dot_pairs %a, %b, %c") + order,
                      "tile.store %d, %y, [%z, %z], []"},
                     std::move(values)));
    return test.result(0);
  };
  CHECK(dot({1, 2, 3, 4}, 5) == 15);
  // In the order of k, 2^24 + 1 - 2^24 + 1 is 1; the even ones cancel first here.
  CHECK(dot({0x1p24, 1, -0x1p24, 1}, 0) == 2);
  // With `sequential` each pair is added to the sum itself, its odd element first: 2^24 + 1 is
  // rounded to 2^24.
  CHECK(dot({0x1p24, 1, -0x1p24, 1}, 0, " {sequential = true}") == 0);
  CHECK(dot({-0x1p24, 1, 0, 0}, 0x1p24, " {sequential = true}") == 0);
  CHECK(dot({1, -0x1p24, 0, 0}, 0x1p24, " {sequential = true}") == 1);
  CHECK(dot({0x1p-130, 0, 0, 0}, 0x1p-140, " {sequential = true}") == 0);
  CHECK(dot({0x1p-130, 0, 0, 0}, 0) == 0);
  CHECK(dot({0, 0, 0, 0}, 0x1p-140) == 0);
}

TEST_CASE("a gather gives NaN for rows outside of the table") {
  EvalTest test;
  REQUIRE(test.run(
      "%x: tensor<2 x 2, f32>, %y: tensor<3 x 2, f32>",
      {zero, "%i: tile<3, i64> = tile.iota [] {axis = 0}",
       "%g: tile<3 x 2, f32> = tile.gather %x, %i, %z, []", "tile.store %g, %y, [%z, %z], []"},
      inputs({2, 2}, {3, 2})));
  CHECK(test.result(3) == 3);
  CHECK(std::isnan(test.result(4)));
}

TEST_CASE("what a program may not do is reported with its place") {
  auto says = [](const std::vector<std::string>& body, const std::string& reason) {
    EvalTest test;
    CHECK_FALSE(test.run("%x: tensor<N, f32>, %y: tensor<N, f32>", body, inputs({5}, {5})));
    CHECK_THAT(test.said(), Catch::Contains("[tile-run]") && Catch::Contains(reason) &&
                                Catch::Contains("test.tir:"));
  };
  says({zero, "%a: tile<6, f32> = tile.load %x, [%z], []"},
       "index 5 is outside of axis 0 of extent 5");
  says({zero, "%a: tile<5, f32> = tile.load %y, [%z], []"}, "never written");
  says({zero, "%m: view<5, f32, strides = [1], offset = 0, space = scratch> = tile.alloc",
        "%a: tile<5, f32> = tile.load %m, [%z], []"},
       "never written");
  says({zero, "%v: view<5, f32, strides = [2], offset = 0, space = global> = tile.view %x",
        "%a: tile<5, f32> = tile.load %v, [%z], []"},
       "element 6 is outside of its memory");
  says({zero, "tile.for %z, %z, %z, [] do(%i: i64) {", "  tile.yield []", "}"}, "its step is 0");
}
