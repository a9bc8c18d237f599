// Products of bf16 in tile registers. Where the processor has none the instructions are emulated,
// so that what is compiled runs in every test.

#include <fmt/format.h>

#include <limits>
#include <thread>

#include "unit/codegen/amx_emulator.h"
#include "unit/codegen/compiled_kernel.h"

using namespace tessera;
using namespace tessera::test;

namespace {

constexpr const char* amx = "cpu:x86-64-v4-amx";

/// y = a x b + bias with blocks of 64 x 96; b is stored as [N, K] where `turned`.
std::string gemm(bool turned, const std::string& factor = "%x") {
  return fmt::format(
      R"(  sched.kernel @mm.0(%a: tensor<M x K, bf16>, %b: tensor<{0}, bf16>, %bias: tensor<N, f32>, %y: tensor<M x N, f32>) {{axes = [{{block = 64, extent = <M>, grid = true, name = "m"}}, {{block = 96, extent = <N>, grid = true, name = "n"}}, {{block = 32, extent = <K>, grid = false, name = "k"}}], outputs = 1, schedule = {{}}}} {{
    %w: view<K x N, bf16, strides = [{1}], offset = 0, space = global> = sched.view %b
    sched.tile {{axes = ["m", "n"]}} do(%i: i64, %j: i64) {{
      %z: tile<64 x 96, f32> = sched.full {{value = 0.0}}
      %acc: tile<64 x 96, f32> = sched.pipeline [%z] {{axis = "k", count = <ceildiv(K, 32)>}} do(%k: i64, %c: tile<64 x 96, f32>) {{
        %x: tile<64 x 32, bf16> = sched.load %a, [%i, %k]
        %e: tile<64 x 32, bf16> = sched.{2}
        %v: tile<32 x 96, bf16> = sched.load %w, [%k, %j]
        %d: tile<64 x 96, f32> = sched.dot %e, %v, %c
        sched.yield [%d]
      }}
      %b1: tile<96, f32> = sched.load %bias, [%j]
      %b2: tile<1 x 96, f32> = sched.reshape %b1
      %b3: tile<64 x 96, f32> = sched.broadcast %b2
      %s: tile<64 x 96, f32> = sched.add %acc, %b3
      sched.store %s, %y, [%i, %j]
      sched.yield []
    }}
    sched.return
  }}
)",
      turned ? "N x K" : "K x N", turned ? "1, K" : "N, 1", factor == "%x" ? "reshape %x" : factor);
}

DimValues sizes(int64_t m, int64_t n, int64_t k) {
  return {{"K", k}, {"M", m}, {"N", n}};
}

/// A product split into fragments and compiled for AMX.
class Product {
 public:
  explicit Product(bool turned = false, const std::string& factor = "%x")
      : split_(schedule_module(gemm(turned, factor)), amx), turned_(turned) {
    split_.to_tiles();
    bool fine = split_.to_fragments();
    INFO(split_.messages());
    REQUIRE(fine);
    lowered_ = std::make_unique<LoweredModule>(split_.text(), *find_machine(amx));
    INFO(lowered_->messages());
    REQUIRE(lowered_->messages().empty());
  }

  TileTest& split() { return split_; }
  LoweredModule& lowered() { return *lowered_; }
  bool turned() const { return turned_; }

  /// Runs all programs on `threads` threads.
  void run(std::vector<TensorValue>& tensors, const DimValues& dims, int threads = 1) {
    auto value_of = [&](Dim dim) {
      return *evaluate(
          dim, [&](std::string_view name) { return std::optional(dims.find(name)->second); });
    };
    Op* target = lowered_->module().body()->front();
    std::vector<int64_t> values;
    for (Attr name : target->attr("dims")->elements)
      values.push_back(dims.find(name->string)->second);
    std::vector<void*> buffers;
    for (TensorValue& tensor : tensors) buffers.push_back(tensor.data());
    int64_t programs = 1;
    for (Attr extent : target->attr("grid")->elements) programs *= value_of(extent->dim);
    size_t bytes = size_t(value_of(target->attr("scratch")->dim)) / 64 * 64 + 64;
    KernelFunction function = lowered_->kernel("mm.0");
    std::vector<std::thread> workers;
    for (int64_t worker = 0; worker < threads; ++worker) {
      workers.emplace_back([&, worker] {
        void* scratch = std::aligned_alloc(64, bytes);
        std::memset(scratch, 0x7f, bytes);
        function(buffers.data(), values.data(), programs * worker / threads,
                 programs * (worker + 1) / threads, scratch);
        std::free(scratch);
        released_ = released_ && !AmxEmulator::is_configured();
      });
    }
    for (std::thread& worker : workers) worker.join();
  }
  bool released() const { return released_; }

 private:
  TileTest split_;
  bool turned_;
  std::unique_ptr<LoweredModule> lowered_;
  bool released_ = true;
};

/// Every element against a sum in double; K roundings of f32 are allowed for.
void check_against_double(Product& product, const DimValues& dims) {
  std::vector<TensorValue> t = product.split().make_tensors(dims);
  product.run(t, dims);
  int64_t m = dims.at("M"), n = dims.at("N"), k = dims.at("K");
  double worst = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double exact = t[2].get(j).f, size = std::fabs(exact);
      for (int64_t p = 0; p < k; ++p) {
        double term = t[0].get(i * k + p).f * t[1].get(product.turned() ? j * k + p : p * n + j).f;
        exact += term;
        size += std::fabs(term);
      }
      double error = std::fabs(t[3].get(i * n + j).f - exact);
      worst = std::max(worst, error / (double(k + 2) * 0x1p-24 * size + 1e-30));
    }
  }
  INFO("M=" << m << " N=" << n << " K=" << k);
  CHECK(worst <= 1);
}

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
    Product product(turned);
    CHECK(product.split().count("tile.dot_pairs") == 4);
    check_compiled(product.split(), *find_machine(amx), edges);
  }
}

TEST_CASE("products in tile registers have the error of f32 sums") {
  AmxEmulator emulator;
  for (bool turned : {false, true}) {
    Product product(turned);
    for (auto [m, n, k] :
         {std::array{7, 129, 127}, {41, 7, 1000}, {127, 41, 129}, {1, 1000, 7}, {129, 1, 41}}) {
      check_against_double(product, sizes(m, n, k));
    }
  }
}

TEST_CASE("tile registers are configured for each call and released, and threads change no bit") {
  AmxEmulator emulator;
  Product product;
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
    Product product(turned);
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
  Product product;
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
  // exp(0) is 1: without the zeros the padding of k would meet what lies past the edge of b.
  Product product(false, "exp %x");
  std::vector<DimValues> edges = {sizes(5, 7, 3), sizes(33, 33, 33)};
  check_compiled(product.split(), *find_machine(amx), edges, 1e-6);
}

TEST_CASE("the loop of a product in tile registers is four loads and four products") {
  Product product;
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
