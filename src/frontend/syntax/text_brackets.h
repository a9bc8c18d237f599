#pragma once
// Brackets, strings and comments of text that has no tokens yet, or none at hand.

#include <cstddef>
#include <functional>
#include <string_view>

#include "frontend/syntax/brackets.h"

namespace tessera {

/// Follows them from line to line.
class TextBrackets {
 public:
  /// Is given each byte that is in no string or comment, with how many brackets are open behind it;
  /// false ends the line.
  using Visit = std::function<bool(size_t at, size_t depth)>;

  /// Takes the next line, without its end.
  void read(std::string_view line, const Visit& visit = {});
  /// The next line goes on with this one.
  bool inside() const { return depth_.is_inside() || !quote_.empty() || continued_; }
  bool in_string() const { return !quote_.empty(); }
  /// Takes open brackets as closed.
  void forget() {
    depth_.clear();
    continued_ = false;
  }

 private:
  size_t skip_string(std::string_view line, size_t at);
  size_t skip_long(std::string_view line, size_t at);

  BracketDepth depth_;
  bool continued_ = false;
  std::string_view quote_;  ///< of the long string that goes on
};

}  // namespace tessera
