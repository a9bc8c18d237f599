// docs/layouts.md: its texts are read and print as they stand, and its drawings and numbers are
// right.

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "ir/layout/text.h"
#include "ir/layout/wgmma_descriptor.h"

using namespace tessera::layout;

namespace {

std::string page() {
  std::ifstream in(TESSERA_SOURCE_DIR "/docs/layouts.md");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What stands between `open` and the next `close`, wherever `open` stands.
std::vector<std::string> between(const std::string& text, const std::string& open,
                                 const std::string& close) {
  std::vector<std::string> found;
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    size_t begin = at + open.size(), end = text.find(close, begin);
    found.push_back(text.substr(begin, end - begin));
    at = end + close.size();
  }
  return found;
}

}  // namespace

TEST_CASE("the texts of docs/layouts.md print as they stand") {
  std::vector<std::string> texts = between(page(), "`#", "`");
  CHECK(texts.size() >= 10);
  for (const std::string& rest : texts) {
    std::string text = "#" + rest;
    INFO(text);
    std::optional<Layout> layout = parse_layout(text);
    std::optional<SharedLayout> shared = parse_shared_layout(text);
    REQUIRE((layout || shared));
    CHECK((layout ? print(*layout) : print(*shared)) == text);
  }
}

TEST_CASE("the drawings of docs/layouts.md are right") {
  std::vector<std::string> drawings = between(page(), "```\n#", "```\n");
  CHECK(drawings.size() == 2);
  for (const std::string& rest : drawings) {
    std::string drawing = "#" + rest;
    INFO(drawing);
    std::optional<Layout> layout = parse_layout(drawing.substr(0, layout_text_length(drawing)));
    REQUIRE(layout);
    CHECK(draw(*layout).starts_with(drawing));
  }
}

TEST_CASE("the operands of docs/layouts.md are where it says") {
  SharedLayout k_major = *parse_shared_layout("#shared<128 x 64, bytes = 2, swizzle = 128>");
  SharedLayout mn_major = *parse_shared_layout("#shared<64 x 128, bytes = 2, swizzle = 128>");
  CHECK(wgmma_operand(k_major, 1)->stride_bytes == 1024);
  CHECK(wgmma_start(k_major, 1, 0, 16) == 32);
  CHECK(wgmma_operand(mn_major, 0)->leading_bytes == 8192);
  CHECK(wgmma_operand(mn_major, 0)->stride_bytes == 1024);
  CHECK(wgmma_start(mn_major, 0, 0, 16) == 2048);
}
