// Layouts as text: round trips, the names that families have, and what no layout is.

#include "ir/layout/text.h"

#include <catch2/catch.hpp>

#include "unit/layout/samples.h"

using namespace tessera::layout;

namespace {

std::string refusal(const std::string& text) {
  TextError error;
  return parse_layout(text, &error) ? "" : error.message;
}

std::string shared_refusal(const std::string& text) {
  TextError error;
  return parse_shared_layout(text, &error) ? "" : error.message;
}

/// What a text that is read prints as.
std::string again(const std::string& text) {
  TextError error;
  std::optional<Layout> layout = parse_layout(text, &error);
  return layout ? print(*layout) : error.message;
}

}  // namespace

TEST_CASE("layouts survive being printed and read") {
  for (const Layout& layout : samples::all(800)) {
    std::string text = print(layout);
    INFO(text);
    TextError error;
    std::optional<Layout> read = parse_layout(text, &error);
    INFO(error.message);
    REQUIRE(read);
    CHECK(*read == layout);
    CHECK(layout_text_length(text + " x") == text.size());
  }
}

TEST_CASE("families print by name") {
  for (const char* text : {"#wgmma<acc, 128 x 256, warps = 8>",
                           "#wgmma<acc, 64 x 176, warps = 4>",
                           "#wgmma<acc, 384 x 24, warps = 12>",
                           "#wgmma<rows, 128, warps = 8>",
                           "#wgmma<rows, 128 x 1, warps = 4>",
                           "#wgmma<a, 64 x 64, warps = 4, bits = 8>",
                           "#wgmma<a, 64 x 64, warps = 4, bits = 32>",
                           "#mma<acc, 128 x 96, warps = 2 x 3>",
                           "#mma<a, 64 x 32, warps = 2 x 2>",
                           "#mma<b, 32 x 64, warps = 2 x 2>",
                           "#amx<acc, 32 x 32>",
                           "#amx<a, 32 x 64>",
                           "#amx<b, 64 x 32>",
                           "#amx<a, 16 x 64, bits = 8>",
                           "#amx<b, 64 x 16, bits = 8>",
                           "#blocked<128 x 64, vector = 8, warps = 4>",
                           "#blocked<128 x 64, vector = 8, warps = 4, order = [0, 1]>",
                           "#blocked<6 x 176, vector = 8, lanes = 16, warps = 3>",
                           "#blocked<1000, vector = 4, warps = 8>",
                           "#blocked<4 x 6 x 8, vector = 2, warps = 2, order = [1, 2, 0]>",
                           "#layout<scalar>",
                           "#layout<16 x 44, register = [[0, 1], [8, 0]], lane = [[0, 2], [1, 0], "
                           "[2, 0], [4, 0]], warp = [[0, 0]], "
                           "repeats = [register 1 11 by 4, warp none 3]>"}) {
    CHECK(again(text) == text);
  }
  CHECK(again("#wgmma<a, 64 x 64, warps = 4>") == "#wgmma<acc, 64 x 64, warps = 4>");
  CHECK(again("  #blocked< 64x32 ,vector=8,lanes=32,warps=4,order=[1,0] > ") ==
        "#blocked<64 x 32, vector = 8, warps = 4>");
}

TEST_CASE("shared layouts survive being printed and read") {
  for (const char* text :
       {"#shared<128 x 64, bytes = 2, swizzle = 128>", "#shared<128 x 64, bytes = 4, pad = 16>",
        "#shared<128 x 64, bytes = 2, swizzle = 64, order = [0, 1]>", "#shared<64, bytes = 1>",
        "#shared<64 x 48, bytes = 2, panel = 16>",
        "#shared<2 x 3 x 5, bytes = 8, order = [1, 0, 2]>"}) {
    TextError error;
    std::optional<SharedLayout> layout = parse_shared_layout(text, &error);
    INFO(error.message);
    REQUIRE(layout);
    CHECK(print(*layout) == text);
    CHECK(*parse_shared_layout(print(*layout)) == *layout);
  }
  CHECK(shared_refusal("#shared<128 x 64>") == "expected ', bytes ='");
  CHECK(shared_refusal("#shared<128 x 64, bytes = 3>") == "bytes must be a power of two, not 3");
  CHECK(shared_refusal("#shared<128 x 64, bytes = 2, swizzle = 48>") ==
        "a swizzle is 32, 64 or 128 bytes wide");
  CHECK(shared_refusal("#shared<128 x 64, bytes = 2, swizzle = 64, pad = 2>") ==
        "swizzle, pad and panel exclude each other");
  CHECK(shared_refusal("#shared<128, bytes = 2, panel = 16>") ==
        "panels have two axes in their own order");
  CHECK(shared_refusal("#shared<scalar, bytes = 2>") == "the tile is too large, or has no axis or too many");
  CHECK(shared_refusal("#wgmma<acc, 64 x 8, warps = 4>") == "no family of layouts has this name");
}

TEST_CASE("what no layout is is refused with a reason") {
  CHECK(refusal("") == "expected '#'");
  CHECK(refusal("#") == "expected '<'");
  CHECK(refusal("#tile<64>") == "no family of layouts has this name");
  CHECK(refusal("#wgmma<acc, 64 x 8>") == "expected ', warps ='");
  CHECK(refusal("#wgmma<acc, 64 x 12, warps = 4>") == "columns must be a multiple of 8, not 12");
  CHECK(refusal("#wgmma<b, 64 x 8, warps = 4>") == "wgmma has the fragments acc, rows and a");
  CHECK(refusal("#wgmma<rows, 64 x 2, warps = 4>") == "a row reduction has one column, or none");
  CHECK(refusal("#wgmma<rows, 64 x 0, warps = 4>") == "a row reduction has one column, or none");
  CHECK(refusal("#mma<c, 64 x 8, warps = 4 x 1>") == "mma has the fragments acc, a and b");
  CHECK(refusal("#mma<acc, 64 x 8, warps = 4>") == "expected 'x'");
  CHECK(refusal("#amx<c, 16 x 16>") == "amx has the fragments acc, a and b");
  CHECK(refusal("#blocked<64, vector = 3, warps = 1>") == "a vector must be a power of two, not 3");
  CHECK(refusal("#blocked<64, vector = 1, warps = 1, order = []>") == "an order names no axis");
  CHECK(refusal("#blocked<64, vector = 1, warps = 1> x") == "expected the end of the layout");
  CHECK(refusal("#blocked<64, vector = 99999999999999999999, warps = 1>") ==
        "a number is larger than 16777216");
  CHECK(refusal("#blocked<-4, vector = 1, warps = 1>") == "expected a number");
  CHECK(refusal("#blocked<1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x 1, vector = 1, warps = 1>") ==
        "a layout has at most 8 axes");
  CHECK(refusal("#layout<1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x 1>") == "a layout has at most 8 axes");
  CHECK(refusal("#layout<4, register = [[1, 0]]>") == "a basis has another rank");
  CHECK(refusal("#layout<4, register = [[1]]>") == "bases and repeats give other extents");
  CHECK(refusal("#layout<2, register = [[1]], lane = [[1]]>") ==
        "lanes share a coordinate bit with another index");
  CHECK(refusal("#layout<2, repeats = [lane 0 2 by 1]>") == "a repeat is of register or of warp");
  CHECK(refusal("#layout<2, repeats = [warp 0 2 by 0]>") == "a repeat has no stride");
  CHECK(refusal("#layout<2, repeats = [warp any 2]>") == "expected 'none'");
  CHECK(refusal("#layout<2, repeats = []>") == "a repeat is of register or of warp");
  CHECK(layout_text_length("#layout<2") == 0);
  CHECK(layout_text_length("f32") == 0);
}

TEST_CASE("no text harms the reader") {
  std::mt19937 random(3);
  const std::string letters = "#<>[],=x 0123456789abcdeglmoprstuwy";
  std::vector<std::string> seeds;
  for (const Layout& layout : samples::all(100)) seeds.push_back(print(layout));
  int read = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string text = seeds[random() % seeds.size()];
    for (int edits = 1 + int(random() % 4); edits > 0; --edits) {
      size_t at = random() % (text.size() + 1);
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 4);
      else if (random() % 2 && at < text.size())
        text[at] = letters[random() % letters.size()];
      else
        text.insert(at, 1, letters[random() % letters.size()]);
    }
    TextError error;
    std::optional<Layout> layout = parse_layout(text, &error);
    CHECK(layout.has_value() == error.message.empty());
    CHECK(error.position <= text.size());
    if (layout) CHECK(*parse_layout(print(*layout)) == *layout);
    read += layout.has_value();
    parse_shared_layout(text);
  }
  CHECK(read > 50);
  std::string deep(1 << 20, '[');
  CHECK(!parse_layout("#layout<2, register = " + deep));
  CHECK(!parse_layout("#blocked<" + deep));
  std::string many = "#layout<1, register = [[0]";
  for (int i = 0; i < 100000; ++i) many += ", [0]";
  CHECK(refusal(many + "]>") == "expected ']'");
}

TEST_CASE("a drawing shows who stores each element") {
  std::string grid = draw(*wgmma_accumulator(64, 8, 4));
  CHECK(grid.find("\n 0  0:0:0  0:0:1  0:1:0  0:1:1  0:2:0  0:2:1  0:3:0  0:3:1\n") !=
        std::string::npos);
  CHECK(grid.find("\n63 3:28:2 3:28:3 3:29:2 3:29:3 3:30:2 3:30:3 3:31:2 3:31:3\n") !=
        std::string::npos);
  CHECK(draw(*blocked(std::vector<int32_t>{4}, 2, 4, 1)) ==
        "#blocked<4, vector = 2, lanes = 4, warps = 1>: 1 warps x 4 lanes x 2 registers\n"
        "each element is held 2 times; the owner that stores it is shown\n"
        "      0     1     2     3\n"
        "0 0:0:0 0:0:1 0:1:0 0:1:1\n");
  CHECK(draw(Layout()) == "#layout<scalar>: 1 warps x 1 lanes x 1 registers\n      0\n0 0:0:0\n");
}
