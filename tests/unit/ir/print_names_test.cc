// Names that values keep from one print to the next, and the op of each line.

#include <algorithm>
#include <catch2/catch.hpp>

#include "unit/ir/text_fixture.h"

using namespace tessera;

namespace {

struct NamesFixture : TextFixture {
  std::unique_ptr<Module> module;

  Op* read() {
    std::string text = entry_module("%x: tensor<4, f32>",
                                    "%0: tensor<4, f32> = gir.neg %x loc(\"a.tsr\":1:2)\n"
                                    "%1: tensor<4, f32> = gir.exp %x loc(\"a.tsr\":3:4)\n"
                                    "%2: tensor<4, f32> = gir.abs %1 loc(\"b.tsr\":5:6)\n"
                                    "gir.return [%2]\n",
                                    1);
    auto modules = parse_modules(context, sources.add("test.tir", text), diagnostics);
    INFO(render_all(diagnostics, {}));
    REQUIRE(modules);
    module = std::move(modules->front());
    return module->body()->front();
  }
};

}  // namespace

TEST_CASE_METHOD(NamesFixture, "A value keeps its number after one before it is gone") {
  Op* function = read();
  PrintNames names;
  std::string before = print(function, {.locations = false, .names = &names});
  CHECK(before == print(function, {.locations = false}));
  function->region()->front()->front()->erase();
  std::string after = print(function, {.locations = false, .names = &names});
  CHECK(after.find("%2: tensor<4, f32> = gir.abs %1") != std::string::npos);
  CHECK(after.find("gir.neg") == std::string::npos);
  CHECK(print(function, {.locations = false}).find("%1: tensor<4, f32> = gir.abs %0") != std::string::npos);
}

TEST_CASE_METHOD(NamesFixture, "Each line has its op") {
  Op* function = read();
  std::vector<Op*> lines;
  std::string text = print(function, {.locations = false, .lines = &lines});
  REQUIRE(lines.size() == size_t(std::count(text.begin(), text.end(), '\n')));
  REQUIRE(lines.size() == 6);
  CHECK(lines[1]->loc().line == 1);
  CHECK(lines[2]->loc().column == 4);
  CHECK(sources.file(lines[3]->loc().file).name() == "b.tsr");
  CHECK(sources.file(lines[4]->loc().file).name() == "test.tir");  // an op without a place has that of its text
}
