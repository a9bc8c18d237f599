#pragma once
// The one style of .tsr text.
//
// Four spaces a block, lines of 100 columns, one space around operators and behind commas, one
// empty line between functions and never two, one statement a line. The authors choose empty lines
// between statements, columns of `=` (a run of assignments keeps them in one column), and the rows
// of a list that ends with a comma. Comments, preprocessor lines and strings stay as they are
// written.
//
// The branches of %if are all formatted, whatever -D would say; one that does not parse by itself
// is left as it is. Files of %include are not read, and macros not expanded.
//
// Before a text is given out it is compared with the one it came from: the same trees for every
// branch, the same tokens and comments. Formatting formatted text changes nothing.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"

namespace tessera::formatter {

/// Lines of a file, counted from 1, the last one included.
struct LineRange {
  uint32_t first = 1, last = 1;
};

struct FormatOptions {
  std::string name = "<text>";  ///< what messages call the text
  /// Formats the statements that touch these lines alone. Where what is around them is indented otherwise, they stay in
  /// their columns.
  std::optional<LineRange> lines;
};

/// `count` lines from line `first` on (from 0) are replaced by `text`, which is empty or ends with
/// the end of a line. Lines end with \n; what counts them otherwise takes the bytes.
struct LineEdit {
  uint32_t first = 0, count = 0;
  std::string text;
  size_t begin = 0, end = 0;  ///< the bytes of these lines
};

enum class Outcome : uint8_t {
  Formatted,
  SyntaxErrors,  ///< `messages` say which
  Refused,       ///< `problem` says why: branches that do not fit together, or a bug of ours
};

/// Diagnostics with the text they are about.
struct Messages {
  SourceManager sources;
  DiagnosticEngine diagnostics{sources};
};

struct FormatResult {
  Outcome outcome = Outcome::Formatted;
  std::string text;
  std::vector<LineEdit>
      edits;  ///< what makes the text from the one before, in order; none: it is the same
  std::unique_ptr<Messages> messages;
  std::string problem;
  bool is_bug = false;  ///< of ours: the formatted text would have meant something else
};

/// Formats a text of any bytes.
FormatResult format(std::string_view text, const FormatOptions& options = {});

}  // namespace tessera::formatter
