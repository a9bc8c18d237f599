#include "ir/core/common_attributes.h"
#include "passes/analysis/tile_halvings.h"

#include <catch2/catch.hpp>

using namespace tessera;

TEST_CASE("a module notes how often the tiles of a call are halved") {
  Context context;
  SourceManager sources;
  FileId file = sources.add("model.tsr", "a\nb\n");
  Loc first{file, 1, 1, 1}, second{file, 2, 1, 1};
  Module module(context, sources, "m", Level::Graph);
  CHECK(tile_halvings(module, first) == 0);
  CHECK(!with_more_halvings(module, {}));
  for (int64_t times = 1; times <= most_halvings; ++times) {
    Attr noted = with_more_halvings(module, {first, first});
    REQUIRE(noted);
    module.set_node(common::Module::halvings, noted);
    CHECK(tile_halvings(module, first) == times);
  }
  CHECK(tile_halvings(module, second) == 0);
  CHECK(!with_more_halvings(module, {first}));
  CHECK(with_more_halvings(module, {first, second}));
}
