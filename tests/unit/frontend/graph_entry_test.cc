// Entries: arguments, params, results, guards, effects; calls of functions and kernels.

#include "unit/frontend/evaluate_graph.h"
#include "unit/frontend/places.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("an entry has its inputs, then the params it uses, in the order of their declaration") {
  std::string text = compile(R"(
param a: Param[4, f32] = zeros()
param unused: Param[4, f32] = zeros()
param b, c: Param[4, f32] = ones()

def scaled(x):
    return x * b

@jit
def f(x: Tensor[N, 4, f32]):
    return scaled(x) + a
)");
  INFO(text);
  CHECK(has(text, "{kind = \"input\", name = \"x\", places = [\"test.tsr:10:17\", \"test.tsr:10:20\"]}"));
  CHECK(has(without_places(text),
            "gir.func @f(%x: tensor<N x 4, f32>, %a: tensor<4, f32>, %b: tensor<4, f32>) "
            "{args = [{kind = \"input\", name = \"x\"}, {kind = \"param\", name = \"a\"}, "
            "{kind = \"param\", name = \"b\"}]"));
  CHECK(count(text, "role = \"init\"}") == 4);
}

TEST_CASE("results are named by the variable that is returned, else by the entry") {
  auto results = [](const std::string& body) {
    std::string text = compile("@jit\ndef f(x: Tensor[N, f32]):\n" + body);
    size_t at = text.find("results = ");
    return text.substr(at + 10, text.find(']', at) - at - 9);
  };
  CHECK(results("    return x * 2.0\n") == "[{name = \"f\"}]");
  CHECK(results("    y = x * 2.0\n    return y\n") == "[{name = \"y\"}]");
  CHECK(results("    return x * 2.0, x + 1.0\n") == "[{name = \"f.0\"}, {name = \"f.1\"}]");
  CHECK(results("    y = x * 2.0\n    return y, x + 1.0\n") ==
        "[{name = \"y\"}, {name = \"f.1\"}]");
  CHECK(results("    y = x * 2.0\n    return y, y\n") == "[{name = \"y\"}, {name = \"f.1\"}]");
  CHECK(results("    y = x * 2.0\n    return x, (y, x + 1.0)\n") ==
        "[{name = \"x\"}, {name = \"y\"}, {name = \"f.2\"}]");
  // Names of variables of other functions are none, and neither are those of elements.
  std::string two = "    def two(v):\n        p = v * 2.0\n        q = v\n        return p, q\n";
  CHECK(results(two + "    return two(x)\n") == "[{name = \"f.0\"}, {name = \"f.1\"}]");
  CHECK(results(two + "    r = two(x)\n    return r\n") == "[{name = \"f.0\"}, {name = \"f.1\"}]");
  CHECK(results(two + "    r = two(x)\n    return r[0], r[1]\n") == "[{name = \"f.0\"}, {name = \"f.1\"}]");
  CHECK(results(two + "    a, b = two(x)\n    return b, a\n") == "[{name = \"b\"}, {name = \"a\"}]");
  CHECK(results("    def kept(v):\n        return v\n    return kept(x)\n") == "[{name = \"f\"}]");
  // Branches that are chosen at run time agree on a name, or there is none.
  std::string branches = "    y = x * 2.0\n    z = x + 1.0\n    if N > 4:\n        return y, z\n";
  CHECK(results(branches + "    return z, z\n") == "[{name = \"f.0\"}, {name = \"z\"}]");
}

TEST_CASE("where: equal sizes are one, relations are facts and guards") {
  std::string equal = compile(
      "@jit\ndef f(x: Tensor[A, f32], y: Tensor[B, f32]) where A == B:\n    return x + y\n");
  CHECK(has(equal, "(%x: tensor<B, f32>, %y: tensor<B, f32>)"));
  std::string matmul = compile(
      "@jit\ndef f(x: Tensor[N, D, f32], y: Tensor[H, f32]) where D == 4 * H:\n"
      "    return reshape(x, (N, H, 4)) + y[:, None]\n");
  CHECK(has(matmul, "%x: tensor<N x 4*H, f32>"));
  std::string bound =
      compile("@jit\ndef f(x: Tensor[S, f32]) where S >= 16 and S % 4 == 0:\n    return x[:16]\n");
  INFO(bound);
  CHECK(has(bound,
            "guards = [{left = <S>, place = \"test.tsr:2:32\", relation = \">=\", right = 16, text = \"S >= 16\"}, "
            "{left = <(S%4)>, place = \"test.tsr:2:44\", relation = \"==\", right = 0, text = \"S % 4 == 0\"}]"));
}

TEST_CASE("random numbers come from a hidden seed, each use from a stream of its own") {
  std::string text = compile(R"(
@jit
def f(x: Tensor[N, f32]):
    a = normal(2.0, mean=1.0, shape=(N,), dtype=f32)
    b = uniform(shape=x.shape, dtype=bf16)
    return x + a * b
)");
  INFO(text);
  CHECK(has(text, "gir.func @f(%x: tensor<N, f32>, %seed: tensor<u64>)"));
  CHECK(has(text, "effects = [\"rng\"]"));
  size_t first = text.find("stream = "), second = text.find("stream = ", first + 1);
  CHECK(text.substr(first, 20) != text.substr(second, 20));
  // A seed that the entry has is the one.
  CHECK(has(compile("@jit\ndef f(seed: u64):\n    return normal(shape=(4,), dtype=f32)\n"),
            "gir.func @f(%seed: tensor<u64>)"));
}

TEST_CASE("initialisers") {
  std::string text = R"(
param z: Param[2, f32] = zeros()
param o: Param[2, bf16] = ones()
param f: Param[2, f32] = full(0.25)
param n: Param[2, i32] = 7
param r: Param[2, f32] = arange(2, f32) * 3.0
param u: Param[64, f32] = uniform(-1.0, 1.0)
param plain: Param[2, f32]
)";
  Numbers seed{{}, {3}, DType::U64};
  CHECK(run(text, "init.z", {seed}).at(0) == Numbers{{2}, {0, 0}});
  CHECK(run(text, "init.o", {seed}).at(0) == Numbers{{2}, {1, 1}, DType::BF16});
  CHECK(run(text, "init.f", {seed}).at(0) == Numbers{{2}, {0.25, 0.25}});
  CHECK(run(text, "init.n", {seed}).at(0) == Numbers{{2}, {7, 7}, DType::I32});
  CHECK(run(text, "init.r", {seed}).at(0) == Numbers{{2}, {0, 3}});
  Numbers uniform = run(text, "init.u", {seed}).at(0);
  CHECK(*std::min_element(uniform.values.begin(), uniform.values.end()) >= -1);
  CHECK(*std::max_element(uniform.values.begin(), uniform.values.end()) < 1);
  CHECK(*std::min_element(uniform.values.begin(), uniform.values.end()) < -0.5);
  CHECK_FALSE(has(compile(text), "init.plain"));
}

TEST_CASE("functions take sizes, dtypes and functions, and are checked at each call") {
  std::string text = R"(
def blocks(x: Tensor[B, D, T], n: int) -> Tensor[B, n, D // n, T]:
    return reshape(x, (B, n, D // n))

def as_dtype(x, T: dtype):
    return cast(x, T)

def twice(x, f: fn, *, times: int = 2):
    for i in range(times):
        x = f(x)
    return x

@jit
def f(x: Tensor[B, 12, f32]):
    return as_dtype(twice(blocks(x, 3), lambda v: v + 1.0), bf16)
)";
  CHECK(run(text, "f", {counting({1, 12})}).at(0).dims == std::vector<int64_t>{1, 3, 4});
  CHECK(count(compile(text), "gir.add") == 2);
}

TEST_CASE("several results, nested functions, unpacking") {
  std::string text = R"(
def halves(x: Tensor[B, D, f32]) -> (Tensor[B, D // 2, f32], Tensor[B, D // 2, f32]) where D % 2 == 0:
    return x[:, :D // 2], x[:, D // 2:]

@jit
def f(x: Tensor[B, 4, f32]):
    def swapped(pair):
        a, b = pair
        return b, a
    left, right = swapped(halves(x))
    return concat([left, right], axis=1)
)";
  CHECK(run(text, "f", {counting({1, 4})}).at(0) == Numbers{{1, 4}, {2, 3, 0, 1}});
}

TEST_CASE("a kernel is called by name, with its operands and constants") {
  Fixture fixture;
  std::string text = fixture.compile(R"(
@kernel
def scale(x: Tensor[M, N, T], *, by: float = 2.0) -> Tensor[M, N, T]:
    t = tile.context(m=M, n=N)
    return tile.load(x, (t.i, t.j), (t.m, t.n)) * by

@kernel
def halve(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return tile.load(x, (t.i, t.j), (t.m, t.n)) * 0.5

@jit
def f(x: Tensor[B, 8, f32]):
    return scale(halve(x) + 1.0, by=3.0) + scale(x)
)");
  INFO(text);
  CHECK(count(text, "gir.kernel_call") == 3);
  CHECK(count(text, "{arguments = {by = 3.0}, kernel = @scale}") == 1);
  CHECK(fixture.result.exported_kernels == std::vector<std::string>{"halve"});
}

TEST_CASE("kernels of the standard library are built without a word") {
  Fixture fixture;
  fixture.compile("");
  Module module(fixture.context, fixture.sources, "kernels", Level::Schedule);
  schedule::KernelRequest request;
  request.kernel = request.symbol = "cross_entropy";
  for (const char* operand : {"tensor<M x 256, f32>", "tensor<M, u8>"}) {
    request.operands.push_back(fixture.context.parse_type(operand));
  }
  CHECK(fixture.result.library->instantiate(module, request));
  CHECK(fixture.diagnostics.all().empty());
}

TEST_CASE("a name of a file that is not a name of the IR") {
  Fixture fixture;
  CHECK(has(fixture.compile("@jit\ndef f(x: Tensor[N, f32]):\n    return x\n", "<stdin>"),
            "module @"));
  CHECK(has(Fixture().compile("", "dir/2 models.tsr"), "module @_2_models level"));
}

TEST_CASE("an int parameter of an entry is a size where it is used as one") {
  auto arguments = [](const std::string& text) {
    std::string graph = without_places(compile(text));
    size_t at = graph.find("args = ");
    return graph.substr(at, graph.find(']', at) - at + 1);
  };
  const std::string x = "@jit\ndef f(x: Tensor[B, D, f32], n: int)";
  const std::string bound =
      "args = [{kind = \"input\", name = \"x\"}, {dim = \"n\", kind = \"input\", name = \"n\"}]";
  const std::string free = "args = [{kind = \"input\", name = \"x\"}, {kind = \"input\", name = \"n\"}]";
  CHECK(arguments(x + " where D % n == 0:\n    return reshape(x, (B, n, D // n))\n") == bound);
  CHECK(arguments(x + " -> Tensor[n, B, D, f32]:\n    return broadcast_to(x, (n, B, D))\n") ==
        bound);
  CHECK(arguments("def g(x: Tensor[B, D, f32], k: int):\n    return x / k\n" + x +
                  ":\n    return g(x, n)\n") == bound);
  CHECK(arguments(x + ":\n    return x * float(D * n)\n") == bound);
  CHECK(arguments(x + " where n <= D:\n    return x[:, :n]\n") == bound);
  CHECK(arguments(x + ":\n    return x * cast(n + 1, f32)\n") == free);
  const std::string named = "@jit\ndef f(x: Tensor[\"n_rows\", f32], n: int)";
  CHECK(arguments(named + ":\n    return x * cast(n, f32)\n") == free);
  CHECK(arguments(named + " -> Tensor[\"n\", f32]:\n    return zeros((n,), f32)\n") == bound);
}

TEST_CASE("constants are computed by functions of the file, also where these make intermediate tensors") {
  auto size_from = [](const std::string& functions) {
    std::string text = compile(functions + "const A = g(2)\n@jit\ndef f(x: Tensor[A, f32]):\n    return x\n");
    size_t at = text.find("tensor<");
    return at == text.npos ? text : text.substr(at, text.find('>', at) + 1 - at);
  };
  CHECK(size_from("def g(n):\n    return n + 1\n") == "tensor<3, f32>");
  CHECK(size_from("@verify.numerics(stable=True)\ndef g(n):\n    return n\n") == "tensor<2, f32>");
  CHECK(size_from("dim N\ndef g(n):\n    for i in range(N):\n        pass\n    return n\n") == "tensor<2, f32>");
  CHECK(size_from("def g(x: Tensor[f32]):\n    while x > 1.0:\n        x = x / 2.0\n    return 5\n") ==
        "tensor<5, f32>");
  CHECK(has(size_from("def g(x: Tensor[f32]):\n    return x\n"), "where a compile-time value is needed [wrong-kind]"));
  CHECK(has(size_from("def g(n):\n    return zeros((n,), f32)\n"), "[misplaced-statement]"));
}

TEST_CASE("sizes of an entry are the values of its arguments") {
  std::string text = R"(
@jit
def f(x: Tensor[D, i32], n: int, m: dim) where D == n * m:
    return sum(reshape(x, (n, m)), axis=0)

@jit
def g(x: Tensor[D, i32], n: int) where D == n:
    return x
)";
  auto number = [](double value) { return Numbers{{}, {value}, DType::I64}; };
  Numbers x = counting({6}, DType::I32);
  CHECK(run(text, "f", {x, number(2), number(3)}).at(0) == Numbers{{3}, {3, 5, 7}, DType::I32});
  CHECK(run(text, "f", {x, number(3), number(2)}).at(0) == Numbers{{2}, {6, 9}, DType::I32});
  CHECK(run(text, "g", {x, number(6)}).at(0) == x);
  Fixture fixture;
  fixture.compile(text);
  REQUIRE(fixture.result.graph);
  auto refused = [&](const std::string& name, std::vector<Numbers> inputs) {
    std::vector<TensorValue> arguments;
    for (const Numbers& input : inputs) arguments.push_back(to_tensor(input));
    return !graph::evaluate(fixture.result.graph->find(name), std::move(arguments), {},
                            fixture.diagnostics);
  };
  CHECK(refused("f", {x, number(4), number(2)}));
  CHECK(refused("f", {x, number(-2), number(-3)}));
  CHECK(refused("g", {x, number(5)}));
}

TEST_CASE("params that begin alike share an initialiser and no numbers") {
  std::string text = R"(
module Layer(D: dim):
    w: Param[D, D, f32] = normal(0.5) + normal(0.5)
    g: Param[D, f32] = ones()

module Net:
    layers: [Layer(4)] * 3
    other: Layer(8)
net = Net()
)";
  std::string graph = compile(text);
  INFO(graph);
  CHECK(count(graph, "role = \"init\"}") == 4);
  CHECK(has(graph, "params = [\"layers.0.w\", \"layers.1.w\", \"layers.2.w\"]"));
  CHECK(has(graph, "{stream = 0}"));
  CHECK(has(graph, "{stream = 1}"));
}

TEST_CASE("where steps and memory for what nothing calls end, the rest is not looked at and nothing is wrong") {
  std::string entry = R"(
@jit
def entry(x: Tensor[B, 8, f32]):
    return x + 1.0
)";
  std::string functions;
  for (int i = 0; i < 40; ++i) {
    functions += fmt::format("\ndef f{}(x: Tensor[B, D, f32], w: Tensor[D, D, f32]):\n", i);
    for (int j = 0; j < 20; ++j) functions += "    x = x @ w + x\n";
    functions += "    return x\n";
  }
  std::string module = R"(
module Net(D: dim, n: int = 3):
    w: Param[D, D, f32] = normal(0.5)

    def __call__(self, x: Tensor[B, D, f32]):
        for i in range(n):
            x = x @ self.w
        return x
)";
  std::string endless = R"(
def endless(x: Tensor[B, 8, f32]):
    n = 0
    while n < 10:
        n = n * 1
    return x
)";
  std::string text = R"(
def doubling(x: Tensor[B, f32]):
    s = "ab"
    for i in range(60):
        s = s + s
    return x
)";
  for (const std::string& uncalled : {functions + module, module + functions, endless + module, text + functions}) {
    Fixture fixture;
    fixture.options.limits.steps = 30'000;
    fixture.options.limits.memory = 100'000'000;
    (void)fixture.compile(uncalled + entry);
    CHECK(fixture.result.graph);
    CHECK(render_all(fixture.diagnostics, {}) == "");
  }
}
