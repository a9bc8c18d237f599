// docs/language.md: each of its blocks compiles, or is refused for the reason it states.

#include <catch2/catch.hpp>

#include "unit/frontend/fixture.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

std::vector<std::string> blocks(const std::string& text) {
  std::vector<std::string> found;
  const std::string open = "```python\n", close = "```\n";
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    at += open.size();
    size_t end = text.find(close, at);
    found.push_back(text.substr(at, end - at));
    at = end + close.size();
  }
  return found;
}

}  // namespace

TEST_CASE("each block of docs/language.md is what it says") {
  std::string text, error;
  REQUIRE(read_file(TESSERA_SOURCE_DIR "/docs/language.md", text, error));
  std::vector<std::string> all = blocks(text);
  CHECK(all.size() >= 11);
  for (const std::string& block : all) {
    const std::string marker = "# error: ";
    std::string tag;
    if (block.starts_with(marker))
      tag = block.substr(marker.size(), block.find('\n') - marker.size());
    Fixture fixture;
    INFO(block << fixture.compile(block));
    CHECK(fixture.diagnostics.all().size() == (tag.empty() ? 0 : 1));
    if (tag.empty()) {
      CHECK(fixture.result.graph);
    } else {
      CHECK(diag_tag(fixture.diagnostics.all().at(0).id) == tag);
    }
  }
}

TEST_CASE("docs/language.md names every function") {
  std::string text, error;
  REQUIRE(read_file(TESSERA_SOURCE_DIR "/docs/language.md", text, error));
  for (const Builtin& builtin : common_builtins()) {
    INFO(builtin.name);
    CHECK(text.find(builtin.name) != std::string::npos);
  }
}
