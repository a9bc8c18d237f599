// Derivatives of functions beside differences of their values, where every float is a double: <gradient, d> and the
// derivative along d are (f(x + h d) - f(x - h d)) / 2h.

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "unit/frontend/evaluate_graph.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

/// An argument: its name, its dims, and the range that its elements are drawn from.
struct Input {
  std::string name;
  std::vector<int64_t> dims;
  double low = -1.5, high = 1.5;
  DType dtype = DType::F64;
  std::string written{};  ///< its dims in the program, with symbols; the numbers if it is empty
};

/// A program with a function f of these arguments, and what is asked of it.
class Derived {
 public:
  /// `body` gives floats of any shape.
  Derived(const std::vector<Input>& inputs, const std::string& imports, const std::string& body) : inputs_(inputs) {
    std::string names, types, directions, tangents, by;
    for (const Input& input : inputs) {
      std::string type = "Tensor[";
      for (int64_t dim : input.dims) type += input.written.empty() ? std::to_string(dim) + ", " : "";
      if (!input.written.empty()) type += input.written + ", ";
      bool is_by = is_float(input.dtype);
      add(names, input.name);
      add(types, fmt::format("{}: {}{}]", input.name, type, is_by ? "f32" : to_string(input.dtype)));
      if (is_by) add(directions, fmt::format("d_{}: {}f32]", input.name, type));
      add(tangents, is_by ? "d_" + input.name : "None");
      if (is_by) add(by, "\"" + input.name + "\"");
    }
    std::string text = imports + "\ndef f(" + names + "):\n    R = " + inputs[0].name + ".shape[0]\n" + body + "\n";
    // Of values of any shape, something that depends on each element in a way of its own.
    text += "def value(" + names + "):\n    y = reshape(f(" + names + "), (-1,))\n";
    text += "    return sum(sin(y) * cos(cast(arange(y.shape[0], i64), f32) + 0.3))\n";
    text += "def second(" + names + "):\n";
    text += "    total = 0.0\n    for g in grad(value, argnums=(" + by + ",))(" + names + "):\n";
    text += "        total = total + sum(sin(g * 0.7))\n    return total\n";
    for (std::string of : {"value", "second"}) {
      text += "@jit\ndef " + of + "_entry(" + types + "):\n    return " + of + "(" + names + ")\n";
      text += "@jit\ndef " + of + "_gradient(" + types + "):\n    return value_and_grad(" + of + ", argnums=(" + by +
              ",))(" + names + ")\n";
      text += "@jit\ndef " + of + "_along(" + types + ", " + directions + "):\n    return jvp(" + of + ", (" + names +
              ",), (" + tangents + ",))\n";
    }
    graph_ = fixture_.compile(text);
  }

  void check(const std::string& of) {
    INFO(graph_);
    REQUIRE(fixture_.result.graph);
    std::mt19937 random(7);
    std::vector<Numbers> at, direction, above, below, along;
    for (const Input& input : inputs_) {
      at.push_back(drawn(input, random));
      direction.push_back(drawn({"", input.dims}, random));
    }
    constexpr double h = 1e-5;
    above = below = along = at;
    double product = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      if (!is_float(inputs_[i].dtype)) continue;
      along.push_back(direction[i]);
      for (size_t k = 0; k < at[i].values.size(); ++k) {
        above[i].values[k] += h * direction[i].values[k];
        below[i].values[k] -= h * direction[i].values[k];
      }
    }
    double expected = (value(of + "_entry", above) - value(of + "_entry", below)) / (2 * h);
    std::vector<Numbers> gradient = call(of + "_gradient", at);
    size_t next = 1;
    for (size_t i = 0; i < at.size(); ++i) {
      if (!is_float(inputs_[i].dtype)) continue;
      REQUIRE(gradient.at(next).dims == inputs_[i].dims);
      for (size_t k = 0; k < at[i].values.size(); ++k) product += gradient[next].values[k] * direction[i].values[k];
      ++next;
    }
    double forward = call(of + "_along", along).at(1).values[0];
    double bound = 1e-7 * (1 + std::abs(expected)) * (of == "value" ? 1 : 30);
    INFO(of);
    CHECK(product == Approx(expected).margin(bound).epsilon(0));
    CHECK(forward == Approx(product).margin(1e-10 * (1 + std::abs(product))).epsilon(0));
    CHECK(gradient[0].values[0] == value(of + "_entry", at));
  }

 private:
  static void add(std::string& list, const std::string& item) { list += (list.empty() ? "" : ", ") + item; }

  static Numbers drawn(const Input& input, std::mt19937& random) {
    Numbers numbers = counting(input.dims, input.dtype);
    for (double& value : numbers.values) {
      value = std::uniform_real_distribution<double>(input.low, input.high)(random);
      if (!is_float(input.dtype)) value = std::floor(value);
    }
    return numbers;
  }

  std::vector<Numbers> call(const std::string& name, const std::vector<Numbers>& inputs) {
    std::vector<TensorValue> arguments;
    for (const Numbers& input : inputs) arguments.push_back(to_tensor(input));
    graph::EvalOptions options;
    options.mode = graph::EvalMode::F64;
    auto results =
        graph::evaluate(fixture_.result.graph->find(name), std::move(arguments), options, fixture_.diagnostics);
    INFO(render_all(fixture_.diagnostics, {}));
    REQUIRE(results);
    std::vector<Numbers> numbers;
    for (const TensorValue& result : *results) numbers.push_back(to_numbers(result));
    return numbers;
  }
  double value(const std::string& name, const std::vector<Numbers>& inputs) {
    return call(name, inputs).at(0).values[0];
  }

  std::vector<Input> inputs_;
  Fixture fixture_;
  std::string graph_;
};

/// First and second derivatives of `return <expression>`.
void check_both(const std::vector<Input>& inputs, const std::string& expression, const std::string& imports = "") {
  INFO(expression);
  Derived program(inputs, imports, "    return " + expression + "\n");
  program.check("value");
  program.check("second");
}

const Input x34{"x", {3, 4}}, y34{"y", {3, 4}};

}  // namespace

TEST_CASE("derivatives of functions of one number") {
  for (const char* function :
       {"-x", "abs(x)", "exp(x)", "exp2(x)", "expm1(x)", "sin(x)", "cos(x)", "tanh(x)", "sigmoid(x)", "erf(x)",
        "gelu(x)", "silu(x)", "relu(x)", "erfinv(x * 0.5)", "x ** 3", "floor(x) * x", "round(x) + x * sign(x)"}) {
    check_both({x34}, function);
  }
  const Input positive{"x", {3, 4}, 0.4, 2.5};
  for (const char* function :
       {"log(x)", "log2(x)", "log1p(x)", "sqrt(x)", "rsqrt(x)", "reciprocal(x)", "pow(x, 2.5)"}) {
    check_both({positive}, function);
  }
}

TEST_CASE("derivatives of functions of two numbers") {
  for (const char* function : {"x + y", "x - y", "x * y", "y - x * x", "minimum(x, y)", "maximum(x * x, y)",
                               "where(x > y, x * y, sin(x))", "fma(x, y, x)", "x * y[0] + y[:, :1]"}) {
    check_both({x34, y34}, function);
  }
  const Input positive{"x", {3, 4}, 0.4, 2.5}, away{"y", {3, 4}, 1.1, 1.9};
  for (const char* function : {"x / y", "pow(x, y)", "x % y", "y / (x + y)"}) check_both({positive, away}, function);
}

TEST_CASE("derivatives of what moves elements") {
  for (const char* expression :
       {"reshape(x, (4, 3)) * 2.0", "x.T @ x", "transpose(x, 1, 0)", "x[1:, ::2] * x[:2, 1::2]", "x[:, 1:4:2]", "x[2]",
        "broadcast_to(x[:, None], (3, 2, 4))", "windows(x, 2)", "windows(x, 2, axis=0, step=1)", "x[:, ::3]",
        "windows(x, 2, step=2, dilation=1)", "windows(x, 2, dilation=2)", "concat((x, x * x, x[:1]), axis=0)"}) {
    check_both({x34}, expression);
  }
  check_both({{"x", {5}}}, "x[None] * x[:, None]");
}

TEST_CASE("derivatives of reductions") {
  for (const char* expression :
       {"sum(x)", "sum(x, axis=0)", "mean(x * x, axis=1, keepdims=True)", "max(x, axis=1)", "min(x)",
        "max(x, axis=(0, 1))", "prod(x, axis=1)", "prod(x)", "sum(x, axis=0) @ x.T"}) {
    check_both({x34}, expression);
  }
}

TEST_CASE("derivatives of matmuls") {
  check_both({{"x", {3, 4}}, {"y", {4, 2}}}, "x @ y");
  check_both({{"x", {4, 3}}, {"y", {2, 4}}}, "x.T @ y.T");
  check_both({{"x", {2, 3, 4}}, {"y", {4, 5}}}, "x @ y");
  check_both({{"x", {2, 3, 4}}, {"y", {2, 5, 4}}}, "einsum(\"bij,bkj->bik\", x, y)");
  check_both({{"x", {2, 4, 3}}, {"y", {5, 4}}}, "einsum(\"bji,kj->bik\", x, y)");
  check_both({{"x", {4}}, {"y", {4, 3}}}, "x @ y");
}

TEST_CASE("derivatives of what neural networks are made of") {
  check_both({x34}, "softmax(x)");
  check_both({x34, {"y", {4}}}, "rmsnorm(x, y)");
  check_both({x34}, "rmsnorm(x, eps=0.1)");
  check_both({x34, {"t", {3}, 0, 4, DType::I64}}, "cross_entropy(x, t)");
  for (const char* options : {"", ", causal=True", ", window=2", ", scale=0.3"}) {
    check_both({{"q", {1, 2, 3, 4}}, {"k", {1, 1, 5, 4}}, {"v", {1, 1, 5, 2}}},
               fmt::format("flash_attention(q, k, v{})", options));
  }
  check_both({{"q", {1, 1, 3, 4}}, {"k", {1, 1, 3, 4}}, {"v", {1, 1, 3, 2}}, {"b", {1, 1, 3, 3}}},
             "flash_attention(q, k, v, bias=b, return_lse=True)[1]");
}

TEST_CASE("derivatives of run-time loops and branches") {
  auto check = [](const std::vector<Input>& inputs, const std::string& body) {
    Derived program(inputs, "", body);
    program.check("value");
    program.check("second");
  };
  const Input rows{"x", {5, 3}, -1.5, 1.5, DType::F64, "R, 3"}, number{"n", {}, 3, 4, DType::I64};
  check({rows, {"y", {3}}}, "    z = x\n    for i in range(R + 2):\n        z = sin(z * y) + y\n    return z\n");
  check({rows, {"y", {3}}}, "    z = y\n    for i in range(R):\n        z = tanh(z * x[i]) * y\n    return z\n");
  // Loops in loops, branches in them, and what no derivative depends on.
  check({rows, {"y", {3}}, number},
        "    z = y\n    k = n\n    for i in range(R):\n        row = x[i] * z\n"
        "        for j in range(R):\n            row = sin(row + y) * 0.5 + x[j]\n"
        "        if k % 2 == 0:\n            z = z * cos(row)\n        else:\n            z = z + row\n        k = k + "
        "1\n"
        "    return z\n");
  check({{"x", {3}}, number}, "    z = x\n    if n > 2:\n        z = sin(x) * x\n    return z * x\n");
  // No iteration, and one.
  check({{"x", {0, 3}, 0, 1, DType::F64, "R, 3"}, {"y", {3}}},
        "    z = y\n    for i in range(R):\n        z = z * x[i]\n    return z\n");
  check({{"x", {1, 3}, 0, 1, DType::F64, "R, 3"}, {"y", {3}}},
        "    z = y\n    for i in range(R):\n        z = z * x[i]\n    return z\n");
}

TEST_CASE("derivatives that a program gives its functions") {
  const std::string rules =
      "def double_vjp(y, dy, x, w, k=1.0):\n    return dy * w * k, dy * x * k\n"
      "@custom_vjp(double_vjp)\n@custom_jvp(lambda y, d, x, w, k=1.0: (d[0] * w + d[1] * x) * k)\n"
      "def product(x, w, k=1.0):\n    return x * w * k\n"
      "@custom_jvp(lambda y, d, x: (d[0] * cos(x), None))\ndef pair(x):\n    return sin(x), 3\n";
  check_both({x34, y34}, "product(x * x, y, k=0.5) * x", rules);
  check_both({x34}, "pair(x * x)[0] * x", rules);
  check_both({x34, y34}, "product(w=y, x=x * x) + product(k=2.0, w=x, x=y)", rules);
  Derived in_loop({{"x", {5, 3}, -1.5, 1.5, DType::F64, "R, 3"}, {"y", {3}}}, rules,
                  "    z = y\n    for i in range(R):\n        z = sin(product(z, x[i]))\n    return z\n");
  in_loop.check("value");
  in_loop.check("second");
  auto once = ::run(
      "@custom_vjp(lambda y, dy, x: dy * 7.0)\ndef f(x):\n    return floor(x) * 2.0\n"
      "@jit\ndef g(x: Tensor[2, f32]):\n    return grad(lambda x: sum(f(x)))(x), f(x)\n",
      "g", {{{2}, {1.5, 2.5}}});
  CHECK(once.at(0).values == std::vector<double>{7, 7});
  CHECK(once.at(1).values == std::vector<double>{2, 4});
}

TEST_CASE("derivatives of functions that are computed again") {
  const std::string functions =
      "def wide(x, y):\n    return tanh(checkpoint_name(x * y, \"inner\") * x)\n"
      "@checkpoint\ndef pair(x, y):\n    return sin(x) * y, sum(x), cast(sum(y), i32)\n"
      "@custom_vjp(lambda y, dy, x, w: (dy * w, dy * x))\n@custom_jvp(lambda y, d, x, w: d[0] * w + d[1] * x)\n"
      "def product(x, w):\n    return x * w\n";
  for (const char* expression :
       {"checkpoint(wide)(x, y) * x", "checkpoint(wide, policy=(\"inner\",))(x, y) * x",
        "checkpoint(checkpoint(wide))(x, y)", "checkpoint(lambda a: wide(a, y) * x)(x * y)",
        "remat(lambda a: a.T @ sin(a @ (x.T @ y)), policy=\"matmuls\")(x)", "pair(x, y)[0] + pair(x * y, x)[1]",
        "checkpoint(lambda x: product(sin(x), y))(x) * y",
        "checkpoint(vmap(wide))(x, y)", "vmap(checkpoint(wide))(x, y)", "checkpoint(lambda x: y)(x) * x",
        "checkpoint(lambda x: jvp(sin, (x,), (y,))[1])(x)", "checkpoint(lambda x: (x, x)[1])(x) * y",
        "checkpoint(lambda x: grad(lambda x: sum(sin(x) * y))(x))(x)"}) {
    check_both({x34, y34}, expression, functions);
  }
  for (const char* body : {"    z = y\n    for i in range(R):\n        z = checkpoint(wide)(z, x[i])\n    return z\n",
                           "    def run(z):\n        for i in range(R):\n            z = wide(z, x[i])\n"
                           "        return z\n    return checkpoint(run)(y)\n"}) {
    Derived in_loop({{"x", {5, 3}, -1.5, 1.5, DType::F64, "R, 3"}, {"y", {3}}}, functions, body);
    in_loop.check("value");
    in_loop.check("second");
  }
  auto results = ::run(
      "@jit\ndef f(x: Tensor[2, f32]):\n    y, back = vjp(checkpoint(lambda x: x * x), x)\n"
      "    return y, back(x)[0], back(1.0)[0]\n", "f", {{{2}, {3, 5}}});
  CHECK(results.at(1).values == std::vector<double>{18, 50});
  CHECK(results.at(2).values == std::vector<double>{6, 10});
}

TEST_CASE("gradients have the form of what they are by") {
  std::string text =
      "def f(pair, n, x):\n    return sum(pair[0] * x) + sum(pair[1]) * float(n)\n"
      "@jit\ndef g(a: Tensor[2, f32], b: Tensor[3, f32], x: Tensor[2, f32]):\n"
      "    pair, dx = grad(f, argnums=(0, \"x\"))((a, b), 3, x)\n    return pair[0], pair[1], dx\n";
  auto results = ::run(text, "g", {counting({2}), counting({3}), {{2}, {5, 7}}});
  CHECK(results.at(0).values == std::vector<double>{5, 7});
  CHECK(results.at(1).values == std::vector<double>{3, 3, 3});
  CHECK(results.at(2).values == std::vector<double>{0, 1});
}

TEST_CASE("a value beside what is differentiated, and a pullback that is called twice") {
  std::string text =
      "@jit\ndef f(x: Tensor[2, f32]):\n"
      "    dx, other = grad(lambda x: (sum(x * x), x + 1.0), has_aux=True)(x)\n"
      "    y, back = vjp(lambda x: x * x, x)\n"
      "    return dx, other, y, back(x)[0], back(1.0)[0]\n";
  auto results = ::run(text, "f", {{{2}, {3, 5}}});
  CHECK(results.at(0).values == std::vector<double>{6, 10});
  CHECK(results.at(1).values == std::vector<double>{4, 6});
  CHECK(results.at(2).values == std::vector<double>{9, 25});
  CHECK(results.at(3).values == std::vector<double>{18, 50});
  CHECK(results.at(4).values == std::vector<double>{6, 10});
}
