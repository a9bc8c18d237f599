// Modules of parameters: instances, the keys of their params, methods, entries.

#include <algorithm>

#include "unit/frontend/evaluate_graph.h"
#include "unit/frontend/program.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

/// The keys of the params of a program, with "!" before them when there are messages.
std::string keys(const std::string& text, test::Files files = {}) {
  test::Program program(text, std::move(files));
  std::vector<std::string> names;
  for (const auto& [name, binding] : program.scope().names_here()) names.push_back(name);
  for (const std::string& name : names) program.value(name);
  std::string all = program.tags().empty() ? "" : "!" + program.messages();
  for (const ParamDeclaration& param : program.session().params()) {
    all += (all.empty() ? "" : " ") + param.key;
  }
  return all;
}

const std::string linear = R"(
module Linear(I: dim, O: dim, T: dtype = f32):
    w: Param[I, O, T] = normal(0.02)
    b: Param[O, T] = zeros()

    def __call__(self, x: Tensor[B, I, T]) -> Tensor[B, O, T]:
        return x @ self.w + self.b
)";

}  // namespace

TEST_CASE("params of an instance have the path of their field as key") {
  CHECK(keys(linear + "a = Linear(2, 3)\n") == "w b");
  CHECK(keys(linear + R"(
module Net(D: dim, L: int):
    first: Linear(D, 2*D)
    rest: [Linear(2*D, 2*D)] * L
    last: Param[D, f32]
net = Net(4, 2)
)") == "first.w first.b rest.0.w rest.0.b rest.1.w rest.1.b last");
}

TEST_CASE("name= stands for the name of a field, and before the keys of an instance of a file") {
  CHECK(keys(linear + "a = Linear(2, 3, name=\"enc\")\nb = Linear(2, 3, name=\"dec.0\")\n") ==
        "enc.w enc.b dec.0.w dec.0.b");
  CHECK(keys(linear + R"(
module Pair:
    a: Linear(2, 2, name="left")
    b: [Linear(2, 2, name="right"), Linear(2, 2)]
pair = Pair(name="pair")
)") == "pair.left.w pair.left.b pair.right.w pair.right.b pair.b.1.w pair.b.1.b");
}

TEST_CASE("instances in lists of a file and in imported files are named after what holds them") {
  CHECK(keys(linear + "layers = [Linear(2, 2)] * 2\n") ==
        "layers.0.w layers.0.b layers.1.w layers.1.b");
  CHECK(keys("from net import model\nimport net\n" + linear + "own = Linear(1, 1)\n",
             {{"net.tsr", linear + "model = Linear(2, 2)\n"}}) == "net.w net.b w b");
}

TEST_CASE("members of instances are parameters, constants and fields") {
  test::Program program(linear + R"(
module Net(D: dim, L: int = 2) where D % 2 == 0:
    const H = D // 2
    layers: [Linear(D, D)] * L
    none: Linear(1, 1) if L > 5 else None
net = Net(8)
const D = net.D
const H = net.H
const L = len(net.layers)
const O = [layer.O for layer in net.layers[1:]]
const N = [i for i, layer in enumerate(net.layers, 5)]
const Z = [a.I + b for a, b in zip(net.layers, (1, 2))]
const NONE = net.none is None
)");
  CHECK(program.value("D") == "8");
  CHECK(program.value("H") == "4");
  CHECK(program.value("L") == "2");
  CHECK(program.value("O") == "[8]");
  CHECK(program.value("N") == "[5, 6]");
  CHECK(program.value("Z") == "[9, 10]");
  CHECK(program.value("NONE") == "True");
  CHECK(program.tags().empty());
}

TEST_CASE("an optional module is an empty list or one") {
  CHECK(keys(linear + R"(
module Net(bias: bool):
    more: [Linear(1, 1)] if bias else []
a = Net(True, name="a")
b = Net(False, name="b")
)") == "a.more.0.w a.more.0.b");
}

TEST_CASE("methods see the parameters of their module and are called with their instance") {
  std::string text = compile(linear + R"(
module Net(D: dim, L: int):
    layers: [Linear(D, D)] * L
    scale: Param[D, f32] = ones()

    def scaled(self, x: Tensor[B, D, f32], by: float = 1.0):
        return x * self.scale * by

    def __call__(self, x: Tensor[B, D, f32]) -> Tensor[B, D, f32]:
        for layer in self.layers:
            x = self.scaled(layer(x), by=0.5)
        return x

net = Net(4, 2)

@jit
def f(x: Tensor[B, 4, f32]):
    return net(x)
)");
  INFO(text);
  CHECK(count(text, "gir.gemm") == 2);
  CHECK(text.find("gir.func @f(%x: tensor<B x 4, f32>, %layers.0.w: tensor<4 x 4, f32>, "
                  "%layers.0.b: tensor<4, f32>, %layers.1.w: tensor<4 x 4, f32>, "
                  "%layers.1.b: tensor<4, f32>, %scale: tensor<4, f32>)") != std::string::npos);
}

TEST_CASE("an instance computes with its own params") {
  std::string text = linear + R"(
module Two:
    a: Linear(2, 2)
    b: Linear(2, 2)

    @jit
    def difference(self, x: Tensor[B, 2, f32]):
        return self.a(x) - self.b(x)
two = Two()
)";
  Numbers x{{1, 2}, {1, 2}};
  Numbers w{{2, 2}, {1, 2, 3, 4}}, b{{2}, {5, 6}}, v{{2, 2}, {1, 1, 1, 1}}, c{{2}, {0, 1}};
  CHECK(run(text, "difference", {x, w, b, v, c}).at(0) == Numbers{{1, 2}, {9, 12}});
}

TEST_CASE("methods with @jit are entries of each instance of the file") {
  std::string text = compile(linear + R"(
module Net(D: dim):
    layer: Linear(D, D)

    @jit
    def apply(self, x: Tensor[B, D, f32]) -> Tensor[B, D, f32]:
        return self.layer(x)

net = Net(4)
wide = Net(8, name="wide")
same = wide
)");
  INFO(text);
  CHECK(text.find("gir.func @apply(%x: tensor<B x 4, f32>, %layer.w") != std::string::npos);
  CHECK(text.find("gir.func @wide.apply(%x: tensor<B x 8, f32>, %wide.layer.w") !=
        std::string::npos);
  CHECK(text.find("results = [{name = \"wide.apply\"}]") != std::string::npos);
  CHECK(count(text, "role = \"entry\"}") == 2);
}

TEST_CASE("a dtype parameter is the dtype of params and arguments, with its policies") {
  std::string text = compile(linear + R"(
half = Linear(4, 8, bf16)

@jit
def f(x: Tensor[B, 4, bf16]) -> Tensor[B, 8, bf16]:
    return half(x)
)");
  INFO(text);
  CHECK(text.find("%w: tensor<4 x 8, bf16>") != std::string::npos);
}

TEST_CASE("params that an entry does not use are none of its arguments, whatever their size") {
  std::string text = compile(R"(
dim N
param a: Param[N, f32]
param b: Param[4, f32] = ones()

@jit
def f(x: Tensor[B, 4, f32], seed: u64):
    return x * b
)");
  INFO(text);
  CHECK(text.find("gir.func @f(%x: tensor<B x 4, f32>, %seed: tensor<u64>, %b: tensor<4, f32>)") !=
        std::string::npos);
}
