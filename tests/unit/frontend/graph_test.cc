// What single expressions become.

#include <catch2/catch.hpp>

#include "unit/frontend/fixture.h"

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
  CHECK(body("x: Tensor[B, D, f32]", "x / sqrt(float(D))") == R"(    %0: tensor<i64> = gir.dim {value = <D>}
    %1: tensor<f32> = gir.cast %0
    %2: tensor<f32> = gir.full {value = 1.0}
    %3: tensor<f32> = gir.mul %1, %2
    %4: tensor<f32> = gir.sqrt %3
    %5: tensor<B x D, f32> = gir.broadcast %4
    %6: tensor<B x D, f32> = gir.div %x, %5
    gir.return [%6]
)");
  CHECK(body("x: Tensor[B, 64, f32]", "x / sqrt(x.shape[1])") == R"(    %0: tensor<B x 64, f32> = gir.full {value = 8.0}
    %1: tensor<B x 64, f32> = gir.div %x, %0
    gir.return [%1]
)");
}

TEST_CASE("What is no element is refused where an op on elements gets it") {
  CHECK(body("x: Tensor[B, f32]", "exp(f32) + x").find("[wrong-operands]") != std::string::npos);
  CHECK(body("x: Tensor[B, f32]", "x + None").find("[wrong-operands]") != std::string::npos);
  CHECK(body("x: Tensor[B, f32]", "x * (1, 2)").find("[wrong-operands]") != std::string::npos);
}
