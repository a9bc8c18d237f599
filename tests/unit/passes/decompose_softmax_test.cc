// A softmax along another axis than the last, as arithmetic: the same within rounding, also of rows of -inf, NaN, inf
// and without elements.

#include <limits>

#include "unit/passes/graph_pass_fixture.h"

using namespace tessera;

namespace {

void check_along_first(const std::vector<int64_t>& dims, const std::vector<std::pair<size_t, double>>& special) {
  GraphPassTest test;
  std::vector<TensorValue> arguments;
  arguments.push_back(some_tensor(DType::F32, dims));
  for (auto [place, value] : special) arguments[0].set(place, {.f = value});
  std::string body =
      "%0: tensor<B x A, f32> = gir.transpose %x {perm = [1, 0]}\n%1: tensor<B x A, f32> = gir.softmax %0\n"
      "%r: tensor<A x B, f32> = gir.transpose %1 {perm = [1, 0]}\ngir.return [%r]";
  Op* f = test.check_pipeline("decompose_softmax,canonicalize", {"%x: tensor<A x B, f32>"}, body, arguments);
  CHECK(test.count(f, "gir.softmax") == 0);
}

}  // namespace

TEST_CASE("a softmax along the first axis is computed where it lies") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  check_along_first({5, 3}, {});
  check_along_first({1, 4}, {});
  check_along_first({0, 4}, {});
  check_along_first({4, 0}, {});
  check_along_first({2, 3}, {{0, -infinity}, {3, -infinity}, {1, infinity}, {2, -infinity}});
  check_along_first({2, 2}, {{0, std::numeric_limits<double>::quiet_NaN()}});
}
