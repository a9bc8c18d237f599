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
  CHECK(fixture.build() == R"()");
  CHECK(fixture.dims.at("M")->text == "2*B");
  CHECK(fixture.dims.at("N")->text == "N");
  CHECK(fixture.results.at(0)->text == "tensor<2*B x N, bf16>");
}

TEST_CASE("dimensions that are known are numbers in the kernel, and cut its tiles") {
  KernelFixture fixture;
  fixture.request.schedule["block"] = fixture.context.integers({64, 64, 64});
  fixture.ask("matmul", {"tensor<8 x 96, f32>", "tensor<96 x 96, f32>"});
  CHECK(fixture.build() == R"()");
  CHECK(fixture.dims.empty());
}

TEST_CASE("softmax takes rows whole") {
  KernelFixture fixture;
  fixture.request.machine = "cpu:x86-64-v4";
  fixture.ask("softmax", {"tensor<M x N, bf16>"});
  CHECK(fixture.build() == R"()");
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
