// vmap beside a loop over the examples, bit for bit: for each op that has operands, with all of its operands differing
// between examples and with each part of them.

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <set>

#include "ir/graph/op_facts.h"
#include "ir/graph/verify.h"
#include "unit/frontend/evaluate_graph.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

/// An argument of one example.
struct Input {
  std::string name;
  std::vector<int64_t> dims;
  DType dtype = DType::F32;
  double low = -2, high = 2;
};

std::string type_of(const Input& input, bool differs) {
  std::string dims = differs ? "N, " : "";
  for (int64_t dim : input.dims) dims += std::to_string(dim) + ", ";
  return fmt::format("Tensor[{}{}]", dims, to_string(input.dtype));
}

TensorValue drawn(const Input& input, bool differs, int64_t examples, std::mt19937& random) {
  std::vector<int64_t> dims = input.dims;
  if (differs) dims.insert(dims.begin(), examples);
  Numbers numbers = counting(dims, input.dtype);
  for (double& value : numbers.values) {
    value = std::uniform_real_distribution<double>(input.low, input.high)(random);
    if (!is_float(input.dtype)) value = std::floor(value);
  }
  return to_tensor(numbers);
}

std::vector<TensorValue> call(Fixture& fixture, const std::string& name, std::vector<TensorValue> arguments) {
  auto results = graph::evaluate(fixture.result.graph->find(name), std::move(arguments), {}, fixture.diagnostics);
  INFO(name << "\n" << render_all(fixture.diagnostics, {}));
  REQUIRE(results);
  return std::move(*results);
}

bool same_bits(const TensorValue& a, const TensorValue& b) {
  Numbers first = to_numbers(a), second = to_numbers(b);
  if (first.dims != second.dims || first.values.size() != second.values.size()) return false;
  size_t bytes = first.values.size() * sizeof(double);
  return bytes == 0 || std::memcmp(first.values.data(), second.values.data(), bytes) == 0;
}

/// The ops that some loop of a test ran for one example.
std::set<std::string>& tried() {
  static std::set<std::string> ops;
  return ops;
}

/// Tries `body`, the statements of a function of these, with the inputs of `differs` (bits) differing.
void check_part(const std::vector<Input>& inputs, const std::string& imports, const std::string& body,
                unsigned differs) {
  std::string names, types, axes, each, of_each;
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool here = differs >> i & 1;
    names += inputs[i].name + ", ";
    types += (i ? ", " : "") + fmt::format("{}: {}", inputs[i].name, type_of(inputs[i], here));
    axes += here ? "0, " : "None, ";
    if (here) each += inputs[i].name + ", ";
    of_each += here ? fmt::format("each[{}], ", std::popcount(differs & ((1u << i) - 1))) : inputs[i].name + ", ";
  }
  names.resize(names.size() - 2);
  std::string text = imports + "\ndef f(" + names + "):\n" + body + "\n";
  text += fmt::format("@jit\ndef at_once({}):\n    return vmap(f, in_axes=({}))({})\n", types, axes, names);
  text += fmt::format("@jit\ndef in_turn({}):\n    return map(lambda each: f({}), ({}))\n", types, of_each, each);
  Fixture fixture;
  INFO(text << fixture.compile(text));
  REQUIRE(fixture.result.graph);
  walk(fixture.result.graph->find("in_turn"), [&](Op* op) { tried().insert(std::string(op->name())); });
  for (int64_t examples : {5, 1, 0}) {
    auto arguments = [&] {
      std::mt19937 random(unsigned(examples) + differs);
      std::vector<TensorValue> all;
      for (size_t i = 0; i < inputs.size(); ++i) all.push_back(drawn(inputs[i], differs >> i & 1, examples, random));
      return all;
    };
    std::vector<TensorValue> at_once = call(fixture, "at_once", arguments());
    std::vector<TensorValue> in_turn = call(fixture, "in_turn", arguments());
    REQUIRE(at_once.size() == in_turn.size());
    for (size_t i = 0; i < at_once.size(); ++i) CHECK(same_bits(at_once[i], in_turn[i]));
  }
}

void check_body(const std::vector<Input>& inputs, const std::string& body, const std::string& imports = "") {
  for (unsigned differs = 1; differs < 1u << inputs.size(); ++differs) check_part(inputs, imports, body, differs);
}

void check(const std::vector<Input>& inputs, const std::string& expression, const std::string& imports = "") {
  check_body(inputs, "    return " + expression, imports);
}

const Input x34{"x", {3, 4}}, y34{"y", {3, 4}}, flag{"p", {3, 4}, DType::I32, 0, 2};

}  // namespace

TEST_CASE("vmap of ops on single elements") {
  for (std::string_view f : {"abs", "exp", "sin", "tanh", "erf", "floor", "gelu", "sigmoid", "rsqrt"}) {
    check({x34}, fmt::format("{}(x)", f));
  }
  for (std::string_view f : {"x + y", "x * y - x", "x / y", "maximum(x, y)", "x ** 2.0", "cast(x < y, i32)",
                             "where(x < y, x, 1.0)", "where(p > 0, x, y)"}) {
    check(f.find('p') == f.npos || f[0] == 'm' ? std::vector{x34, y34} : std::vector{x34, y34, flag}, std::string(f));
  }
  check({{"x", {3}, DType::BF16}, {"y", {3}, DType::BF16}}, "x * y + x");
  check({{"x", {}}, {"y", {4}}}, "x * y");
  check({{"x", {3}, DType::I64, -9, 9}}, "(x // 2, x % 3, x & 5, cast(x, f32))");
}

TEST_CASE("vmap of what moves elements") {
  check({x34}, "(x.T, reshape(x, (2, 6)), x[1:, ::2], x[2], flip(x, axis=1))", "from tessera.nn import flip");
  check({{"x", {4}}}, "broadcast_to(x, (2, 3, 4))");
  check({{"x", {3, 1}}}, "broadcast_to(x, (2, 3, 4))");
  check({x34, {"y", {2, 4}}}, "concat((x, y), axis=0)");
  check({{"x", {2, 7}}}, "windows(x, 3, axis=1, step=2)");
  check({{"x", {2, 5, 5, 3}}, {"w", {3, 3, 3, 4}}}, "conv2d(x, w)", "from tessera.nn import conv2d");
}

TEST_CASE("vmap of reductions and matmuls") {
  check({x34}, "(sum(x), sum(x, axis=0), max(x, axis=1, keepdims=True), min(x), mean(x, axis=1))");
  check({x34, {"y", {4, 5}}}, "x @ y");
  check({{"x", {2, 3, 4}}, {"y", {4, 5}}}, "x @ y");
  check({{"x", {2, 3, 4}}, {"y", {2, 4, 5}}}, "x @ y");
  check({{"x", {4}}, {"y", {4, 5}}}, "x @ y");
  check({x34, {"y", {5, 4}}}, "x @ y.T");
  check({{"x", {3, 4}, DType::BF16}, {"y", {4, 5}, DType::BF16}}, "x @ y");
}

TEST_CASE("vmap of what neural networks are made of") {
  check({x34}, "(softmax(x), rmsnorm(x))");
  check({x34, {"g", {4}}}, "rmsnorm(x, g)");
  check({x34, {"t", {3}, DType::I32, -1, 5}}, "cross_entropy(x, t)");
  check({{"i", {2, 3}, DType::I32, -2, 7}, {"t", {5, 4}}}, "embedding(i, t)");
  check({{"i", {2}, DType::U8, 0, 7}, {"t", {5, 4}}}, "embedding(i, t)");
  const Input q{"q", {2, 2, 3, 16}}, k{"k", {2, 1, 4, 16}}, v{"v", {2, 1, 4, 16}};
  check({q, k, v}, "flash_attention(q, k, v, causal=True)");
  check({q, k, {"b", {2, 2, 3, 4}}}, "flash_attention(q, k, k, bias=b)");
}

TEST_CASE("vmap of loops and branches") {
  const Input h{"h", {3}}, x{"x", {4, 3}};
  check_body({h, x}, "    for i in range(x.shape[0]):\n        h = tanh(h + x[i])\n    return h");
  check_body({h, x},
             "    a = zeros((3,), f32)\n    for i in range(x.shape[0]):\n        for k in range(x.shape[1]):\n"
             "            a = a + h * x[i, k]\n        h = h + 1.0\n    return a, h");
  check_body({{"n", {}, DType::I64, 0, 6}, h}, "    for i in range(n):\n        h = h * 0.5 + 1.0\n    return h");
  check_body({{"v", {}}, {"w", {}}}, "    while v < 9.0:\n        v = v + abs(w) + 1.0\n    return v");
  check_body({{"n", {}, DType::I64, 0, 6}, h},
             "    i = n\n    while i > 0:\n        i = i - 1\n        h = h + 1.0\n    return h, i");
  check_body({{"v", {}}, h}, "    if v > 0.0:\n        h = h * v\n    else:\n        h = h - 1.0\n    return h");
  check_body({h, x}, "    return scan(lambda h, row: (tanh(h + row), h * 2.0), h, x)");
}

TEST_CASE("vmap runs a kernel for one example after the other") {
  std::string graph = compile(R"(
from tessera.nn import cumsum
@jit
def entry(x: Tensor[N, 9, f32]):
    return vmap(lambda row: cumsum(row))(x)
)");
  INFO(graph);
  CHECK(count(graph, "gir.for") == 1);
  CHECK(count(graph, "gir.kernel_call") == 1);
}

TEST_CASE("random numbers are the same for each example") {
  std::string graph = compile("@jit\ndef entry(x: Tensor[N, 9, f32]) -> !{rng}:\n"
                              "    return vmap(lambda row: row + uniform(shape=(9,), dtype=f32))(x)\n");
  INFO(graph);
  CHECK(count(graph, "gir.for") == 0);
  CHECK(graph.find("tensor<9, f32> = gir.philox_uniform") != graph.npos);
}

TEST_CASE("vmap and derivatives of each other") {
  check({x34, y34}, "grad(lambda x: sum(tanh(x * y) @ y.T))(x)");
  check({x34, y34}, "jvp(lambda x: x * x, (x,), (y,))");
  Fixture fixture;
  INFO(fixture.compile(R"(
from tessera.nn import stop_gradient
def f(w, x):
    return sum(tanh(w * x) * stop_gradient(w))
@jit
def at_once(w: Tensor[3, f32], x: Tensor[N, 3, f32]):
    return grad(lambda w: sum(vmap(f, in_axes=(None, 0))(w, x)))(w)
@jit
def in_turn(w: Tensor[3, f32], x: Tensor[N, 3, f32]):
    return grad(lambda w: sum(map(lambda x: f(w, x), x)))(w)
)"));
  REQUIRE(fixture.result.graph);
  auto arguments = [] {
    std::mt19937 random(3);
    std::vector<TensorValue> all;
    all.push_back(drawn({"w", {3}}, false, 0, random));
    all.push_back(drawn({"x", {3}}, true, 4, random));
    return all;
  };
  Numbers at_once = to_numbers(call(fixture, "at_once", arguments()).at(0));
  Numbers in_turn = to_numbers(call(fixture, "in_turn", arguments()).at(0));
  for (size_t i = 0; i < 3; ++i) CHECK(at_once.values[i] == Approx(in_turn.values[i]).epsilon(1e-6));
}

TEST_CASE("vmap of what is computed again") {
  const std::string functions =
      "def inner(x, y):\n    z = checkpoint_name(x @ y.T, \"z\")\n    return tanh(z) * sin(z), 3, sum(x)\n"
      "def outer(x, y, policy):\n    a, b, c = checkpoint(inner, policy=policy)(x, y)\n"
      "    return sum(a) * float(b) + c\n";
  for (const char* policy : {"\"nothing\"", "\"matmuls\"", "(\"z\",)"}) {
    check({x34, y34}, fmt::format("grad(outer, argnums=(0, 1))(x, y, {})", policy), functions);
  }
}

TEST_CASE("vmap checks what each example checks") {
  Fixture fixture;
  fixture.options.check_promises = true;
  INFO(fixture.compile(R"(
@verify.numerics(bounded=[0, 1])
def f(x):
    return x * 0.5
@jit
def entry(x: Tensor[N, f32]):
    return vmap(f)(x)
)"));
  REQUIRE(fixture.result.graph);
  Op* entry = fixture.result.graph->find("entry");
  walk(entry, [&](Op* op) { tried().insert(std::string(op->name())); });
  for (bool holds : {true, false}) {
    std::vector<TensorValue> arguments;
    arguments.push_back(to_tensor({{3}, {0, 1, holds ? 2.0 : 3.0}}));
    CHECK(bool(graph::evaluate(entry, std::move(arguments), {}, fixture.diagnostics)) == holds);
  }
}

TEST_CASE("each op of a graph with a rule of its own is tried in vmap") {
#define OP(Name, ...) graph::OpKind::Name,
  const graph::OpKind kinds[] = {
#include "ir/graph/ops.def"
  };
#undef OP
  for (graph::OpKind kind : kinds) {
    const OpInfo& row = *graph::info(kind);
    auto rule = graph::facts(row).vmap;
    bool is_while_built = graph::facts(row).verify == graph::verify_while_built;
    if (!rule || rule == graph::vmap_loop || row.elementwise != ElementwiseKind::None || is_while_built) continue;
    INFO(row.name);
    CHECK(tried().count(std::string(row.name)));
  }
}
