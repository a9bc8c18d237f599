// The ops that single expressions are lowered to.

#include <catch2/catch.hpp>

#include "unit/frontend/fixture.h"
#include "unit/frontend/places.h"

using namespace tessera::frontend;

namespace {

/// The ops of an entry with that result, without the module around them.
std::string body(const std::string& parameters, const std::string& result) {
  std::string text = compile("@jit\ndef f(" + parameters + "):\n    return " + result + "\n");
  size_t open = text.find("role = \"entry\"} {\n"), close = text.find("  }\n}\n");
  if (open == std::string::npos || close == std::string::npos) return text;
  open += std::string_view("role = \"entry\"} {\n").size();
  return text.substr(open, close - open);
}

}  // namespace

TEST_CASE("Sizes are numbers where a computation needs them") {
  CHECK(body("x: Tensor[B, D, f32]", "x / sqrt(float(D))") ==
        R"(    %0: tensor<i64> = gir.dim {value = <D>}
    %1: tensor<f32> = gir.cast %0
    %2: tensor<f32> = gir.full {value = 1.0}
    %3: tensor<f32> = gir.mul %1, %2
    %4: tensor<f32> = gir.sqrt %3
    %5: tensor<B x D, f32> = gir.broadcast %4
    %6: tensor<B x D, f32> = gir.div %x, %5
    gir.return [%6]
)");
  CHECK(body("x: Tensor[B, 64, f32]", "x / sqrt(x.shape[1])") ==
        R"(    %0: tensor<B x 64, f32> = gir.full {value = 8.0}
    %1: tensor<B x 64, f32> = gir.div %x, %0
    gir.return [%1]
)");
}

TEST_CASE("What is no element is refused where an op on elements gets it") {
  CHECK(body("x: Tensor[B, f32]", "exp(f32) + x").find("[wrong-operands]") != std::string::npos);
  CHECK(body("x: Tensor[B, f32]", "x + None").find("[wrong-operands]") != std::string::npos);
  CHECK(body("x: Tensor[B, f32]", "x * (1, 2)").find("[wrong-operands]") != std::string::npos);
}

TEST_CASE("An int that is not a size of the signature is an input") {
  CHECK(body("x: Tensor[B, i64], n: int", "x * n") == R"(    %0: tensor<B, i64> = gir.broadcast %n
    %1: tensor<B, i64> = gir.mul %x, %0
    gir.return [%1]
)");
  CHECK(count(body("x: Tensor[2*n, f32], n: int", "x * n"), "gir.dim") == 1);
}

TEST_CASE("Small powers are multiplications") {
  CHECK(body("x: Tensor[B, f32]", "x ** 3") == R"(    %0: tensor<B, f32> = gir.mul %x, %x
    %1: tensor<B, f32> = gir.mul %0, %x
    gir.return [%1]
)");
  CHECK(count(body("x: Tensor[B, i32]", "x ** 4"), "gir.mul") == 2);
  CHECK(count(body("x: Tensor[B, f32]", "x ** 0.5"), "gir.pow") == 1);
}

TEST_CASE("Params of an imported file are named after it") {
  Fixture fixture;
  fixture.options.read = [](const std::string& path, std::string& text, std::string&) {
    text = "param w: Param[3, f32] = ones()\ndef scaled(x):\n    return x * w\n";
    return path == "layers.tsr";
  };
  std::string text = fixture.compile(
      "from layers import scaled\nparam w: Param[3, f32] = zeros()\n@jit\n"
      "def f(x: Tensor[B, 3, f32]):\n    return scaled(x) + w\n");
  INFO(text);
  CHECK(without_places(text).find("{kind = \"param\", name = \"layers.w\"}, {kind = \"param\", name = \"w\"}") !=
        std::string::npos);
  CHECK(count(text, "gir.func @init.layers.w(%seed: tensor<u64>)") == 1);
  CHECK(text.find("params = [\"layers.w\"]") != std::string::npos);
}
