#pragma once
// A cursor over IR text: skips white space and `//` comments, takes tokens, knows its place.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "support/diagnostic.h"

namespace tessera {

class TextCursor {
 public:
  TextCursor(FileId file, const SourceFile& source, DiagnosticEngine& diagnostics)
      : file_(file), source_(source), text_(source.text()), diagnostics_(diagnostics) {}

  bool at_end();
  /// True if the next token starts with `token`; does not take it.
  bool peek(std::string_view token);
  bool take(std::string_view token);
  /// Takes `token` or reports that it was expected.
  bool expect(std::string_view token);
  /// [A-Za-z0-9_.$-]+ starting at the cursor, or empty.
  std::string_view word();
  /// A word after a sigil such as % or ^ or @, or nullopt when there is none.
  std::optional<std::string_view> sigil_word(char sigil);
  /// A type's text: a word, and what stands between < and its > when that follows.
  std::string_view type_text();
  /// The text between < and >, both taken.
  std::optional<std::string_view> angle_text();
  /// A quoted string with its escapes resolved.
  std::optional<std::string> quoted();
  std::optional<int64_t> integer();
  /// A number's text: sign, digits, point, exponent.
  std::string_view number_text();

  Loc loc();
  size_t position() const { return at_; }
  void rewind(size_t position) { at_ = position; }
  /// Reports an error at the cursor; only the first of a file counts.
  void error(const std::string& message);
  void error_at(Loc loc, const std::string& message);
  bool failed() const { return failed_; }

 private:
  void skip();
  FileId file_;
  const SourceFile& source_;
  std::string_view text_;
  DiagnosticEngine& diagnostics_;
  size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace tessera
