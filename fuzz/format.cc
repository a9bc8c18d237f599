// Any bytes through the formatter. Formatted text has the same meaning and does not change when
// formatted again; the formatter never rejects its own output; and a range of lines can be
// formatted wherever all lines can.

#include <cstdint>
#include <string>

#include "frontend/format/format.h"
#include "support/check.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  formatter::FormatResult once = formatter::format(text);
  TSR_CHECK(!once.is_bug, "the formatted text is not the same program");
  if (once.outcome != formatter::Outcome::Formatted) return 0;
  formatter::FormatResult twice = formatter::format(once.text);
  TSR_CHECK(twice.outcome == formatter::Outcome::Formatted, "the formatted text is refused");
  TSR_CHECK(twice.text == once.text, "formatting again changes the text");
  TSR_CHECK(twice.edits.empty(), "edits that change nothing");
  uint32_t first = uint32_t(size % 7) + 1;
  formatter::FormatResult part = formatter::format(text, {.lines = {{first, first + 2}}});
  TSR_CHECK(part.outcome == formatter::Outcome::Formatted, "a range of lines is refused");
  return 0;
}
