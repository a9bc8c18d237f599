// Names: definitions of a file, imports, and the diagnostics of undefined names.

#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "unit/frontend/fixture.h"
#include "unit/frontend/program.h"

using namespace tessera;
using namespace tessera::frontend;
using tessera::test::Files;
using tessera::test::Program;

namespace {

std::string tags_of(const std::string& text, Files files = {}) {
  return Program(text, std::move(files)).tags();
}

}  // namespace

TEST_CASE("An unknown name is reported with the nearest one") {
  Program program("const width = 3\nconst X = widh + 1\n");
  CHECK(program.value("X") == "?");
  CHECK(program.tags() == "unknown-name@2:11");
  CHECK(program.messages().find("did you mean 'width'?") != std::string::npos);
}

TEST_CASE("A name is defined once in a file") {
  CHECK(tags_of("const A = 1\nconst A = 2\n") == "duplicate-name@2:7");
  CHECK(tags_of("A = 1\ndef A():\n    pass\n") == "duplicate-name@2:5");
  CHECK(tags_of("param w, w: Param[3, f32] = 0.0\n") == "duplicate-name@1:10");
  CHECK(tags_of("from tessera.nn import gelu\ngelu = 3\n") == "duplicate-name@2:1");
}

TEST_CASE("A file holds declarations") {
  CHECK(tags_of("\"\"\"What it is for.\"\"\"\npass\n") == "");
  CHECK(tags_of("if True:\n    pass\n") == "misplaced-statement@1:1");
  CHECK(tags_of("gelu(3)\n") == "misplaced-statement@1:1");
  CHECK(tags_of("a, b = 1, 2\n") == "misplaced-statement@1:1");
}

TEST_CASE("Names of the standard library") {
  Program program(
      "from tessera.nn import (rmsnorm_safe, gelu as activation)\nimport tessera.nn as nn\n"
      "const A = activation\nconst B = nn.softmax\nconst C = tessera.nn.gelu\n"
      "const D = ops.exp(0)\n");
  CHECK(program.value("A") == "gelu");
  CHECK(program.value("B") == "softmax");
  CHECK(program.value("C") == "gelu");
  CHECK(program.value("D") == "1.0");
  CHECK(program.messages() == "");
}

TEST_CASE("tessera.stdlib has every kernel of the library") {
  Program program("");
  SourceModule* stdlib = program.session().load_library("tessera.stdlib");
  REQUIRE(stdlib);
  std::set<std::string> exported;
  std::vector<std::string> names;
  for (const auto& [name, binding] : stdlib->scope->names_here()) names.push_back(name);
  for (const std::string& name : names) {
    Datum value = program.evaluator().lookup(name, *stdlib->scope, Loc{});
    if (value.is(DatumKind::Function)) exported.insert(value.as_function().name);
  }
  size_t kernels = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TESSERA_SOURCE_DIR "/stdlib")) {
    if (entry.path().extension() != ".tsr") continue;
    SourceModule* module = program.session().load_library("tessera." + entry.path().stem().string());
    REQUIRE(module);
    for (const auto& [name, binding] : module->scope->names_here()) {
      bool is_kernel = binding.value.is(DatumKind::Function) &&
                       binding.value.as_function().kind == FunctionKind::Kernel;
      if (!is_kernel) continue;
      INFO(name);
      CHECK(exported.count(name) == 1);
      ++kernels;
    }
  }
  CHECK(kernels >= 10);
}

TEST_CASE("What a module lacks is reported where it is named") {
  CHECK(tags_of("from tessera.nn import gellu\n") == "unknown-member@1:24");
  CHECK(tags_of("from tessera.nothing import x\n") == "unknown-module@1:6");
  CHECK(tags_of("import nowhere\n") == "unknown-module@1:8");
  Program program("const X = ops.sqrd(4)\n");
  program.value("X");
  CHECK(program.tags() == "unknown-member@1:15");
  CHECK(program.messages().find("did you mean 'sqrt'?") != std::string::npos);
}

TEST_CASE("The message says why a module cannot be read") {
  Program program("import nowhere\n");
  CHECK(program.messages().find("note: tried 'nowhere.tsr': no such file") != std::string::npos);
  std::filesystem::path folder = std::filesystem::temp_directory_path() / "tessera_names_test";
  std::filesystem::create_directories(folder / "closed.tsr");
  Fixture closed, absent;
  std::string refusal = closed.compile("import closed\n", (folder / "main.tsr").string());
  CHECK(refusal.find("closed.tsr': it is a directory [cannot-read]") != std::string::npos);
  std::string message = absent.compile("import absent\n", (folder / "main.tsr").string());
  CHECK(message.find("[unknown-module]") != std::string::npos);
  CHECK(message.find("tried") == std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST_CASE("Files import each other's names") {
  Files files = {{"sizes.tsr", "const D = 4\nconst H = D * 3\n"},
                 {"deep/more.tsr", "from base import K\nconst L = K + 1\n"},
                 {"deep/base.tsr", "const K = 7\n"}};
  Program program(
      "from sizes import H as width, D\nimport sizes\nimport deep.more\n"
      "const A = width + D + sizes.H\nconst B = deep.more.L\n",
      files);
  CHECK(program.value("A") == "28");
  CHECK(program.value("B") == "8");
  CHECK(program.messages() == "");
}

TEST_CASE("Imports below one name add to it") {
  Files files = {{"a.tsr", "const OWN = 5\n"}, {"a/e.tsr", "const E = 3\n"},
                 {"a/b/c.tsr", "const C = 1\n"}, {"a/b/d.tsr", "const D = 2\n"}};
  const std::string used = "const X = a.b.c.C * 1000 + a.b.d.D * 100 + a.e.E * 10 + a.OWN\n";
  for (std::string imports : {"import a.b.c\nimport a.b.d\nimport a.e\nimport a\n",
                              "import a\nimport a.e\nimport a.b.d, a.b.c\n"}) {
    Program program(imports + used, files);
    CHECK(program.value("X") == "1235");
    CHECK(program.messages() == "");
  }
  Program library("import tessera.nn\nimport tessera.norms\nconst X = tessera.nn.gelu\nconst Y = tessera.exp(0)\n");
  CHECK(library.value("X") == "gelu");
  CHECK(library.value("Y") == "1.0");
  CHECK(library.messages() == "");
  CHECK(tags_of("const a = 4\nimport a.e\n", files) == "duplicate-name@2:8");
  CHECK(tags_of("import a.e\nconst a = 4\n", files) == "duplicate-name@2:7");
  CHECK(tags_of("import a\nimport a\n", files) == "duplicate-name@2:8");
  CHECK(tags_of("import a.nothing\nimport a.e\nconst X = a.e.E\n", files) == "unknown-module@1:8");
  CHECK(Program("import tessera.ops\n").messages().find("which needs no import") != std::string::npos);
}

TEST_CASE("'from' gives what the dot gives, of modules of the language and of files") {
  Files files = {{"parts.tsr", "from tessera import nn as layers, tile\nimport deep.more as more\nconst m = more\n"},
                 {"deep/more.tsr", "from base import K\n"},
                 {"deep/base.tsr", "const K = 7\n"}};
  Program program(
      "from tessera import nn, ops as o, exp as e, tile as tl\nfrom tessera.tile import load as fetch\n"
      "from parts import layers, tile, more, m\n"
      "const A = nn.gelu\nconst B = o.exp(0) + e(0)\nconst C = layers.silu\nconst D = more.K + m.K\n"
      "const E = tl.load\nconst F = fetch\nconst G = tile.load\nconst H = tessera.tile.load\n",
      files);
  CHECK(program.value("A") == "gelu");
  CHECK(program.value("B") == "2.0");
  CHECK(program.value("C") == "silu");
  CHECK(program.value("D") == "14");
  for (const char* name : {"E", "F", "G", "H"}) CHECK(program.value(name) == "load");
  CHECK(program.messages() == "");
  CHECK(tags_of("from tessera import nm\n") == "unknown-member@1:21");
  CHECK(tags_of("from tessera.ops import tile\n") == "unknown-member@1:25");
  CHECK(tags_of("import tessera.tile as t\n") == "language-import@1:8");
}

TEST_CASE("An import that leads nowhere is one error, wherever its names are used") {
  Files files = {{"a.tsr", "from b import lost\nimport nowhere.at_all\n"}, {"b.tsr", ""}};
  Program program("from a import lost as found\nimport a\nimport missing as exp\nconst X = found + a.lost\n"
                  "const Y = a.nowhere.at_all.z\nconst Z = exp(0)\n", files);
  for (const char* name : {"X", "Y", "Z"}) CHECK(program.value(name) == "?");
  CHECK(program.tags() == "unknown-module@2:8 unknown-member@1:15 unknown-module@3:8");
}

TEST_CASE("A file may not import itself, however long the cycle") {
  Files files = {{"a.tsr", "from b import B\nconst A = B\n"},
                 {"b.tsr", "import c\nconst B = 1\n"},
                 {"c.tsr", "from a import A\n"}};
  Program program("from a import A\nconst X = A\n", files);
  CHECK(program.value("X") == "1");
  CHECK(program.tags() == "import-cycle@1:6");
  std::string messages = program.messages();
  CHECK(messages.find("c.tsr:1:6: error: file 'a.tsr' imports itself") != std::string::npos);
  CHECK(messages.find("a.tsr:1:6: note: 'b.tsr' is imported here") != std::string::npos);
  CHECK(messages.find("b.tsr:1:8: note: 'c.tsr' is imported here") != std::string::npos);
}

TEST_CASE("A chain of files is bounded") {
  Files files;
  for (int i = 0; i < 5000; ++i) {
    files[fmt::format("m{}.tsr", i)] = fmt::format("import m{}\n", i + 1);
  }
  CHECK(tags_of("import m0\n", files) == "unsupported-include-depth@1:8");
}

TEST_CASE("Decorators") {
  CHECK(tags_of("@jit\ndef f(x):\n    return x\n") == "");
  CHECK(tags_of("@tessera.jit\ndef f(x):\n    return x\n") == "");
  CHECK(tags_of("@jitt\ndef f(x):\n    return x\n") == "unknown-decorator@1:1");
}

TEST_CASE("Tensors are computed in functions") {
  Program program("const Z = zeros((3,), f32)\n");
  CHECK(program.value("Z") == "?");
  CHECK(program.tags() == "misplaced-statement@1:11");
}
