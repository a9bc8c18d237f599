// The examples' graphs.

#include <catch2/catch.hpp>

#include "unit/frontend/fixture.h"

using namespace tessera;
using namespace tessera::frontend;

TEST_CASE("examples/mlp: bf16 is computed in f32 and rounded before matmuls and at the end") {
  CHECK(Fixture().compile_file("examples/mlp/mlp.tsr") == R"(module @mlp level(graph) version(1) {
  gir.func @mlp(%x: tensor<B x D, bf16 accum(f32)>, %w_in: tensor<D x 3072, bf16>, %w_out: tensor<3072 x D, bf16>) {args = [{kind = "input", name = "x", places = ["examples/mlp/mlp.tsr:6:19", "examples/mlp/mlp.tsr:6:22"]}, {kind = "input", name = "w_in", places = ["examples/mlp/mlp.tsr:6:57", "examples/mlp/mlp.tsr:6:60"]}, {kind = "input", name = "w_out", places = ["examples/mlp/mlp.tsr:7:23", "examples/mlp/mlp.tsr:7:26"]}], results = [{name = "mlp"}], role = "entry"} {
    %0: tensor<B x D, f32> = gir.cast %x
    %1: tensor<B x D, f32> = gir.rmsnorm %0, [] {eps = 1e-06}
    %2: tensor<B x D, bf16> = gir.cast %1
    %3: tensor<B x 3072, f32> = gir.gemm %2, %w_in {accum = f32}
    %h: tensor<B x 3072, f32> = gir.gelu %3
    %4: tensor<B x 3072, bf16> = gir.cast %h
    %5: tensor<B x D, f32> = gir.gemm %4, %w_out {accum = f32}
    %6: tensor<B x D, f32> = gir.cast %x
    %7: tensor<B x D, f32> = gir.add %6, %5
    %8: tensor<B x D, bf16> = gir.cast %7
    gir.return [%8]
  }
}
)");
}

TEST_CASE("examples/bytelm: two entries with the params they use, seven initialisers") {
  Fixture fixture;
  std::string text = fixture.compile_file("examples/bytelm/bytelm.tsr");
  INFO(text);
  CHECK(count(text, "gir.func @logits(%context: tensor<B x 16, u8>,") == 1);
  CHECK(text.find("results = [{name = \"logits\"}]") != std::string::npos);
  CHECK(text.find("results = [{name = \"loss\"}]") != std::string::npos);
  CHECK(count(text, "role = \"init\"}") == 7);
  CHECK(count(text, "{kind = \"param\", name = \"b3\", places = [\"examples/bytelm/bytelm.tsr:18:17\"]}],") == 2);
  CHECK(count(text, "gir.gemm") == 6);
  CHECK(count(text, "gir.rmsnorm") == 4);
  CHECK(count(text, "gir.philox_normal") == 4);
  CHECK(count(text, "gir.embedding") == 2);
  // The mean divides by the size, which is known when the entry is called.
  CHECK(count(text, "gir.dim {value = <B>}") == 1);
  CHECK(count(text, "gir.cast") == 1);
  CHECK(fixture.result.exported_kernels.empty());
}
