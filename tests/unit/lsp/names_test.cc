// Names from an editor's view: from each use of a name all others are found, and renaming it leaves a
// program that means the same.

#include <catch2/catch.hpp>
#include <set>

#include "unit/lsp/client.h"

using lsp_test::Client;
using lsp_test::Json;

namespace {

using Files = std::map<std::string, std::string>;
/// File, line and column of a name.
using Places = std::set<std::tuple<std::string, int, int>>;

std::string uri_of(const std::string& name) { return "file:///names/" + name; }
std::string name_of(const std::string& uri) { return uri.substr(uri.rfind('/') + 1); }

/// Files in which all uses of one name stand between `$`.
class Marked {
 public:
  explicit Marked(const Files& marked) {
    for (const auto& [name, text] : marked) read(name, text);
  }

  /// The files with another name in place of the marked one, or with the marked one.
  Files texts(const std::string& replacement = "") const {
    Files files;
    for (const auto& [name, parts] : parts_) {
      for (size_t i = 0; i < parts.size(); ++i) files[name] += i % 2 && !replacement.empty() ? replacement : parts[i];
    }
    return files;
  }
  const Places& places() const { return places_; }

 private:
  void read(const std::string& name, const std::string& text) {
    std::string part;
    int line = 0, column = 0;
    for (char c : text + "$") {
      if (c == '$') {
        if (parts_[name].size() % 2) places_.insert({name, line, column - int(part.size())});
        parts_[name].push_back(std::exchange(part, {}));
        continue;
      }
      part += c;
      column = c == '\n' ? 0 : column + 1;
      line += c == '\n';
    }
  }

  std::map<std::string, std::vector<std::string>> parts_;
  Places places_;
};

Json asked_at(const std::tuple<std::string, int, int>& place) {
  return {{"textDocument", {{"uri", uri_of(std::get<0>(place))}}},
          {"position", {{"line", std::get<1>(place)}, {"character", std::get<2>(place)}}}};
}

void open_all(Client& client, const Files& files) {
  for (const auto& [name, text] : files) client.open(uri_of(name), text);
  client.wait_until_idle();
}

/// Places are given in one list for each file, from the last to the first.
void edit_files(Files& files, const Json& changes) {
  for (const Json& change : changes["documentChanges"]) {
    std::string& text = files.at(name_of(change["textDocument"]["uri"]));
    std::map<size_t, std::pair<size_t, std::string>> edits;
    for (const Json& edit : change["edits"]) {
      auto offset = [&](const Json& position) {
        size_t at = 0;
        for (int line = position["line"]; line > 0; --line) at = text.find('\n', at) + 1;
        return at + position["character"].get<size_t>();
      };
      edits[offset(edit["range"]["start"])] = {offset(edit["range"]["end"]), edit["newText"]};
    }
    for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit) {
      text.replace(edit->first, edit->second.first - edit->first, edit->second.second);
    }
  }
}

void check_clean(const Files& files) {
  Client client("utf-8");
  open_all(client, files);
  for (const auto& [name, text] : files) {
    INFO(name << '\n' << text << '\n' << client.diagnostics(uri_of(name)).dump(1));
    for (const Json& each : client.diagnostics(uri_of(name))) CHECK(each["severity"] != 1);  // no error
  }
}

/// From each use of the marked name: references, highlights, and a rename after which the files are
/// as right as before.
void check_name(const Files& marked, bool clean = true) {
  Marked files(marked);
  Client client("utf-8");
  open_all(client, files.texts());
  REQUIRE(files.places().size() >= 2);
  Files renamed = files.texts("other_name");
  for (const auto& place : files.places()) {
    INFO("from " << std::get<0>(place) << ", line " << std::get<1>(place) + 1 << ", column " << std::get<2>(place) + 1);
    Json asked = asked_at(place);
    Json all = asked;
    all["context"] = {{"includeDeclaration", true}};
    Places found, here, expected_here;
    for (const Json& reference : client.request("textDocument/references", all)) {
      Json start = reference["range"]["start"];
      found.insert({name_of(reference["uri"]), start["line"], start["character"]});
    }
    CHECK(found == files.places());
    for (const Json& highlight : client.request("textDocument/documentHighlight", asked)) {
      Json start = highlight["range"]["start"];
      here.insert({std::get<0>(place), start["line"], start["character"]});
    }
    for (const auto& each : files.places()) {
      if (std::get<0>(each) == std::get<0>(place)) expected_here.insert(each);
    }
    CHECK(here == expected_here);
    Files now = files.texts();
    Json rename = asked;
    rename["newName"] = "other_name";
    edit_files(now, client.request("textDocument/rename", rename));
    CHECK(now == renamed);
  }
  if (!clean) return;
  check_clean(files.texts());
  check_clean(renamed);
}

}  // namespace

TEST_CASE("names: a size of a signature, also in strings") {
  check_name({{"a.tsr",
               "@jit\n"
               "def f(x: Tensor[B, $D$, f32], cache: KVCache[B, \"H\", \"S\", \"$D$\", f32]) -> Tensor[B, 2*$D$, f32] "
               "where $D$ % 4 == 0:\n"
               "    y: Tensor[B, $D$, f32] = x * float($D$)\n"
               "    return concat([y, reshape(x, (B, $D$))], axis=1)\n"
               "\n"
               "@jit\n"
               "def g(x: Tensor[D, f32]):\n"
               "    return x * float(D)\n"}});
  check_name({{"a.tsr",
               "def f(x: Tensor[$B$, \"H\", f32], k: KTile[\"$B$*H\", f32]) -> Tensor[$B$, H, f32]:\n"
               "    return k\n"}});
}

TEST_CASE("names: a dim and a constant of a file") {
  check_name(
      {{"a.tsr", "dim $D$, E\nparam w: Param[$D$, 8, f32]\n@jit\ndef f(x: Tensor[B, $D$, f32]):\n    return x @ w\n"},
       {"b.tsr", "from a import $D$\n@jit\ndef g(x: Tensor[$D$, f32]):\n    return x\n"}});
  check_name(
      {{"a.tsr", "const $D$ = 8\n@jit\ndef f(x: Tensor[B, $D$, f32], y: Tensor[\"$D$\", f32]):\n    return x\n"}});
}

TEST_CASE("names: a parameter that another file gives by name") {
  check_name(
      {{"a.tsr", "def scaled(x: Tensor[N, f32], *, $by$: float = 2.0):\n    return x * $by$\n"},
       {"b.tsr",
        "from a import scaled\nconst by = 3.0\n@jit\ndef f(x: Tensor[N, f32]):\n    return scaled(x, $by$=by)\n"},
       {"c.tsr", "import a as tools\n@jit\ndef f(x: Tensor[N, f32]):\n    return tools.scaled(x, $by$=1.0)\n"}});
  check_name({{"a.tsr",
               "@kernel\n"
               "def scaled(x: Tensor[M, N, T], *, $by$: float = 2.0) -> Tensor[M, N, T]:\n"
               "    t = tile.context(m=M, n=N)\n"
               "    return tile.load(x, (t.i, t.j), (t.m, t.n)) * $by$\n"},
              {"b.tsr", "from a import scaled as s\n@jit\ndef f(x: Tensor[4, 8, f32]):\n    return s(x, $by$=3.0)\n"}});
}

TEST_CASE("names: a module's parameter through a dotted name") {
  check_name({{"a.tsr",
               "module Linear($I$: dim, O: dim) where $I$ >= 1:\n"
               "    w: Param[$I$, O, f32] = normal(0.02)\n"
               "\n"
               "    def __call__(self, x: Tensor[N, $I$, f32]):\n"
               "        return x @ self.w * float(self.$I$)\n"},
              {"b.tsr",
               "import a as layers\n"
               "const I = 3\n"
               "first = layers.Linear($I$=I, O=4)\n"
               "\n"
               "module Two(I: dim):\n"
               "    one: layers.Linear($I$=I, O=I)\n"
               "    more: [layers.Linear($I$=I, O=I)] * 2\n"
               "\n"
               "    def __call__(self, x: Tensor[N, I, f32]):\n"
               "        return self.one(x) * float(self.one.$I$ + self.more[0].$I$)\n"
               "two = Two(4)\n"
               "@jit\n"
               "def f(x: Tensor[N, 3, f32]):\n"
               "    return two(first(x)) * float(first.$I$)\n"}});
}

TEST_CASE("names: fields and methods, however their instance is come by") {
  check_name({{"a.tsr",
               "module Block(D: dim):\n"
               "    $w$: Param[D, D, f32] = normal(0.02)\n"
               "\n"
               "    def mixed(self, x: Tensor[N, D, f32]):\n"
               "        return x @ self.$w$\n"
               "\n"
               "module Net(D: dim):\n"
               "    w: Param[D, f32] = zeros()\n"
               "    head: Block(D)\n"
               "    blocks: [Block(D)] * 3\n"
               "\n"
               "    def __call__(self, x: Tensor[N, D, f32]):\n"
               "        for i, block in enumerate(self.blocks):\n"
               "            x = x @ block.$w$\n"
               "        for block, w in zip(self.blocks, [1.0, 2.0, 3.0]):\n"
               "            x = x @ block.$w$ * w\n"
               "        last = self.blocks[2]\n"
               "        all = [b.$w$ for b in self.blocks]\n"
               "        return x @ last.$w$ @ self.blocks[0].$w$ @ self.head.$w$ + self.w + (x @ all[0])\n"
               "\n"
               "net = Net(4)\n"
               "@jit\n"
               "def f(x: Tensor[N, 4, f32]):\n"
               "    return net(x) @ net.head.$w$\n"}});
  check_name({{"a.tsr",
               "module Block(D: dim):\n"
               "    def $mixed$(self, x: Tensor[N, D, f32], *, by: float = 1.0):\n"
               "        return x * by\n"
               "\n"
               "    def __call__(self, x: Tensor[N, D, f32]):\n"
               "        return self.$mixed$(x, by=2.0)\n"},
              {"b.tsr",
               "from a import Block\n"
               "const mixed = 2.0\n"
               "module Net(D: dim):\n"
               "    blocks: [Block(D)] * 3\n"
               "\n"
               "    def __call__(self, x: Tensor[N, D, f32]):\n"
               "        for block in self.blocks:\n"
               "            x = block.$mixed$(x, by=mixed)\n"
               "        return x\n"
               "net = Net(4)\n"
               "@jit\n"
               "def f(x: Tensor[N, 4, f32]):\n"
               "    return net(x)\n"}});
  check_name({{"a.tsr",
               "module Block(D: dim):\n"
               "    def mixed(self, x: Tensor[N, D, f32], *, $by$: float = 1.0):\n"
               "        return x * $by$\n"
               "\n"
               "    def __call__(self, x: Tensor[N, D, f32], by: float = 1.0):\n"
               "        return self.mixed(x, $by$=by)\n"
               "block = Block(4)\n"
               "@jit\n"
               "def f(x: Tensor[N, 4, f32]):\n"
               "    one = block\n"
               "    return one.mixed(x, $by$=2.0) + block(x, by=3.0)\n"}});
}

TEST_CASE("names: a constant of a module, by name and by its instance") {
  check_name({{"a.tsr",
               "module Block(D: dim):\n"
               "    const $F$ = 4 * D\n"
               "    w: Param[D, $F$, f32] = normal(0.02)\n"
               "\n"
               "    def __call__(self, x: Tensor[N, D, f32]):\n"
               "        return x @ self.w * float($F$ + self.$F$)\n"
               "block = Block(4)\n"
               "@jit\n"
               "def f(x: Tensor[N, 4, f32]):\n"
               "    return block(x) * float(block.$F$)\n"}});
}

TEST_CASE("names: one that a loop or a comprehension shadows") {
  check_name({{"a.tsr",
               "const $n$ = 3\n"
               "def f(x: Tensor[B, f32]):\n"
               "    parts = [x * float(n) for n in range($n$)]\n"
               "    total = x * float($n$)\n"
               "    for n in range($n$):\n"
               "        total = total + x * float(n)\n"
               "    return total + parts[0]\n"
               "def g(x: Tensor[B, f32]):\n"
               "    return x * float($n$)\n"}});
  check_name({{"a.tsr",
               "const n = 3\n"
               "def f(x: Tensor[B, f32]):\n"
               "    for $n$ in range(n):\n"
               "        x = x + float($n$)\n"
               "    x = (lambda n: n)(x)\n"
               "    return x * float($n$)\n"}});
}

TEST_CASE("names: a file's until a function has its own") {
  check_name({{"a.tsr",
               "const $width$ = 3\n"
               "def f(x: Tensor[B, f32]):\n"
               "    width = $width$ * 2\n"
               "    return x * float(width)\n"}});
  check_name({{"a.tsr",
               "const width = 3\n"
               "def f(x: Tensor[B, f32]):\n"
               "    $width$ = width * 2\n"
               "    return x * float($width$)\n"}});
}

TEST_CASE("names: functions in functions") {
  check_name({{"a.tsr",
               "def f(x: Tensor[B, f32]):\n"
               "    before = 2.0\n"
               "    def inner(y, *, $by$=1.0):\n"
               "        return y * $by$ * before\n"
               "    return inner(x, $by$=3.0) + inner(x)\n"}});
  // It has the names around it as they are where it is made.
  check_name({{"a.tsr",
               "const $later$ = 3.0\n"
               "def f(x: Tensor[B, f32]):\n"
               "    def inner(y):\n"
               "        return y * $later$\n"
               "    later = 2.0\n"
               "    return inner(x) * later\n"}});
  check_name({{"a.tsr",
               "const before = 3.0\n"
               "def f(x: Tensor[B, f32]):\n"
               "    $before$ = 2.0\n"
               "    inner = lambda y: y * $before$\n"
               "    return inner(x) * $before$\n"}});
  // What an iteration assigns is the name of the function in the next one, also above.
  check_name({{"a.tsr",
               "def f(x: Tensor[B, f32]):\n"
               "    for i in range(3):\n"
               "        if i > 0:\n"
               "            $y$ = $y$ + x\n"
               "        else:\n"
               "            $y$ = x\n"
               "    return $y$\n"}});
  check_name({{"a.tsr",
               "def $inner$(x): return x\n"
               "def f(x: Tensor[B, f32]):\n"
               "    y = $inner$(x)\n"
               "    def inner(y):\n"
               "        return y\n"
               "    return inner(y)\n"}});
}

TEST_CASE("names: in branches of %if that are not taken") {
  check_name({{"a.tsr",
               "%if defined(WIDE)\n"
               "const $N$ = 16\n"
               "%elif defined(SMALL)\n"
               "const $N$ = 2\n"
               "def only_here(x: Tensor[$N$, f32], N_other: int):\n"
               "    return x * float($N$)\n"
               "%else\n"
               "const $N$ = 8\n"
               "%endif\n"
               "@jit\n"
               "def f(x: Tensor[$N$, f32]):\n"
               "    y = x\n"
               "    %if defined(WIDE)\n"
               "    y = y * float($N$)\n"
               "    %endif\n"
               "    return y\n"},
              {"b.tsr", "from a import $N$\n@jit\ndef g(x: Tensor[$N$, f32]):\n    return x\n"}});
  check_name({{"a.tsr",
               "@jit\n"
               "def f($x$: Tensor[4, f32]):\n"
               "    %if defined(WIDE)\n"
               "    z = $x$ + 1.0\n"
               "    %else\n"
               "    z = $x$\n"
               "    %endif\n"
               "    return z\n"
               "%if defined(WIDE)\n"
               "def g(x: Tensor[4, f32]):\n"
               "    return x\n"
               "%endif\n"}});
  check_name({{"a.tsr",
               "const $F$ = 4\n"
               "%define WIDE 2 * $F$\n"
               "@jit\n"
               "def f(x: Tensor[WIDE, $F$, f32]):\n"
               "    return x\n"}});
}

TEST_CASE("names: what is imported under another name") {
  Files files = {{"a.tsr", "const WIDTH = 8\ndef scaled(x: Tensor[N, f32]):\n    return x\n"},
                 {"b.tsr",
                  "from a import WIDTH as $W$, scaled\n"
                  "from tessera.nn import gelu\n"
                  "@jit\n"
                  "def f(x: Tensor[$W$, f32]):\n"
                  "    return gelu(scaled(x)) * float($W$)\n"},
                 {"c.tsr", "from b import $W$\n@jit\ndef g(x: Tensor[$W$, f32]):\n    return x\n"}};
  check_name(files);
  check_name({{"b.tsr",
               "from tessera.nn import gelu as $act$\n"
               "@jit\n"
               "def f(x: Tensor[4, f32]):\n"
               "    return $act$(x)\n"}});
  check_name(
      {{"a.tsr", "const WIDTH = 8\n"},
       {"b.tsr", "import a as $sizes$\n@jit\ndef f(x: Tensor[4, f32]):\n    return x * float($sizes$.WIDTH)\n"}});
  check_name({{"a.tsr", "const $WIDTH$ = 8\n"},
              {"b.tsr", "from a import $WIDTH$ as W\n@jit\ndef f(x: Tensor[W, f32]):\n    return x\n"},
              {"c.tsr", "import a\n@jit\ndef f(x: Tensor[4, f32]):\n    return x * float(a.$WIDTH$)\n"}});
}

TEST_CASE("names: of a module that other files import and give other names") {
  check_name({{"a.tsr", "const $WIDTH$ = 8\n"},
              {"b.tsr", "import a\nconst sizes = a\n"},
              {"c.tsr",
               "from b import sizes, a as parts\n"
               "import b as wide\n"
               "@jit\n"
               "def f(x: Tensor[4, f32]):\n"
               "    return x * float(sizes.$WIDTH$ + parts.$WIDTH$ + wide.a.$WIDTH$)\n"}});
}

TEST_CASE("names: a schedule and those that are made of it") {
  check_name({{"a.tsr",
               "$base$ = Schedule(BM=4, BN=8)\n"
               "small = $base$.with_block(2, 8)\n"
               "@kernel.schedule($base$.with_unroll(2))\n"
               "def twice(x: Tensor[M, N, T]) -> Tensor[M, N, T]:\n"
               "    t = tile.context(m=M, n=N)\n"
               "    return tile.load(x, (t.i, t.j), (t.m, t.n)) * 2.0\n"},
              {"b.tsr",
               "from a import twice, $base$\n"
               "other = twice.with_schedule($base$)\n"
               "@jit\n"
               "def f(x: Tensor[4, 8, f32]):\n"
               "    return other(x)\n"}});
}

TEST_CASE("names: a kernel as a value") {
  Files files = {{"a.tsr",
                  "@kernel\n"
                  "def $twice$(x: Tensor[M, N, T], *, by: float = 2.0) -> Tensor[M, N, T]:\n"
                  "    t = tile.context(m=M, n=N)\n"
                  "    return tile.load(x, (t.i, t.j), (t.m, t.n)) * by\n"},
                 {"b.tsr",
                  "from a import $twice$\n"
                  "wide = $twice$.with_schedule(Schedule(BM=2))\n"
                  "def repeated(kernel, x):\n"
                  "    return kernel(kernel(x))\n"
                  "@jit\n"
                  "def f(x: Tensor[4, 8, f32]):\n"
                  "    return repeated($twice$, x) + wide(x, by=3.0)\n"}};
  check_name(files);
  files["a.tsr"] =
      "@kernel\n"
      "def twice(x: Tensor[M, N, T], *, $by$: float = 2.0) -> Tensor[M, N, T]:\n"
      "    t = tile.context(m=M, n=N)\n"
      "    return tile.load(x, (t.i, t.j), (t.m, t.n)) * $by$\n";
  files["b.tsr"] =
      "from a import twice\n"
      "wide = twice.with_schedule(Schedule(BM=2))\n"
      "@jit\n"
      "def f(x: Tensor[4, 8, f32]):\n"
      "    return wide(x, $by$=3.0)\n";
  check_name(files);
}

TEST_CASE("names: of a file that another one includes") {
  Files files = {{"main.tsr",
                  "%include \"part.tsr\"\n"
                  "%include \"more.tsr\"\n"
                  "@jit\n"
                  "def e(x: Tensor[$QQ$, f32]):\n"
                  "    return helper(x) * float($QQ$)\n"
                  "def g(x: Tensor[N, f32], y: Tensor[$QQ$, f32]):\n"
                  "    return helper(x) * float($QQ$)\n"},
                 {"part.tsr",
                  "const $QQ$ = 4\n"
                  "def helper(x):\n"
                  "    return x * 2.0\n"},
                 {"user.tsr",
                  "import main\n"
                  "const SIZE = main.$QQ$\n"}};
  files["more.tsr"] = "def more(x: Tensor[$QQ$, f32]):\n    return helper(x)\n";
  // The part that uses names of the other one is no program by itself.
  check_name(files, false);
  files["more.tsr"] = "def more(x: Tensor[M, f32]):\n    return x\n";
  check_name(files);

  Client client("utf-8");
  open_all(client, Marked(files).texts());
  std::string uri = uri_of("main.tsr");
  Json asked = client.at(uri, "helper(x)");
  CHECK(name_of(client.request("textDocument/definition", asked)["uri"]) == "part.tsr");
  auto hover = client.request("textDocument/hover", asked)["contents"]["value"].get<std::string>();
  CHECK_THAT(hover, Catch::Contains("def helper(x)"));
  std::set<std::string> offered;
  Json completion = client.request("textDocument/completion", asked);
  for (const Json& item : completion["items"]) offered.insert(item["label"]);
  CHECK(offered.count("helper") + offered.count("QQ") + offered.count("more") == 3);
}

TEST_CASE("names: what a macro or a missing file may mean is not renamed") {
  Client client("utf-8");
  open_all(client, {{"main.tsr",
                     "%include \"part.tsr\"\n"
                     "def f(x: Tensor[ROWS, D, f32]):\n"
                     "    return x\n"
                     "%if defined(WIDE)\n"
                     "def g(x: Tensor[ROWS, D, f32]):\n"
                     "    return x\n"
                     "%endif\n"},
                    {"part.tsr", "%define ROWS 4\n"},
                    {"lost.tsr",
                     "%include \"nowhere.tsr\"\n"
                     "def f(x: Tensor[N, f32]):\n"
                     "    return x\n"}});
  auto refused = [&](const std::string& file, const std::string& text, size_t n) {
    return client.failure("textDocument/prepareRename", client.at(uri_of(file), text, 0, n))["message"];
  };
  CHECK(refused("main.tsr", "ROWS", 0) == "'ROWS' is a macro");
  CHECK(refused("main.tsr", "ROWS", 1) == "'ROWS' is a macro");
  CHECK(refused("lost.tsr", "N, f32", 0) == "a file that is included and not found may declare 'N'");
}

TEST_CASE("names: in statements that do not parse") {
  check_name({{"a.tsr",
               "const $width$ = 3\n"
               "def f(x: Tensor[B, f32]):\n"
               "    y = x * float($width$)\n"
               "    z = (y + $width$\n"
               "\n"
               "def g(x: Tensor[$width$, f32]):\n"
               "    return x\n"}},
             false);
}

TEST_CASE("names: a new one that means something already is refused") {
  Client client("utf-8");
  Files files = {{"a.tsr",
                  "const WIDTH = 8\n"
                  "const F = 2\n"
                  "module Block(D: dim):\n"
                  "    w: Param[D, f32] = zeros()\n"
                  "    def __call__(self, x: Tensor[D, f32], limit: float = 2.0):\n"
                  "        local = x * limit\n"
                  "        return gelu(local) * float(WIDTH) + self.w\n"
                  "def f(x: Tensor[N, f32]):\n"
                  "    return x\n"}};
  open_all(client, files);
  auto refused = [&](const std::string& text, const std::string& name) {
    Json asked = client.at(uri_of("a.tsr"), text);
    asked["newName"] = name;
    return client.failure("textDocument/rename", asked)["message"].get<std::string>();
  };
  CHECK(refused("WIDTH", "F") == "'F' is already the name of a constant here");
  CHECK(refused("WIDTH", "limit") == "'limit' means a parameter in line 7, where 'WIDTH' is used");
  CHECK(refused("WIDTH", "N") == "'N' means something else in line 8");
  CHECK(refused("WIDTH", "gelu") == "'gelu' is a function of the language");
  CHECK(refused("WIDTH", "bf16") == "'bf16' is a dtype");
  CHECK(refused("WIDTH", "float32") == "'float32' is a dtype");
  CHECK(refused("WIDTH", "Tensor") == "'Tensor' is a word of types");
  CHECK(refused("WIDTH", "param") == "'param' is a keyword");
  CHECK(refused("WIDTH", "self") == "'self' is the instance that a method is given");
  CHECK(refused("N", "f16") == "'f16' is a dtype");
  CHECK(refused("local", "WIDTH") == "'WIDTH' means something else in line 7");
  CHECK(refused("local", "x") == "'x' is already the name of a parameter here");
  CHECK(refused("local", "gelu") == "'gelu' is a function of the language");
  CHECK(refused("self", "this") == "a method is given its instance as 'self'");
  CHECK(refused("w: Param", "D") == "'D' is already a member of 'Block'");
  CHECK(refused("D: dim", "w") == "'w' is already a member of 'Block'");
  CHECK(refused("D: dim", "__call__") == "'__call__' is already a member of 'Block'");
}

TEST_CASE("names: a new one that an importing or including file has already is refused") {
  Client client("utf-8");
  open_all(client, {{"layers.tsr",
                     "def twice(x):\n"
                     "    return x + x\n"},
                    {"main.tsr",
                     "from layers import twice\n"
                     "from tessera.nn import ffn as feed\n"
                     "const net = 2.0\n"
                     "def f(x: Tensor[N, f32]):\n"
                     "    return twice(x) * net * gain\n"},
                    {"whole.tsr",
                     "%include \"layers.tsr\"\n"
                     "const part = 2.0\n"}});
  auto refused = [&](const std::string& file, const std::string& text, const std::string& name) {
    Json asked = client.at(uri_of(file), text);
    asked["newName"] = name;
    return client.failure("textDocument/rename", asked)["message"].get<std::string>();
  };
  for (const char* file : {"layers.tsr", "main.tsr"}) {
    CHECK_THAT(refused(file, "twice", "net"), Catch::StartsWith("'net' is already the name of a constant"));
    CHECK_THAT(refused(file, "twice", "feed"), Catch::StartsWith("'feed' is already the name of a"));
    CHECK_THAT(refused(file, "twice", "gain"), Catch::StartsWith("'gain' means something else in line 5"));
    CHECK(refused(file, "twice", "part") == "'part' is already the name of a constant of whole.tsr");
  }
  CHECK(refused("main.tsr", "net", "twice") == "'twice' is already the name of a function here");
}
