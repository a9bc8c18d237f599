// The semantic index: values and calls.

#include "frontend/index/collector.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "frontend/syntax/ast_walk.h"
#include "frontend/syntax/parse.h"
#include "ir/schedule/ops.h"
#include "unit/frontend/fixture.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

/// A file main.tsr with its index; `$` in the text marks places, which are taken out.
struct Indexed {
  Context context;
  SourceManager sources;
  DiagnosticEngine diagnostics{sources};
  FileId file = 0;
  SemanticIndex index;
  std::vector<Loc> marks;
  std::map<std::string, std::string> others;

  explicit Indexed(const std::string& marked, std::map<std::string, std::string> files = {},
                   std::string kernels_for = "", CollectorOptions collected = {})
      : others(std::move(files)) {
    graph::register_ops(context);
    schedule::register_ops(context);
    std::string text;
    std::vector<size_t> offsets;
    for (char c : marked) {
      if (c == '$') {
        offsets.push_back(text.size());
      } else {
        text += c;
      }
    }
    file = sources.add("main.tsr", text);
    for (size_t offset : offsets) {
      marks.push_back(sources.file(file).locate(file, uint32_t(offset), 0));
    }
    IndexCollector collector(collected);
    FrontendOptions options;
    options.observer = &collector;
    options.kernels_for = std::move(kernels_for);
    options.read = [this](const std::string& path, std::string& text, std::string& error) {
      auto found = others.find(path);
      if (found == others.end()) error = "no such file";
      if (found != others.end()) text = found->second;
      return found != others.end();
    };
    (void)compile_source(context, file, options, diagnostics);
    index = collector.take();
  }

  static std::string joined(const PlaceFacts* facts) {
    std::string text;
    for (size_t i = 0; facts && i < facts->values.size(); ++i) {
      text += (i ? " | " : "") + facts->values[i].text;
    }
    return facts ? text : "unknown";
  }
  /// The name that is given a value at a mark, or the smallest expression around it.
  const PlaceFacts* at(size_t mark) const {
    Loc place = marks.at(mark);
    if (const PlaceFacts* facts = index.at(place)) return facts;
    const PlaceFacts* found = nullptr;
    for (const PlaceFacts& each : index.expressions) {
      bool around = each.loc.file == place.file && each.loc.line == place.line && each.loc.column <= place.column &&
                    place.column < each.loc.column + each.loc.length;
      if (around && (!found || each.loc.length <= found->loc.length)) found = &each;
    }
    return found;
  }
  std::string facts(size_t mark) const { return joined(at(mark)); }
  /// "call at line:column of the function at line", for each call.
  std::vector<std::string> calls() const {
    std::vector<std::string> list;
    for (const CallSite& call : index.calls) {
      list.push_back(fmt::format("{}:{} of {}", call.loc.line, call.loc.column, call.callee.line));
    }
    return list;
  }
};

}  // namespace

TEST_CASE("index: values of names and expressions") {
  Indexed program(
      "const $F = 3*256\n"
      "@jit\n"
      "def f($x: Tensor[$B, D, bf16], w: Tensor[D, F, bf16]) -> Tensor[B, F, bf16]:\n"
      "    $h = x $@ w\n"
      "    return cast($h + 1.0, bf16)\n");
  CHECK(program.diagnostics.all().empty());
  CHECK(program.facts(0) == "768");
  CHECK(program.facts(1) == "Tensor[B, D, bf16]");
  CHECK(program.facts(2) == "B");
  CHECK(program.facts(3) == "Tensor[B, 768, bf16]");
  CHECK(program.facts(4) == "Tensor[B, 768, bf16]");
  CHECK(program.facts(5) == "Tensor[B, 768, bf16]");
  const PlaceFacts* h = program.at(3);
  REQUIRE(h);
  CHECK(h->name == "h");
  CHECK(h->values[0].shape == std::vector<std::string>{"B", "768"});
  CHECK(h->values[0].dtype == "bf16");
  CHECK(h->values[0].computed == "f32");
  CHECK(h->values[0].kind == ValueKind::Tensor);
}

TEST_CASE("index: a function has the values of each of its calls, equal ones once") {
  Indexed program(
      "def $twice($x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:\n"
      "    return x + x\n"
      "@jit\n"
      "def f(a: Tensor[B, 4, f32], b: Tensor[8, B, f32]):\n"
      "    return (twice(a), twice(twice(a)), twice(b))\n");
  CHECK(program.diagnostics.all().empty());
  CHECK(program.facts(1) == "Tensor[B, 4, f32] | Tensor[8, B, f32]");
  const FunctionFacts* twice = program.index.function_at(program.marks[0]);
  REQUIRE(twice);
  CHECK(twice->results.size() == 2);
  CHECK(twice->effects.empty());
  CHECK(program.calls() == std::vector<std::string>{"5:13 of 1", "5:23 of 1", "5:29 of 1", "5:40 of 1"});
}

TEST_CASE("index: fields and methods of instances") {
  Indexed program(
      "module Block(D: dim):\n"
      "    $w: Param[D, 2*D, f32] = zeros()\n"
      "    def half(self, x: Tensor[B, D, f32], *, scale: float = 1.0):\n"
      "        return x @ self.w * scale\n"
      "module Net(D: dim):\n"
      "    first: Block(D)\n"
      "    rest: [Block(2*D)] * 2\n"
      "    def __call__(self, x: Tensor[B, D, f32]):\n"
      "        y = self.first.half(x, scale=2.0)\n"
      "        for $block in self.rest:\n"
      "            y = block.half(y)[:, :2*D]\n"
      "        return y\n"
      "$net = Net(8)\n"
      "@jit\n"
      "def f($x: Tensor[B, 8, f32]):\n"
      "    $z = net(x)\n"
      "    return z\n");
  INFO(render_all(program.diagnostics, {}));
  CHECK(program.diagnostics.all().empty());
  CHECK(program.facts(0) == "Tensor[8, 16, f32] | Tensor[16, 32, f32]");
  CHECK(program.facts(1) == "Block");
  REQUIRE(program.at(1));
  CHECK(program.at(1)->values[0].kind == ValueKind::Instance);
  CHECK(program.at(1)->values[0].definition.line == 1);
  CHECK(program.facts(2) == "Net");
  CHECK(program.facts(4) == "Tensor[B, 16, f32]");
  // What makes an instance is no call; net(x) calls __call__, which calls half twice.
  CHECK(program.calls() == std::vector<std::string>{"9:13 of 3", "11:17 of 3", "16:9 of 8"});
}

TEST_CASE("index: states are written as their types") {
  Indexed program(
      "@jit\n"
      "def f(k: Tensor[B, H, 1, D, bf16], $cache: KVCache[B, H, S, D, bf16]) -> KVCache[B, H, S, D, bf16] where 1 <= "
      "S:\n"
      "    $all = [cache]\n"
      "    return all[0].append(k, k)\n");
  INFO(render_all(program.diagnostics, {}));
  CHECK(program.diagnostics.all().empty());
  CHECK(program.facts(0) == "KVCache[B, H, S, D, bf16]");
  CHECK(program.facts(1) == "[KVCache[B, H, S, D, bf16]]");
}

TEST_CASE("index: a place that calls several functions has each of them") {
  Indexed program(
      "def one(x): return x\n"
      "def two(x): return x * 2.0\n"
      "def apply(f: fn, x): return f(x)\n"
      "@jit\n"
      "def g(x: Tensor[B, f32]):\n"
      "    return apply(one, x) + apply(two, apply(two, x))\n");
  INFO(render_all(program.diagnostics, {}));
  CHECK(program.diagnostics.all().empty());
  CHECK(program.calls() == std::vector<std::string>{"3:29 of 1", "3:29 of 2", "6:12 of 3", "6:28 of 3", "6:39 of 3"});
}

TEST_CASE("index: functions that nobody calls have the values that their types give") {
  Indexed program(
      "def helper(x: Tensor[N, T], n: int):\n"
      "    y = $x + n\n"
      "    return y\n"
      "def typed(x: Tensor[N, M, bf16], w: Tensor[M, 8, bf16]):\n"
      "    $y = x @ w\n"
      "    return y @ nothing\n");
  CHECK(program.diagnostics.all().size() == 1);
  CHECK(program.facts(0) == "Tensor[N, f32]");  // of one dtype that fits
  CHECK(program.facts(1) == "Tensor[N, 8, bf16]");
}

TEST_CASE("index: a file with errors has what is right in it") {
  Indexed program(
      "def good(x: Tensor[B, f32]):\n"
      "    return x + 1.0\n"
      "@jit\n"
      "def f(x: Tensor[B, f32]):\n"
      "    $y = good(x)\n"
      "    z = y @ undefined\n"
      "    return $y + z\n");
  CHECK(program.diagnostics.error_count() == 1);
  CHECK(program.facts(0) == "Tensor[B, f32]");
  CHECK(program.facts(1) == "Tensor[B, f32]");
  Indexed broken("def f(x: Tensor[B, f32]):\n    return x +\ndef g(y: Tensor[N, f32]):\n    return $y\n");
  CHECK(broken.diagnostics.error_count() > 0);
  CHECK(broken.facts(0) == "Tensor[N, f32]");
}

TEST_CASE("index: kernels and their tiles") {
  Indexed program(
      "@kernel\n"
      "def scale(x: Tensor[M, N, f32], y: Region[write] Tensor[M, N, f32]):\n"
      "    t = tile.context(m=M, n=N)\n"
      "    a = tile.load(x, (t.i, t.j), (t.m, t.n))\n"
      "    $b = a * 2.0\n"
      "    tile.store(b, y, (t.i, t.j))\n",
      {}, "cpu:x86-64-v3");
  INFO(render_all(program.diagnostics, {}));
  CHECK(program.diagnostics.error_count() == 0);
  REQUIRE(program.at(0));
  CHECK(program.at(0)->values[0].kind == ValueKind::Tile);
}

TEST_CASE("index: effects and devices") {
  Indexed program(
      "@jit\n"
      "def $f(x: Tensor[B, 8, f32]):\n"
      "    with device(gpu):\n"
      "        $y = x + normal(1.0, shape=(B, 8), dtype=f32)\n"
      "    $z = y + 1.0\n"
      "    return z\n");
  INFO(render_all(program.diagnostics, {}));
  const FunctionFacts* f = program.index.function_at(program.marks[0]);
  REQUIRE(f);
  CHECK(f->effects == std::vector<std::string>{"rng"});
  REQUIRE(program.at(1));
  REQUIRE(program.at(2));
  CHECK(program.at(1)->values[0].device == "gpu");
  CHECK(program.at(2)->values[0].device.empty());
}

TEST_CASE("index: of names alone, members are at their names") {
  std::string text =
      "import parts.mlp as m\n"
      "@jit\n"
      "def f(x: Tensor[B, 8, f32]):\n"
      "    return (x + 1.0).T, m.WIDTH\n";
  Indexed program(text, {{"parts/mlp.tsr", "const WIDTH = 8\n"}}, "", {.names_only = true});
  CHECK(program.diagnostics.all().empty());
  std::vector<std::string> found;
  for (const PlaceFacts& facts : program.index.expressions) {
    if (facts.loc.file == program.file)
      found.push_back(fmt::format("{}:{} {}", facts.loc.line, facts.loc.column, facts.values[0].text));
  }
  CHECK(found ==
        std::vector<std::string>{"4:13 Tensor[B, 8, f32]", "4:22 Tensor[8, B, f32]", "4:25 parts.mlp", "4:27 8"});
}

// Every parameter of every function of an example has a value, and every name that is read.
TEST_CASE("index: all examples") {
  namespace fs = std::filesystem;
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(std::string(TESSERA_SOURCE_DIR) + "/examples")) {
    if (entry.path().extension() != ".tsr") continue;
    std::string text, error;
    REQUIRE(read_file(entry.path().string(), text, error));
    Indexed program(text, {}, "cpu:x86-64-v3");
    INFO(entry.path().string() << '\n' << render_all(program.diagnostics, {}));
    CHECK(program.diagnostics.error_count() == 0);
    ++files;
    DiagnosticEngine ignored(program.sources);
    ast::SourceUnit unit = parse_source(program.file, program.sources, {}, ignored);
    for (const ast::Declaration& declaration : unit.declarations) {
      ast::walk(*declaration.stmt, [&](const ast::Node& node) {
        const auto* def = ast::as<ast::Def>(&node);
        if (!def) return;
        for (const ast::Parameter& parameter : def->parameters) {
          INFO(parameter.name.text << " at line " << parameter.loc.line);
          CHECK((parameter.name.text == "self" || program.index.at(parameter.name.loc)));
        }
      });
    }
  }
  CHECK(files >= 7);
}
