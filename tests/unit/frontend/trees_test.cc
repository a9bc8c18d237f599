// Trees of params, states for them, and updates of params.

#include <catch2/catch.hpp>

#include "unit/frontend/evaluate_graph.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

const std::string model = R"(
from tessera.nn import adamw, begin
module Layer(D: dim):
    w: Param[D, f32] = ones()
    b: Param[f32] = zeros()
module Model(D: dim):
    layers: [Layer(D)] * 2
    scale: Param[f32] = ones()
model = Model(4)
)";

bool has(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != text.npos;
}

/// The diagnostics of an entry with these parameters and statements.
std::string refused(const std::string& parameters, const std::string& body) {
  return compile(model + "@jit\ndef f(" + parameters + "):\n" + body + "\n");
}

}  // namespace

TEST_CASE("an updated param is an argument that a result has the memory of") {
  std::string graph =
      refused("x: Tensor[4, f32]", "    update(model.layers[0].w, x)\n    return sum(model.layers[0].w)");
  CHECK(has(graph, R"({donated = true, kind = "param", name = "layers.0.w"})"));
  CHECK(has(graph, R"({alias_of = "layers.0.w", name = "layers.0.w"})"));
  // What is read behind the update is the new value.
  CHECK(has(graph, "gir.reshape %x"));
  CHECK_FALSE(has(graph, "gir.reduce %layers"));
}

TEST_CASE("a result may have the name of a param that is updated") {
  std::string graph = compile("param w: Param[4, f32] = ones()\n@jit\ndef f(x: Tensor[4, f32]):\n"
                              "    update(w, x)\n    return w\n");
  CHECK(has(graph, R"(results = [{name = "f"}, {alias_of = "w", name = "w"}])"));
}

TEST_CASE("an entry may do nothing but update") {
  std::string graph = refused("x: Tensor[f32]", "    update(model.scale, x)");
  CHECK(has(graph, R"(results = [{alias_of = "scale", name = "scale"}])"));
}

TEST_CASE("the state of an optimiser for a module has fields for each param, and one count") {
  std::string graph = refused("state: OptimizerState[model] @fp32_master",
                              "    m = tree_map(lambda m: m + 1.0, state.m)\n"
                              "    state = state.replace(m=m, step=state.step + 1)\n    return state");
  for (std::string name : {"m.layers.0.b", "m.layers.1.w", "v.scale", "master.layers.0.w", "step"}) {
    CHECK(has(graph, R"(alias_of = "state.)" + name + '"'));
  }
}

TEST_CASE("tree_map goes through trees beside each other") {
  std::string text = model + R"(
@jit
def f(x: Tensor[4, f32]):
    g = grad(lambda m: sum(m.layers[0].w * x) * m.scale + sum(m.layers[1].w))(model)
    a, b = tree_map(lambda w, g: (w + g, g * 2.0), model, g)
    return a.layers[0].w, b.layers[1].w, b.scale, len(tree_leaves(a)), tree_map(lambda v: v * 3.0, (x, [x]))[1][0]
)";
  Fixture fixture;
  INFO(fixture.compile(text));
  REQUIRE(fixture.result.graph);
}

TEST_CASE("what cannot be updated") {
  CHECK(has(refused("x: Tensor[3, f32]", "    update(model.layers[0].w, x)"), "the new value of param 'layers.0.w'"));
  CHECK(has(refused("x: Tensor[4, bf16]", "    update(model.layers[0].w, x)"), "the new value of param 'layers.0.w'"));
  CHECK(has(refused("x: Tensor[4, f32]", "    update(x, x)\n    return x"), "what 'update' gives a new value"));
  CHECK(has(refused("x: Tensor[f32]", "    update(model, x)\n    return x"), "a tree of its form is needed"));
  CHECK(has(refused("x: Tensor[N, f32]", "    for i in range(N):\n        update(model.scale, x[i])\n    return x"),
            "'update' in a run-time loop or branch"));
  CHECK(has(refused("x: Tensor[f32]", "    def g(x):\n        update(model.scale, x)\n        return x\n"
                                      "    return grad(g)(x)"),
            "'update' in a function that a transform is taken of"));
  CHECK(has(refused("x: Tensor[4, f32]", "    def g(x):\n        update(model.scale, x)\n        return x\n"
                                         "    return vmap(g)(x)"),
            "'update' in a function that a transform is taken of"));
}

TEST_CASE("weights of narrow floats need masters") {
  std::string text = R"(
from tessera.nn import adamw
module M(D: dim):
    b: Param[D, f32] = ones()
    w: Param[D, bf16] = ones()
model = M(4)
@jit
def f(state: OptimizerState[model]):
    w, state = adamw(model, state, model, 0.1)
    update(model, w)
    return state
)";
  CHECK(has(compile(text), "OptimizerState[…] @fp32_master"));
}

TEST_CASE("scans of no iterations, and results that are numbers") {
  auto numbers = [](std::vector<double> values) { return Numbers{{int64_t(values.size())}, values}; };
  std::string text = R"(
@jit
def f(x: Tensor[N, f32]):
    last, all = scan(lambda c, v: (c + 1.0, c), zeros((), f32), None, length=0)
    return last, all, map(lambda v: 2.0, x), vmap(lambda v: 3)(x)
)";
  std::vector<Numbers> results = run(text, "f", {numbers({1, 2, 3})});
  CHECK(results.at(0).values == std::vector<double>{0});
  CHECK(results.at(1).dims == std::vector<int64_t>{0});
  CHECK(results.at(2).values == std::vector<double>{2, 2, 2});
  CHECK(results.at(3).values == std::vector<double>{3, 3, 3});
}

TEST_CASE("what a scan refuses") {
  auto says = [](const std::string& call, const std::string& part) {
    return has(compile("@jit\ndef f(x: Tensor[N, f32], y: Tensor[3, f32]):\n    return " + call + "\n"), part);
  };
  CHECK(says("scan(lambda c, v: (c, v), y, x, length=-1)", "a size of at least 0"));
  CHECK(says("scan(lambda c, v: c, y, x)", "a tuple (carry, y)"));
  CHECK(says("scan(lambda c, v: (c, v, v), y, x)", "is of 3 elements"));
  CHECK(says("scan(lambda c, v: (c + 1.0, v), 0.0, x)", "start with a tensor"));
  CHECK(says("scan(lambda c, v: (c, v), y, (x, y))", "the first axis"));
  CHECK(says("map(lambda v: v, [1.0, 2.0])", "[f(v) for v in values]"));
}
