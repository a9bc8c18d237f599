#pragma once
// Object-like macros: %define NAME tokens.

#include <map>
#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"
#include "frontend/syntax/directive.h"
#include "support/diagnostic.h"

namespace tessera {

class MacroTable {
 public:
  MacroTable(TokenBuffer& buffer, DiagnosticEngine& diagnostics)
      : buffer_(buffer), diagnostics_(diagnostics) {}

  /// Obeys a %define. The same body twice is fine, another body is reported.
  void define(const Directive& directive);
  bool defines(const Token& token) const { return macros_.contains(buffer_.text(token)); }
  /// Appends what the use of a macro stands for; after a limit is hit (reported once), an Error.
  void expand(const Token& use, std::vector<Token>& out);
  /// Those that a file defines and nothing uses.
  std::vector<ast::Identifier> unused(FileId file) const;

 private:
  struct Macro {
    Loc loc;
    std::vector<Token> body;
    bool busy = false;
    bool is_used = false;
  };
  bool same_body(const Macro& a, const Macro& b) const;
  bool check_body(const Directive& directive, std::string_view name);
  bool expand_into(Macro& macro, std::vector<Token>& out, size_t depth);

  TokenBuffer& buffer_;
  DiagnosticEngine& diagnostics_;
  std::map<std::string_view, Macro> macros_;
  size_t work_ = 0;
  bool reported_ = false;
};

}  // namespace tessera
