// `with`, `on`, promises and kernels as values: the attributes that they leave.

#include "frontend/binding/words.h"
#include "unit/frontend/evaluate_graph.h"
#include "unit/frontend/program.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

/// The value of an attribute of the entry of a program, as it is printed.
std::string attribute(const std::string& text, AttrKey<AttrType::Dicts, Arity::Optional> key) {
  Fixture fixture;
  std::string graph = fixture.compile(text);
  INFO(graph);
  REQUIRE(fixture.result.graph);
  Attr attr = fixture.result.graph->find("f")->node(key);
  return attr ? attr->text : "";
}

std::string body(const std::string& statements) {
  return "dim D\nparam W: Param[D, 4, f32]\n@jit\ndef f(x: Tensor[B, D, f32]):\n" + statements +
         "    return x @ W\n";
}

}  // namespace

TEST_CASE("devices and prefetches are hints of the entry, each once") {
  CHECK(attribute(body("    with device(gpu), prefetch(x, into=\"smem\"):\n        x = x + 1.0\n"),
                  graph::attr::Func::hints) ==
        "[{device = \"gpu\", kind = \"device\"}, "
        "{into = \"smem\", kind = \"prefetch\", of = \"x\", overlap = \"compute\"}]");
  CHECK(attribute(body("    on device(cpu)\n    on device(cpu):\n        x = x + 1.0\n"),
                  graph::attr::Func::hints) == "[{device = \"cpu\", kind = \"device\"}]");
  CHECK(attribute(body(""), graph::attr::Func::hints).empty());
}

TEST_CASE("a policy without an effect says so in its text and in a warning, and no other one does") {
  size_t unread = 0;
  for (const names::WordRow& word : names::word_rows()) {
    if (word.kind != names::WordKind::Policy) continue;
    const names::PolicyRow& policy = *names::find_policy(word.text);
    std::string form(policy.form);
    for (auto [open, given] : {std::pair("(k)", "(2)"), {"(dtype)", "(f32)"}, {"(…)", "(gpu[0])"}}) {
      if (form.ends_with(open)) form.replace(form.size() - std::string(open).size(), std::string::npos, given);
    }
    bool is_dtype = policy.subject == names::PolicySubject::DType;
    std::string type = is_dtype ? "Tensor[B, bf16 @" + form + "]"
                       : policy.subject == names::PolicySubject::Optimizer
                           ? "OptimizerState[x] @" + form
                           : "KVCache[1, 1, 8, 4, f32] @" + form;
    Fixture fixture;
    fixture.compile("@jit\ndef f(x: Tensor[N, f32], y: " + type + "):\n    return x, y\n");
    INFO(type);
    REQUIRE(fixture.result.graph);
    bool is_warned = std::ranges::any_of(fixture.diagnostics.all(), [](const Diagnostic& each) {
      return diag_tag(each.id) == "hint-no-effect";
    });
    CHECK(is_warned == word.meaning.ends_with("no effect yet."));
    unread += is_warned;
  }
  CHECK(unread == 4);
}

TEST_CASE("a hint that no target heeds is warned about, once for its place") {
  auto warnings = [](const std::string& statements, std::vector<std::string> targets) {
    Fixture fixture;
    fixture.options.targets = std::move(targets);
    fixture.compile(body(statements));
    REQUIRE(fixture.result.graph);
    std::vector<std::string> texts;
    for (const Diagnostic& each : fixture.diagnostics.all()) {
      CHECK(diag_tag(each.id) == "hint-no-effect");
      texts.push_back(each.message);
    }
    return texts;
  };
  using Texts = std::vector<std::string>;
  const std::string on_gpu = "    with device(gpu[0]):\n        x = x + 1.0\n";
  for (const Texts& targets : {Texts{"cuda:sm_90a"}, Texts{}, Texts{"cpu:x86-64-v3", "cpu:x86-64-v4", "cuda:sm_80"}}) {
    CHECK(warnings(on_gpu, targets) == Texts{"device gpu[0] changes nothing on any target"});
  }
  CHECK(warnings("    on mesh(cpu)\n", {"cuda:sm_80"}) == Texts{"a mesh of 1 device changes nothing on any target"});
  CHECK(warnings("    on mesh(gpu, layout={\"batch\": \"shard\"})\n", {"cuda:sm_80"}) ==
        Texts{"a mesh of 1 device with a layout changes nothing on any target"});
  CHECK(warnings("    for i in range(3):\n        with prefetch(x):\n            x = x + 1.0\n", {"cuda:sm_90a"}) ==
        Texts{"'prefetch' changes nothing on any target"});
}

TEST_CASE("a block of 'with' opens no scope, and runs") {
  std::string text = "@jit\ndef f(x: Tensor[B, f32]):\n    with device(gpu[0]):\n"
                     "        y = x + 1.0\n    on mesh(gpu):\n        y = y * 2.0\n    return y\n";
  CHECK(run(text, "f", {Numbers{{2}, {1, 2}}}).at(0) == Numbers{{2}, {4, 6}});
}

TEST_CASE("a mesh of one device changes nothing") {
  const std::string statements =
      "    with mesh(gpu[0:1], layout={\"batch\": \"shard\", \"params\": \"replicate\"}) as m:\n"
      "        x = x * float(m.size)\n"
      "    with mesh([gpu[0]]).shard(W[\"D\"], x[\"B\"]):\n        pass\n";
  CHECK(attribute(body(statements), graph::attr::Func::hints).empty());
}

TEST_CASE("promises of all functions of an entry are listed") {
  const std::string text = R"(
@verify.numerics(stable=True, bounded=[-100, 100])
def inner(x):
    return x + 1.0

@verify.numerics(bounded=(0, 0.5))
@jit @autodiff
def f(x: Tensor[B, f32]):
    return inner(inner(x))
)";
  CHECK(attribute(text, graph::attr::Func::numerics) ==
        "[{bounded = [0.0, 0.5], function = \"f\", stable = false}, "
        "{bounded = [-100.0, 100.0], function = \"inner\", stable = true}]");
}

TEST_CASE("a kernel under another schedule is another kernel of the same name") {
  const std::string text = R"(
from tessera.stdlib import stable_softmax

few = stable_softmax.with_schedule(Schedule(BM=2))

def twice(kernel, x):
    return kernel(kernel(x))

@jit
def f(x: Tensor[B, 8, f32]):
    return twice(few, stable_softmax(x))
)";
  std::string graph = compile(text);
  INFO(graph);
  CHECK(count(graph, "gir.kernel_call") == 3);
}
