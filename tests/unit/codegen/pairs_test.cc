// Products of pairs of bf16 in vector registers. What is compiled is looked at everywhere, and run
// where the processor has the instruction.

#include <limits>

#include "unit/codegen/pair_product.h"

using namespace tessera;
using namespace tessera::test;

namespace {

constexpr const char* vectors = "cpu:x86-64-v4-bf16";

bool can_run() {
  bool has = __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("x86-64-v4");
  if (!has) WARN("not run: this processor has no AVX512_BF16");
  return has;
}

}  // namespace

TEST_CASE("products of pairs in vectors are those of the interpreter, bit for bit, at all edges") {
  if (!can_run()) return;
  std::vector<DimValues> edges = {sizes(0, 7, 5), sizes(7, 0, 5), sizes(129, 127, 41),
                                  sizes(64, 96, 64)};
  for (int64_t m : {1, 9}) {
    for (int64_t n : {1, 49}) {
      for (int64_t k : {0, 1, 31, 65}) edges.push_back(sizes(m, n, k));
    }
  }
  for (bool turned : {false, true}) {
    Product product(vectors, turned);
    CHECK(product.split().count("tile.dot_pairs") == 4);
    check_compiled(product.split(), *find_machine(vectors), edges);
  }
}

TEST_CASE("products of pairs in vectors have the error of f32 sums") {
  if (!can_run()) return;
  for (bool turned : {false, true}) {
    Product product(vectors, turned);
    for (auto [m, n, k] :
         {std::array{7, 129, 127}, {41, 7, 1000}, {127, 41, 129}, {1, 1000, 7}, {129, 1, 41}})
      check_against_double(product, sizes(m, n, k));
  }
}

TEST_CASE("denormals count as zeros in pairs, and NaN and infinity reach their own elements") {
  if (!can_run()) return;
  constexpr double inf = std::numeric_limits<double>::infinity();
  Product product(vectors);
  std::vector<TensorValue> t = product.split().make_tensors(sizes(3, 2, 3));
  for (int64_t i = 0; i < 9; ++i)
    t[0].set(i, {.f = std::array{0x1p-100, 0x1p-130, 0.0, inf, 1.0, 1.0, std::nan(""), 1.0,
                                 1.0}[size_t(i)]});
  for (int64_t i = 0; i < 6; ++i)
    t[1].set(i, {.f = std::array{0x1p-30, 1.0, 0x1p+100, 1.0, 1.0, 1.0}[size_t(i)]});
  for (int64_t i = 0; i < 2; ++i) t[2].set(i, {.f = 0});
  product.run(t, sizes(3, 2, 3));
  CHECK(t[3].get(0).f == 0);
  CHECK(t[3].get(1).f == 0x1p-100);
  CHECK(t[3].get(2).f == inf);
  CHECK(t[3].get(3).f == inf);
  CHECK(std::isnan(t[3].get(4).f));
}

TEST_CASE(
    "the innermost loop of pairs is one product for each register of sums, and nothing spills") {
  Product product(vectors);
  std::string assembly = product.lowered().assembly();
  size_t loops = 0;
  for (size_t at = assembly.find("vdpbf16ps"); at != std::string::npos; ++loops) {
    size_t begin = assembly.rfind(":\n", at), end = assembly.find("\tj", at);
    std::string body = assembly.substr(begin, end - begin);
    size_t products = 0;
    for (size_t i = body.find("vdpbf16ps"); i != std::string::npos;
         i = body.find("vdpbf16ps", i + 1))
      ++products;
    CHECK(products == 24);
    CHECK(body.find("(%rsp)") == std::string::npos);
    at = assembly.find("vdpbf16ps", end);
  }
  CHECK(loops == 4);
}

TEST_CASE("products of pairs that vector registers cannot take are refused") {
  auto messages = [](const char* machine, int64_t columns) {
    std::string n = std::to_string(columns), twice = std::to_string(2 * columns);
    return LoweredModule(
               "module @m level(tile) version(1) {\n  tile.kernel @k.0(%a: tensor<4 x 2, bf16>, "
               "%b: tensor<1 x " +
                   twice + ", bf16>, %y: tensor<4 x " + n +
                   ", f32>) {grid = [1], outputs = 1, schedule = {}, scratch = <0>} {\n"
                   "    %0: i64 = tile.constant {value = 0}\n"
                   "    %p: tile<4 x 2, bf16> = tile.load %a, [%0, %0], []\n    %q: tile<1 x " +
                   twice + ", bf16> = tile.load %b, [%0, %0], []\n    %z: tile<4 x " + n +
                   ", f32> = tile.full {value = 0.0}\n    %s: tile<4 x " + n +
                   ", f32> = tile.dot_pairs %p, %q, %z {sequential = true}\n"
                   "    tile.store %s, %y, [%0, %0], []\n    tile.return\n  }\n}\n",
               *find_machine(machine))
        .messages();
  };
  CHECK(messages(vectors, 32) == "");
  CHECK(messages(vectors, 24).find("dots of 16 columns") != std::string::npos);
  CHECK(messages("cpu:x86-64-v4", 32).find("[unsupported-operation]") != std::string::npos);
}
