#include "lsp/protocol/positions.h"

#include <catch2/catch.hpp>
#include <random>

#include "lsp/protocol/text_edit.h"

using namespace tessera::lsp;

TEST_CASE("positions count UTF-8 or UTF-16 units") {
  std::string text = "a\xC3\xA9\xF0\x9D\x84\x9Ez\n\nlast";  // a é 𝄞 z
  LineIndex lines(text);
  CHECK(lines.position(text, 7, Encoding::Utf8).character == 7);
  CHECK(lines.position(text, 7, Encoding::Utf16).character == 4);
  CHECK(lines.offset(text, {0, 4}, Encoding::Utf16) == 7);
  CHECK(lines.offset(text, {0, 3}, Encoding::Utf16) == 3);  // inside the pair: its start
  CHECK(lines.offset(text, {0, 2}, Encoding::Utf8) == 1);   // inside é
  CHECK(lines.position(text, 10, Encoding::Utf16).line == 2);
}

TEST_CASE("positions outside of the text mean its nearest end") {
  std::string text = "ab\r\ncd\re\n";
  LineIndex lines(text);
  CHECK(lines.line_count() == 4);
  CHECK(lines.offset(text, {0, 99}, Encoding::Utf16) == 2);
  CHECK(lines.offset(text, {1, 99}, Encoding::Utf16) == 6);
  CHECK(lines.offset(text, {99, 0}, Encoding::Utf16) == text.size());
  CHECK(lines.offset(text, {UINT32_MAX, UINT32_MAX}, Encoding::Utf8) == text.size());
  CHECK(lines.position(text, 1000, Encoding::Utf8).line == 3);
}

TEST_CASE("every offset of a text comes back from its position") {
  std::string text = "x = 1\r\n# \xE2\x82\xAC \xF0\x9F\x98\x80 y\n\n\ttab\rcarriage";
  LineIndex lines(text);
  for (Encoding encoding : {Encoding::Utf8, Encoding::Utf16}) {
    for (uint32_t offset = 0; offset <= text.size(); ++offset) {
      bool inside = offset < text.size() && (uint8_t(text[offset]) & 0xC0) == 0x80;
      bool in_line_end = offset > 0 && offset < text.size() && text[offset - 1] == '\r' && text[offset] == '\n';
      if (inside || in_line_end) continue;
      CHECK(lines.offset(text, lines.position(text, offset, encoding), encoding) == offset);
    }
  }
}

TEST_CASE("places along a long line are those that are counted from its start") {
  std::string piece = "ab\xC3\xA9 \xF0\x9F\x98\x80\xFFz\xC3";
  std::string text = "short\n";
  for (int i = 0; i < 60; ++i) text += piece;
  text += "\r\nbetween\r";
  for (int i = 0; i < 40; ++i) text += piece;
  LineIndex lines(text);
  REQUIRE(lines.line_count() == 4);
  for (Encoding encoding : {Encoding::Utf8, Encoding::Utf16}) {
    for (uint32_t line = 0; line < 4; ++line) {
      uint32_t at = lines.line_start(line), count = 0;
      while (at < text.size() && text[at] != '\n' && text[at] != '\r') {
        CHECK(lines.position(text, at, encoding).line == line);
        CHECK(lines.position(text, at, encoding).character == count);
        CHECK(lines.offset(text, {line, count}, encoding) == at);
        auto lead = uint8_t(text[at]);
        bool follows = at + 1 < text.size() && (uint8_t(text[at + 1]) & 0xC0) == 0x80;
        uint32_t bytes = lead >= 0xF0 && follows ? 4 : lead >= 0xC0 && follows ? 2 : 1;
        at += bytes;
        count += encoding == Encoding::Utf8 ? bytes : bytes == 4 ? 2 : 1;
      }
      CHECK(lines.offset(text, {line, count + 100}, encoding) == at);
    }
  }
}

TEST_CASE("edits in one message do what they do one by one") {
  std::mt19937 random(5);
  auto below = [&](uint32_t n) { return uint32_t(random() % n); };
  const char* const added[] = {"", "x", "\n", "\r", "\r\n", "two\nlines", "\xF0\x9F\x98\x80"};
  for (int round = 0; round < 500; ++round) {
    std::string text = "a\r\nbc\rd\n\n\xC3\xA9\xF0\x9F\x98\x80 e\nlast";
    std::vector<TextEdit> edits;
    for (uint32_t line = 8; line > 0; line -= std::min(line, below(3))) {
      Position from{line, below(4)}, to{line + below(2), below(4)};
      edits.push_back({std::pair(from, to), added[below(std::size(added))]});
      if (below(6) == 0) edits.push_back({std::pair(Position{below(9), below(4)}, Position{below(9), below(4)}), "?"});
    }
    std::string one_by_one = text;
    for (const TextEdit& edit : edits) apply(one_by_one, {edit}, Encoding::Utf16);
    apply(text, edits, Encoding::Utf16);
    CHECK(text == one_by_one);
  }
}
