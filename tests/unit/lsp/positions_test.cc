#include "lsp/positions.h"

#include <catch2/catch.hpp>

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
