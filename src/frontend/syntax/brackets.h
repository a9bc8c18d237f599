#pragma once
// The one scanner of brackets: how many are open behind a token, what a reader notes of each, and which of a file do
// not match.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/syntax/token.h"
#include "support/diagnostic.h"

namespace tessera {

/// A recursive parser overflows its stack without such a limit.
inline constexpr size_t max_bracket_depth = 200;

/// What a token does to the brackets that are open before it.
enum class BracketStep : uint8_t {
  None,
  Opens,
  Closes,    ///< the innermost; of what kind that is does not matter, so that a text with errors has a depth, too
  Unopened,  ///< a closing bracket where none is open; it counts for nothing
};

/// Counts open brackets, token by token.
class BracketDepth {
 public:
  BracketStep take(TokenKind kind) {
    if (is_opening(kind)) return ++depth_, BracketStep::Opens;
    if (!is_closing(kind)) return BracketStep::None;
    if (depth_ == 0) return BracketStep::Unopened;
    return --depth_, BracketStep::Closes;
  }
  size_t depth() const { return depth_; }
  bool is_inside() const { return depth_ > 0; }
  /// Takes open brackets as closed.
  void clear() { depth_ = 0; }

 private:
  size_t depth_ = 0;
};

/// Follows open brackets, with a note for each.
template <typename Note>
class OpenBrackets {
 public:
  /// An opening bracket gets an empty note, the innermost.
  BracketStep take(TokenKind kind) {
    BracketStep step = depth_.take(kind);
    if (step == BracketStep::Opens) open_.emplace_back();
    if (step == BracketStep::Closes) {
      closed_ = std::move(open_.back());
      open_.pop_back();
    }
    return step;
  }
  bool is_inside() const { return depth_.is_inside(); }
  /// Of the innermost bracket, of which there is one.
  Note& innermost() { return open_.back(); }
  /// Of the bracket that was closed last.
  const Note& closed() const { return closed_; }
  /// Of those that are open, the innermost last.
  const std::vector<Note>& all() const { return open_; }
  void clear() {
    depth_.clear();
    open_.clear();
  }

 private:
  BracketDepth depth_;
  std::vector<Note> open_;
  Note closed_{};
};

/// Follows the brackets of the logical lines of a file and reports what does not match, once a
/// line: after the first error the rest of the line is unfit for parsing.
class BracketTracker {
 public:
  BracketTracker(const TokenBuffer& buffer, DiagnosticEngine& diagnostics)
      : buffer_(buffer), diagnostics_(diagnostics) {}

  size_t depth() const { return open_.size(); }
  /// The innermost bracket, of which there is one.
  Loc innermost() const { return open_.back().loc; }
  /// The line has a reported error.
  bool spoilt() const { return spoilt_; }
  void spoil() { spoilt_ = true; }
  /// The last token is a ':' in a bracket of the head of a block, where the line may have ended.
  bool may_end_head() const { return !spoilt_ && !open_.empty() && is_head_ && last_kind_ == TokenKind::Colon; }
  /// Takes the next token of a line; false when it is the first error of the line.
  bool accept(const Token& token);
  /// At the start of a physical line inside brackets: a word that only begins a statement, or, no
  /// deeper than the statement itself, an operand right after another. A bracket was forgotten and
  /// the line has ended before.
  bool gives_up_at(TokenKind kind, TokenKind before, bool is_deeper) const;
  /// Ends a line, reporting what is still open behind its last token; false when this is its first
  /// error.
  bool end_line();

 private:
  struct Open {
    TokenKind kind;
    Loc loc;
    uint32_t content = 0;  ///< the column of what stands first in it
    size_t conditions = 0;  ///< `if` whose `else` is to come
    Loc end = {};  ///< where the bracket was to close by what stands behind that; unknown: nothing says so
  };
  void report_unclosed();
  bool accept_closing(const Token& token);
  bool refuse_block(const Token& token);
  bool refuse_count(const Token& token);
  void follow_layout(const Token& token, Loc loc);
  void find_end(const Token& token);

  const TokenBuffer& buffer_;
  DiagnosticEngine& diagnostics_;
  std::vector<Open> open_;
  size_t ended_ = 0;  ///< of these, the outermost, which all have an end
  std::optional<Open> closed_late_;  ///< a bracket with a known end that a later one closed
  Loc first_, last_;  ///< of the first and the last token of the line
  TokenKind first_kind_ = TokenKind::Newline, last_kind_ = TokenKind::Newline;
  Loc before_last_;       ///< behind the token before the last
  bool is_head_ = false;  ///< the line is one that a block follows
  size_t blocks_ = 0;  ///< opened by '{', whose '}' are to come
  bool spoilt_ = false;
};

}  // namespace tessera
