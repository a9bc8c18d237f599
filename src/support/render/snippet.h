#pragma once
// One line of a source as shown below a diagnostic: with a gutter, and marks with texts under
// spans.

#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"

namespace tessera {

/// The meaning of a mark on its span; where two overlap the earlier kind is drawn.
enum class MarkKind : uint8_t { Primary, Secondary, Replaced, Inserted };

/// A span of a line in bytes, the column counted from 1. One that begins after the line's end marks that.
struct Mark {
  uint32_t column = 1;
  uint32_t length = 1;
  MarkKind kind = MarkKind::Primary;
  std::string text;  ///< said beside the mark; may be empty
};

/// The escape sequences of a rendering, empty where there are no colours.
struct Palette {
  std::string_view error, warning, note, help, bold, gutter, secondary, off;
};
const Palette& palette(const RenderOptions& options);

/// Appends a line with its marks; `primary` is the colour of primary ones. A line that is wider than the terminal is
/// cut around its marks, the primary one first.
void append_line(std::string& out, uint32_t number, std::string_view line, std::vector<Mark> marks,
                 const RenderOptions& options, std::string_view primary = {});
/// Appends a line that stands for those left out between two.
void append_gap(std::string& out, const RenderOptions& options);

}  // namespace tessera
