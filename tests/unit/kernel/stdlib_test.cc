// The kernels of the standard library, as Schedule IR.

#include <catch2/catch.hpp>

#include "unit/kernel/fixture.h"

using namespace tessera;
using namespace tessera::frontend;

TEST_CASE("a product of symbolic size has one loop and one hook") {
  KernelFixture fixture;
  fixture.request.schedule["block"] = fixture.context.dict({{"m", fixture.context.integer(64)},
                                                            {"n", fixture.context.integer(32)},
                                                            {"k", fixture.context.integer(16)}});
  fixture.ask("matmul", {"tensor<2*B x K, bf16>", "tensor<K x N, bf16>"});
  CHECK(fixture.build() == R"(module @k level(schedule) version(1) {
  sched.kernel @k(%a: tensor<M x K, bf16>, %b: tensor<K x N, bf16>, %result: tensor<M x N, bf16>) {axes = [{block = 64, extent = <M>, grid = true, name = "m"}, {block = 32, extent = <N>, grid = true, name = "n"}, {block = 16, extent = <K>, grid = false, name = "k"}], kernel = "matmul", outputs = 1, schedule = {block = {k = 16, m = 64, n = 32}}} {
    sched.tile {axes = ["m", "n"]} do(%i: i64, %j: i64) {
      %acc: tile<64 x 32, f32> = sched.full {value = 0.0}
      %acc_1: tile<64 x 32, f32> = sched.pipeline [%acc], [] {axis = "k", count = <((K + 15)//16)>} do(%k: i64, %acc_2: tile<64 x 32, f32>) {
        %0: tile<64 x 16, bf16> = sched.load %a, [%i, %k]
        %1: tile<16 x 32, bf16> = sched.load %b, [%k, %j]
        %acc_3: tile<64 x 32, f32> = sched.dot %0, %1, %acc_2
        sched.yield [%acc_3]
      }
      %2: tile<64 x 32, f32> = sched.hook %acc_1 {name = "epilogue"}
      %3: tile<64 x 32, bf16> = sched.cast %2
      sched.store %3, %result, [%i, %j]
      sched.yield []
    }
    sched.return
  }
}
)");
  CHECK(fixture.dims.at("M")->text == "2*B");
  CHECK(fixture.dims.at("N")->text == "N");
  CHECK(fixture.results.at(0)->text == "tensor<2*B x N, bf16>");
}

TEST_CASE("dimensions that are known are numbers in the kernel, and cut its tiles") {
  KernelFixture fixture;
  fixture.request.schedule["block"] = fixture.context.integers({64, 64, 64});
  fixture.ask("matmul", {"tensor<8 x 96, f32>", "tensor<96 x 96, f32>"});
  CHECK(fixture.build() == R"(module @k level(schedule) version(1) {
  sched.kernel @k(%a: tensor<8 x 96, f32>, %b: tensor<96 x 96, f32>, %result: tensor<8 x 96, f32>) {axes = [{block = 8, extent = 8, grid = true, name = "m"}, {block = 64, extent = 96, grid = true, name = "n"}, {block = 64, extent = 96, grid = false, name = "k"}], kernel = "matmul", outputs = 1, schedule = {block = {k = 64, m = 8, n = 64}}} {
    sched.tile {axes = ["m", "n"]} do(%i: i64, %j: i64) {
      %acc: tile<8 x 64, f32> = sched.full {value = 0.0}
      %acc_1: tile<8 x 64, f32> = sched.pipeline [%acc], [] {axis = "k", count = 2} do(%k: i64, %acc_2: tile<8 x 64, f32>) {
        %0: tile<8 x 64, f32> = sched.load %a, [%i, %k]
        %1: tile<64 x 64, f32> = sched.load %b, [%k, %j]
        %acc_3: tile<8 x 64, f32> = sched.dot %0, %1, %acc_2
        sched.yield [%acc_3]
      }
      %2: tile<8 x 64, f32> = sched.hook %acc_1 {name = "epilogue"}
      sched.store %2, %result, [%i, %j]
      sched.yield []
    }
    sched.return
  }
}
)");
  CHECK(fixture.dims.empty());
}

TEST_CASE("softmax takes rows whole") {
  KernelFixture fixture;
  fixture.request.machine = "cpu:x86-64-v4";
  fixture.ask("softmax", {"tensor<M x N, bf16>"});
  CHECK(fixture.build() == R"(module @k level(schedule) version(1) {
  sched.kernel @k(%x: tensor<M x N, bf16>, %result: tensor<M x N, bf16>) {axes = [{block = 4, extent = <M>, grid = true, name = "m"}, {block = <N>, extent = <N>, grid = true, name = "n"}], kernel = "softmax", outputs = 1, schedule = {block = {m = 4}}} {
    sched.tile {axes = ["m", "n"]} do(%i: i64, %j: i64) {
      %0: tile<4 x N, bf16> = sched.load %x, [%i, %j]
      %v: tile<4 x N, f32> = sched.cast %0
      %top: tile<4, f32> = sched.reduce %v {axis = 1, kind = "max"}
      %1: tile<4, f32> = sched.full {value = -inf}
      %2: tile<4, bool> = sched.eq %top, %1
      %3: tile<4, f32> = sched.full {value = 0.0}
      %4: tile<4, f32> = sched.select %2, %3, %top
      %5: tile<4 x 1, f32> = sched.reshape %4
      %6: tile<4 x N, f32> = sched.broadcast %5
      %7: tile<4 x N, f32> = sched.sub %v, %6
      %e: tile<4 x N, f32> = sched.exp %7
      %total: tile<4, f32> = sched.reduce %e {axis = 1, kind = "sum"}
      %8: tile<4, f32> = sched.full {value = 0.0}
      %9: tile<4, bool> = sched.eq %total, %8
      %10: tile<4, f32> = sched.full {value = 1.0}
      %11: tile<4, f32> = sched.select %9, %10, %total
      %12: tile<4 x 1, f32> = sched.reshape %11
      %13: tile<4 x N, f32> = sched.broadcast %12
      %14: tile<4 x N, f32> = sched.div %e, %13
      %15: tile<4 x N, f32> = sched.hook %14 {name = "epilogue"}
      %16: tile<4 x N, bf16> = sched.cast %15
      sched.store %16, %result, [%i, %j]
      sched.yield []
    }
    sched.return
  }
}
)");
}

TEST_CASE("each kernel of the standard library builds for each machine") {
  const std::vector<std::pair<std::string, std::vector<std::string>>> kernels = {
      {"matmul", {"tensor<M x K, f32>", "tensor<K x 8, f32>"}},
      {"matmul_batched", {"tensor<B x M x K, f16>", "tensor<B x K x N, f16>"}},
      {"softmax", {"tensor<M x 1000, f64>"}},
      {"rmsnorm_safe", {"tensor<M x 768, bf16>"}},
      {"rmsnorm", {"tensor<M x N, f32>", "tensor<N, bf16>"}},
      {"embedding", {"tensor<M, i32>", "tensor<1000 x D, bf16>"}},
      {"cross_entropy", {"tensor<M x V, f32>", "tensor<M, i64>"}},
  };
  for (const auto& [kernel, operands] : kernels) {
    for (const char* machine : {"cpu:x86-64-v3", "cpu:x86-64-v4"}) {
      KernelFixture fixture;
      fixture.request.machine = machine;
      std::string text = fixture.ask(kernel, operands).build();
      INFO(text);
      CHECK(count(text, "sched.hook") == 1);
      CHECK(count(text, "sched.store") == 1);
      CHECK(count(text, "sched.dot") == (kernel.starts_with("matmul") ? 1u : 0u));
    }
  }
}

TEST_CASE("a request may set the dtype of the result") {
  KernelFixture fixture;
  fixture.request.results = {DType::F32};
  std::string text = fixture.ask("matmul", {"tensor<M x K, bf16>", "tensor<K x N, bf16>"}).build();
  INFO(text);
  CHECK(count(text, "sched.cast") == 0);
  CHECK(fixture.results.at(0)->text == "tensor<M x N, f32>");
}

TEST_CASE("compile-time arguments come from the request") {
  KernelFixture fixture;
  fixture.request.arguments["eps"] = fixture.context.number(0.25);
  std::string text = fixture.ask("rmsnorm_safe", {"tensor<M x N, f32>"}).build();
  CHECK_THAT(text, Catch::Contains("value = 0.25"));
}
