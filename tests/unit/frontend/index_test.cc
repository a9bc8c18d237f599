// What an index says of names and values.

#include "frontend/index/collector.h"

#include <catch2/catch.hpp>
#include <filesystem>

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
                   std::string kernels_for = "")
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
    IndexCollector collector;
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

  const Symbol* symbol(size_t mark) const {
    auto id = index.symbol_at(marks.at(mark));
    return id ? &index.symbols[index.resolved(*id)] : nullptr;
  }
  /// "kind name@line:column" of what is named at a mark.
  std::string named(size_t mark) const {
    const Symbol* found = symbol(mark);
    if (!found) return "nothing";
    std::string text = fmt::format("{} {}", to_string(found->kind), found->name);
    if (!found->loc.known()) return text;
    std::string where = found->loc.file == file ? "" : sources.file(found->loc.file).name() + ":";
    return fmt::format("{}@{}{}:{}", text, where, found->loc.line, found->loc.column);
  }
  static std::string joined(const PlaceFacts* facts) {
    std::string text;
    for (size_t i = 0; facts && i < facts->values.size(); ++i) {
      text += (i ? " | " : "") + facts->values[i].text;
    }
    return facts ? text : "unknown";
  }
  /// The values of a name or expression at a mark.
  std::string facts(size_t mark) const { return joined(index.facts_at(marks.at(mark))); }
  /// "line:column" of all uses of what is named at a mark.
  std::string uses(size_t mark) const {
    auto id = index.symbol_at(marks.at(mark));
    std::string text;
    if (!id) return text;
    for (Loc loc : index.uses_of(*id, true)) {
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ", loc.line, loc.column);
    }
    return text;
  }
};

}  // namespace

TEST_CASE("index: names of variables, parameters, dimensions, constants and the language") {
  Indexed program(
      "from tessera.nn import rmsnorm_safe, gelu as act\n"
      "const F = 3072\n"
      "\n"
      "@jit\n"
      "def mlp(x: Tensor[B, $D, bf16 @$accum(f32)], w: Tensor[$D, F, bf16]) -> Tensor[B, $F, bf16]:\n"
      "    h = $act($rmsnorm_safe($x) @ w)\n"
      "    $h = h * 2.0\n"
      "    return cast($h, $bf16)\n");
  CHECK(program.diagnostics.all().empty());
  CHECK(program.named(0) == "dimension D@5:22");
  CHECK(program.named(1) == "policy accum");
  CHECK(program.named(2) == "dimension D@5:22");
  CHECK(program.named(3) == "constant F@2:7");
  CHECK(program.named(4) == "built-in function gelu");
  CHECK(program.named(5) == "built-in function rmsnorm_safe");
  CHECK(program.named(6) == "parameter x@5:9");
  CHECK(program.named(7) == "variable h@6:5");
  CHECK(program.named(8) == "variable h@6:5");
  CHECK(program.named(9) == "dtype bf16");
  CHECK(program.uses(0) == "5:22 5:54");
  CHECK(program.uses(7) == "6:5 7:5 7:9 8:17");
  CHECK(program.uses(3) == "2:7 5:57 5:80");
}

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
  const PlaceFacts* h = program.index.binding_at(program.marks[3]);
  REQUIRE(h);
  CHECK(h->values[0].shape == std::vector<std::string>{"B", "768"});
  CHECK(h->values[0].dtype == "bf16");
  CHECK(h->values[0].computed == "f32");
  CHECK(h->values[0].kind == ValueKind::Tensor);
}

TEST_CASE("index: a function has the values of each of its calls, equal ones once") {
  Indexed program(
      "def twice($x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:\n"
      "    return x + x\n"
      "@jit\n"
      "def f(a: Tensor[B, 4, f32], b: Tensor[8, B, f32]):\n"
      "    return ($twice(a), twice(twice(a)), twice(b))\n");
  CHECK(program.diagnostics.all().empty());
  CHECK(program.facts(0) == "Tensor[B, 4, f32] | Tensor[8, B, f32]");
  const Symbol* twice = program.symbol(1);
  REQUIRE(twice);
  CHECK(twice->signature == "def twice(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]");
  CHECK(twice->results.size() == 2);
  CHECK(program.index.calls.size() == 4);
  for (const CallSite& call : program.index.calls) {
    REQUIRE(call.caller);
    CHECK(program.index.symbols[*call.caller].name == "f");
    CHECK(program.index.symbols[call.callee].name == "twice");
  }
}

TEST_CASE("index: fields and methods of instances") {
  Indexed program(
      "module Block(D: dim):\n"
      "    w: Param[D, 2*D, f32] = zeros()\n"
      "    def half(self, x: Tensor[B, D, f32], *, scale: float = 1.0):\n"
      "        return x @ $self.$w * scale\n"
      "module Net(D: dim):\n"
      "    first: Block(D)\n"
      "    rest: [Block(2*D)] * 2\n"
      "    def __call__(self, x: Tensor[B, D, f32]):\n"
      "        y = self.$first.$half(x, $scale=2.0)\n"
      "        for block in self.rest:\n"
      "            y = block.$half(y)[:, :2*D]\n"
      "        return y\n"
      "$net = Net(8)\n"
      "@jit\n"
      "def f($x: Tensor[B, 8, f32]):\n"
      "    $z = $net(x)\n"
      "    return z\n");
  INFO(render_all(program.diagnostics, {}));
  CHECK(program.diagnostics.all().empty());
  CHECK(program.named(0) == "parameter self@3:14");
  CHECK(program.named(1) == "param w@2:5");
  CHECK(program.named(2) == "field first@6:5");
  CHECK(program.named(3) == "method half@3:9");
  CHECK(program.named(4) == "parameter scale@3:45");
  CHECK(program.named(5) == "method half@3:9");
  CHECK(program.facts(6) == "Net");
  CHECK(program.facts(8) == "Tensor[B, 16, f32]");
  CHECK(Indexed::joined(program.index.binding_at(
            program.index.symbols[*program.index.symbol_at(program.marks[1])].loc)) ==
        "Tensor[8, 16, f32] | Tensor[16, 32, f32]");
  CHECK(program.uses(3) == "3:9 9:24 11:23");
  // net(x) calls __call__, which calls half twice.
  size_t methods = 0;
  for (const CallSite& call : program.index.calls) {
    methods += program.index.symbols[call.callee].kind == SymbolKind::Method;
  }
  CHECK(methods == 3);
}

TEST_CASE("index: functions that nobody calls have names, and the values that their types tell") {
  Indexed program(
      "def helper(x: Tensor[N, T], n: int):\n"
      "    y = $x + n\n"
      "    def inner(z):\n"
      "        return z * $y\n"
      "    return inner($y), [i for i in range($n)], lambda $a: $a + 1\n"
      "def typed(x: Tensor[N, M, bf16], w: Tensor[M, 8, bf16]):\n"
      "    $y = x @ w\n"
      "    return y @ nothing\n");
  CHECK(program.diagnostics.all().empty());
  CHECK(program.named(0) == "parameter x@1:12");
  CHECK(program.named(1) == "variable y@2:5");
  CHECK(program.named(2) == "variable y@2:5");
  CHECK(program.named(3) == "parameter n@1:29");
  CHECK(program.named(5) == "parameter a@5:52");
  CHECK(program.facts(0) == "unknown");
  CHECK(program.facts(6) == "Tensor[N, 8, bf16]");
}

TEST_CASE("index: other files, by name and by namespace") {
  Indexed program(
      "import parts.$mlp as m\n"
      "from parts.mlp import $WIDTH, $layer as one\n"
      "import tessera.nn as nn\n"
      "@jit\n"
      "def f(x: Tensor[B, WIDTH, f32]):\n"
      "    return m.$layer(nn.$gelu(x)) + $one(x) + tessera.nn.$layernorm(x, ones(WIDTH, dtype=f32), zeros(WIDTH, dtype=f32))\n",
      {{"parts/mlp.tsr",
        "# How wide it is.\nconst WIDTH = 8\ndef layer(x: Tensor[B, D, f32]):\n    return x * 2.0\n"}});
  INFO(render_all(program.diagnostics, {}));
  CHECK(program.diagnostics.error_count() == 0);
  CHECK(program.named(0) == "file parts.mlp@parts/mlp.tsr:1:1");
  CHECK(program.named(1) == "constant WIDTH@parts/mlp.tsr:2:7");
  CHECK(program.symbol(1)->docs == "How wide it is.");
  CHECK(program.named(2) == "function layer@parts/mlp.tsr:3:5");
  CHECK(program.named(3) == "function layer@parts/mlp.tsr:3:5");
  CHECK(program.named(4) == "built-in function gelu");
  CHECK(program.named(5) == "function layer@parts/mlp.tsr:3:5");
  CHECK(program.symbol(6)->name == "layernorm");
  CHECK(program.sources.file(program.symbol(6)->loc.file).name() == "stdlib/norms.tsr");
}

TEST_CASE("index: a file with mistakes has what is right in it") {
  Indexed program(
      "def good(x: Tensor[B, f32]):\n"
      "    return $x + 1.0\n"
      "@jit\n"
      "def f($x: Tensor[B, f32]):\n"
      "    y = good(x)\n"
      "    z = y @ undefined\n"
      "    return $y + z\n");
  CHECK(program.diagnostics.error_count() == 1);
  CHECK(program.named(0) == "parameter x@1:10");
  CHECK(program.named(2) == "variable y@5:5");
  CHECK(program.facts(2) == "Tensor[B, f32]");
  Indexed broken("def f(x: Tensor[B, f32]):\n    return x +\ndef g(y: Tensor[N, f32]):\n    return $y\n");
  CHECK(broken.diagnostics.error_count() > 0);
  CHECK(broken.named(0) == "parameter y@3:7");
  CHECK(broken.facts(0) == "Tensor[N, f32]");
}

TEST_CASE("index: kernels, their tiles and their privileges") {
  Indexed program(
      "@$kernel\n"
      "def scale(x: Tensor[M, N, f32], y: Region[write] Tensor[M, N, f32]):\n"
      "    t = $tile.context(m=M, n=N)\n"
      "    a = tile.$load(x, (t.i, t.j), (t.m, t.n))\n"
      "    $b = a * 2.0\n"
      "    tile.store($b, y, (t.i, t.j))\n",
      {}, "cpu:x86-64-v3");
  INFO(render_all(program.diagnostics, {}));
  CHECK(program.diagnostics.error_count() == 0);
  CHECK(program.named(0) == "decorator kernel");
  CHECK(program.named(1) == "built-in namespace tile");
  CHECK(program.named(2) == "built-in function tile.load");
  const PlaceFacts* b = program.index.facts_at(program.marks[3]);
  REQUIRE(b);
  CHECK(b->values[0].kind == ValueKind::Tile);
  bool found = false;
  for (const Symbol& symbol : program.index.symbols) {
    if (symbol.name != "y" || symbol.kind != SymbolKind::Parameter) continue;
    CHECK(symbol.privileges == std::vector<std::string>{"write"});
    found = true;
  }
  CHECK(found);
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
  const Symbol* f = program.symbol(0);
  REQUIRE(f);
  CHECK(f->effects == std::vector<std::string>{"rng"});
  const PlaceFacts* y = program.index.binding_at(program.marks[1]);
  const PlaceFacts* z = program.index.binding_at(program.marks[2]);
  REQUIRE(y);
  REQUIRE(z);
  CHECK(y->values[0].device == "gpu");
  CHECK(z->values[0].device.empty());
}

TEST_CASE("index: what can be named at a place") {
  Indexed program(
      "const F = 2\n"
      "def f(x: Tensor[B, f32]):\n"
      "    y = x\n"
      "    $return y\n"
      "def g(z):\n"
      "    return z$\n");
  auto names = [&](size_t mark) {
    std::string text;
    for (SymbolId id : program.index.visible_at(program.marks[mark])) {
      text += program.index.symbols[id].name + " ";
    }
    return text;
  };
  CHECK(names(0) == "x B y F f g ");
  CHECK(names(1) == "z F f g ");
}

// Every name of every example means something, and every function of an example that is compiled has
// values for its parameters.
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
    for (const Symbol& symbol : program.index.symbols) {
      if (symbol.loc.file != program.file || symbol.kind != SymbolKind::Parameter) continue;
      if (symbol.name == "self") continue;
      INFO(symbol.name << " at line " << symbol.loc.line);
      CHECK(program.index.binding_at(symbol.loc) != nullptr);
    }
    for (const PlaceFacts& place : program.index.expressions) {
      if (place.extent.file != program.file) continue;
      const SourceFile& source = program.sources.file(program.file);
      std::string_view line = source.line(place.extent.line).substr(place.extent.column - 1);
      bool is_name = place.extent.end_line == place.extent.line &&
                     line.substr(0, place.extent.end_column - place.extent.column)
                             .find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                                "0123456789") == std::string_view::npos &&
                     !std::isdigit(static_cast<unsigned char>(line[0])) && line.substr(0, 4) != "True" &&
                     line.substr(0, 5) != "False" && line.substr(0, 4) != "None";
      if (!is_name) continue;
      INFO(line << " at line " << place.extent.line);
      CHECK(program.index.symbol_at({place.extent.file, place.extent.line, place.extent.column + 0, 0}));
    }
  }
  CHECK(files >= 7);
}
