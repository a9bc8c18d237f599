// Products of bf16 in tile registers. Where the processor has none the instructions are emulated,
// so that what is compiled runs in every test.

#include <limits>

#include "unit/codegen/pair_product.h"

using namespace tessera;
using namespace tessera::test;

namespace {

constexpr const char* amx = "cpu:x86-64-v4-amx";

}  // namespace

TEST_CASE("products in tile registers are those of the interpreter, bit for bit, at all edges") {
  AmxEmulator emulator;
  std::vector<DimValues> edges;
  for (int64_t m : {1, 33}) {
    for (int64_t n : {1, 41}) {
      for (int64_t k : {0, 1, 31, 65}) edges.push_back(sizes(m, n, k));
    }
  }
  edges.push_back(sizes(0, 7, 5));
  edges.push_back(sizes(7, 0, 5));
  edges.push_back(sizes(129, 127, 41));
  edges.push_back(sizes(64, 96, 64));
  for (bool turned : {false, true}) {
    Product product(amx, turned);
    CHECK(product.split().count("tile.dot_pairs") == 4);
    check_compiled(product.split(), *find_machine(amx), edges);
  }
}

TEST_CASE("products in tile registers have the error of f32 sums") {
  AmxEmulator emulator;
  for (bool turned : {false, true}) {
    Product product(amx, turned);
    for (auto [m, n, k] :
         {std::array{7, 129, 127}, {41, 7, 1000}, {127, 41, 129}, {1, 1000, 7}, {129, 1, 41}}) {
      check_against_double(product, sizes(m, n, k));
    }
  }
}

TEST_CASE("tile registers are configured for each call and released, and threads change no bit") {
  AmxEmulator emulator;
  Product product(amx);
  DimValues dims = sizes(65, 100, 40);
  std::vector<TensorValue> once = product.split().make_tensors(dims);
  long before = AmxEmulator::products();
  product.run(once, dims);
  // 3 x 4 blocks of 32 x 32, two blocks of k, four products each.
  if (!AmxEmulator::is_native()) CHECK(AmxEmulator::products() - before == 3 * 4 * 2 * 4);
  for (int run = 0; run < 100; ++run) {
    std::vector<TensorValue> again = product.split().make_tensors(dims);
    product.run(again, dims, 1 + run % 3);
    REQUIRE(std::memcmp(again[3].data(), once[3].data(), size_t(once[3].count()) * 4) == 0);
  }
  CHECK(product.released());
}

TEST_CASE("NaN and infinity reach their own rows and columns, and no padding") {
  AmxEmulator emulator;
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (bool turned : {false, true}) {
    Product product(amx, turned);
    DimValues dims = sizes(35, 40, 33);
    std::vector<TensorValue> t = product.split().make_tensors(dims);
    t[0].set(34 * 33 + 32, {.f = std::nan("")});
    t[0].set(3 * 33 + 32, {.f = inf});
    for (int64_t p = 0; p < 33; ++p)
      t[1].set(turned ? 39 * 33 + p : p * 40 + 39, {.f = p == 32 ? -inf : 1.0});
    product.run(t, dims);
    for (int64_t i = 0; i < 35; ++i) {
      for (int64_t j = 0; j < 40; ++j) {
        double value = t[3].get(i * 40 + j).f;
        INFO(i << ", " << j);
        CHECK(std::isnan(value) == (i == 34));
        CHECK(std::isinf(value) == (i != 34 && (i == 3 || j == 39)));
      }
    }
  }
}

TEST_CASE("denormal products count as zeros in tile registers") {
  AmxEmulator emulator;
  Product product(amx);
  DimValues dims = sizes(1, 1, 2);
  std::vector<TensorValue> t = product.split().make_tensors(dims);
  t[0].set(0, {.f = 0x1p-100});
  t[0].set(1, {.f = 0x1p-130});
  t[1].set(0, {.f = 0x1p-30});
  t[1].set(1, {.f = 0x1p+100});
  t[2].set(0, {.f = 0});
  product.run(t, dims);
  CHECK(t[3].get(0).f == 0);
}

TEST_CASE("what is computed before a product leaves zeros in the padding") {
  AmxEmulator emulator;
  // exp(0) is 1: without the zeros the padding of k would be multiplied by what lies past the edge of b.
  Product product(amx, false, "exp %x");
  std::vector<DimValues> edges = {sizes(5, 7, 3), sizes(33, 33, 33)};
  check_compiled(product.split(), *find_machine(amx), edges, 1e-6);
}

TEST_CASE("the loop of a product in tile registers is four loads and four products") {
  Product product(amx);
  std::string assembly = product.lowered().assembly();
  size_t loops = 0;
  for (size_t at = assembly.find("tdpbf16ps"); at != std::string::npos; ++loops) {
    size_t begin = assembly.rfind(":\n", at), end = assembly.find("\tj", at);
    std::string body = assembly.substr(begin, end - begin);
    auto count = [&](const std::string& word) {
      size_t found = 0;
      for (size_t i = body.find(word); i != std::string::npos; i = body.find(word, i + 1)) ++found;
      return found;
    };
    CHECK(count("tileloadd") == 4);
    CHECK(count("tdpbf16ps") == 4);
    CHECK(count("zmm") == 0);
    CHECK(count("(%rsp)") == 0);
    at = assembly.find("tdpbf16ps", end);
  }
  CHECK(loops == 4);
}

TEST_CASE("products in pairs that tile registers cannot take are refused") {
  auto messages = [](const std::string& machine, const std::string& loop) {
    return LoweredModule(
               "module @m level(tile) version(1) {\n"
               "  tile.kernel @k.0(%a: tensor<32 x 32, bf16>, %b: tensor<16 x 64, bf16>, "
               "%y: tensor<32 x 32, f32>) {grid = [1], outputs = 1, schedule = {}, scratch = <0>} "
               "{\n"
               "    %0: i64 = tile.constant {value = 0}\n    %1: i64 = tile.constant {value = 1}\n"
               "    %p: tile<32 x 32, bf16> = tile.load %a, [%0, %0], []\n"
               "    %q: tile<16 x 64, bf16> = tile.load %b, [%0, %0], []\n"
               "    %z: tile<32 x 32, f32> = tile.full {value = 0.0}\n" +
                   loop + "    tile.store %s, %y, [%0, %0], []\n    tile.return\n  }\n}\n",
               *find_machine(machine))
        .messages();
  };
  std::string bare = "    %s: tile<32 x 32, f32> = tile.dot_pairs %p, %q, %z\n";
  std::string loop =
      "    %s: tile<32 x 32, f32> = tile.for %0, %1, %1, [%z] do(%k: i64, %c: tile<32 x 32, f32>) "
      "{\n"
      "      %d: tile<32 x 32, f32> = tile.dot_pairs %p, %q, %c\n      tile.yield [%d]\n    }\n";
  CHECK(messages(amx, loop) == "");
  CHECK(messages(amx, bare).find("carried by the loop") != std::string::npos);
  CHECK(messages("cpu:x86-64-v4", loop).find("[unsupported-operation]") != std::string::npos);
}
