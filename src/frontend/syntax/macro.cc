#include "frontend/syntax/macro.h"

#include <algorithm>

#include "frontend/syntax/preprocessor.h"
#include "support/diagnostic_rows.h"

namespace tessera {

/// A body's brackets match (the directive reader saw to it) and every token in it is sound.
bool MacroTable::check_body(const Directive& directive, std::string_view name) {
  const RawToken& first = directive.tokens[1];
  Token name_token{first.kind, directive.file, first.offset, first.length, 0};
  if (directive.tokens.size() > 2 && directive.tokens[2].kind == TokenKind::Lparen &&
      directive.tokens[2].offset == first.offset + first.length) {
    diagnostics_.report(diag::macro_has_parameters, buffer_.loc(name_token), name)
        .help("put a space before the '(' if it belongs to the body");
    return false;
  }
  return true;
}

bool MacroTable::same_body(const Macro& a, const Macro& b) const {
  return std::equal(a.body.begin(), a.body.end(), b.body.begin(), b.body.end(),
                    [&](const Token& x, const Token& y) {
                      return x.kind == y.kind && buffer_.text(x) == buffer_.text(y);
                    });
}

void MacroTable::define(const Directive& directive) {
  if (directive.broken) return;
  if (directive.tokens.size() < 2 || directive.tokens[1].kind != TokenKind::Name) {
    diagnostics_.report(diag::expected_in_directive, directive.loc, "a name", directive.name);
    return;
  }
  const RawToken& first = directive.tokens[1];
  Token name_token{first.kind, directive.file, first.offset, first.length, 0};
  std::string_view name = buffer_.text(name_token);
  if (!check_body(directive, name)) return;
  Macro macro{buffer_.loc(name_token), {}};
  for (size_t i = 2; i < directive.tokens.size(); ++i) {
    const RawToken& token = directive.tokens[i];
    macro.body.push_back({token.kind, directive.file, token.offset, token.length, 0});
  }
  auto [known, is_new] = macros_.try_emplace(name, macro);
  if (is_new || same_body(known->second, macro)) return;
  diagnostics_.report(diag::macro_redefined, macro.loc, name)
      .label(known->second.loc, "first defined here");
}

bool MacroTable::expand_into(Macro& macro, std::vector<Token>& out, size_t depth) {
  if (depth > max_macro_depth) return false;
  macro.busy = true;
  macro.is_used = true;
  bool good = true;
  TokenKind before = TokenKind::EndOfFile;
  for (const Token& token : macro.body) {
    if (++work_ > max_macro_work) good = false;
    if (!good) break;
    auto inner = macros_.end();
    if (token.kind == TokenKind::Name && before != TokenKind::Dot) {
      inner = macros_.find(buffer_.text(token));
    }
    before = token.kind;
    if (inner != macros_.end() && !inner->second.busy) {
      good = expand_into(inner->second, out, depth + 1);
    } else {
      out.push_back(token);
    }
  }
  macro.busy = false;
  return good;
}

void MacroTable::expand(const Token& use, std::vector<Token>& out) {
  std::string_view name = buffer_.text(use);
  Macro& macro = macros_.find(name)->second;
  size_t first = out.size();
  bool good = ++work_ <= max_macro_work && expand_into(macro, out, 1);
  if (!good) {
    out.resize(first);
    out.push_back(use);
    out.back().kind = TokenKind::Error;
    if (reported_) return;
    reported_ = true;
    diagnostics_.report(
        diag::unsupported_macro_expansion, buffer_.loc(use), name,
        fmt::format("{} nested macros or {} tokens", max_macro_depth, max_macro_work));
    return;
  }
  uint32_t expansion = buffer_.add_expansion({use.file, use.offset, use.length, macro.loc});
  for (size_t i = first; i < out.size(); ++i) out[i].expansion = expansion;
}

std::vector<ast::Identifier> MacroTable::unused(FileId file) const {
  std::vector<ast::Identifier> list;
  for (const auto& [name, macro] : macros_) {
    if (!macro.is_used && macro.loc.file == file) list.push_back({name, macro.loc});
  }
  return list;
}

}  // namespace tessera
