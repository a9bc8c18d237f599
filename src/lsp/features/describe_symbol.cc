#include "lsp/features/describe_symbol.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/syntax/brackets.h"
#include "lsp/features/symbol_kinds.h"

namespace tessera::lsp {

namespace {

/// Text on one line: each run of white space, and what a comment says in between, is one space.
std::string one_line(const Piece& piece, Range range) {
  std::string out;
  for (const RawToken& token : piece.tokens) {
    if (token.offset < range.begin || token.offset >= range.end) continue;
    bool gap = is_trivia(token.kind);
    if (!gap) {
      out += piece.text(token);
    } else if (!out.empty() && out.back() != ' ' && out.back() != '(' && out.back() != '[') {
      out += ' ';
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  for (size_t at; (at = out.find(",)")) != std::string::npos;) out.erase(at, 1);
  return out;
}

/// From the end of the parameters of a def or module, whose name is at `begin`, to the colon of its body.
Range behind_parameters(const Piece& piece, uint32_t begin) {
  BracketDepth brackets;
  uint32_t end = uint32_t(piece.text().size()), behind = end;
  for (const RawToken& token : piece.tokens) {
    if (token.offset < begin || token.role != TokenRole::Code) continue;
    bool closes = brackets.take(token.kind) == BracketStep::Closes && !brackets.is_inside();
    if (closes && behind == end) behind = token.offset + token.length;
    if (token.kind == TokenKind::Colon && !brackets.is_inside()) return {std::min(behind, token.offset), token.offset};
  }
  return {behind, end};
}

std::span<const ast::Parameter> parameters_of(const Symbol& symbol) {
  const ast::Stmt* stmt = symbol.declared ? symbol.declared->stmt : nullptr;
  if (symbol.local && symbol.local->def) stmt = symbol.local->def;
  if (const auto* module = ast::as<ast::Module>(stmt)) return module->parameters;
  const auto* def = ast::as<ast::Def>(stmt);
  if (!def) return {};
  bool has_self = symbol.kind == SymbolKind::Method && !def->parameters.empty();
  return has_self ? def->parameters.subspan(1) : def->parameters;
}

std::string clean_comment(std::string_view line) {
  while (line.starts_with('#')) line.remove_prefix(1);
  if (line.starts_with(' ')) line.remove_prefix(1);
  return std::string(line);
}

/// The comment lines right above an offset.
std::string comment_above(std::string_view text, uint32_t offset) {
  std::vector<std::string> lines;
  size_t begin = text.rfind('\n', offset == 0 ? 0 : offset - 1);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  while (begin > 0) {
    size_t end = begin - 1;
    size_t start = end == 0 ? std::string_view::npos : text.rfind('\n', end - 1);
    start = start == std::string_view::npos ? 0 : start + 1;
    std::string_view line = text.substr(start, end - start);
    if (line.ends_with('\r')) line.remove_suffix(1);
    size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos || line[first] != '#') break;
    lines.push_back(clean_comment(line.substr(first)));
    begin = start;
  }
  std::reverse(lines.begin(), lines.end());
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (true) {
    size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == text.npos) return lines;
    text.remove_prefix(end + 1);
  }
}

/// Without the indentation that all lines but the first have in common, and without blanks around it.
std::string dedented(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  std::vector<std::string_view> lines = lines_of(text);
  size_t indent = text.npos;
  for (size_t i = 1; i < lines.size(); ++i) indent = std::min(indent, lines[i].find_first_not_of(blanks));
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    size_t drop = i == 0 ? lines[i].find_first_not_of(blanks) : indent;
    std::string_view line = lines[i].substr(std::min(drop, lines[i].size()));
    out += std::string(line.substr(0, line.find_last_not_of(blanks) + 1)) + "\n";
  }
  size_t first = out.find_first_not_of('\n');
  return first == out.npos ? "" : out.substr(first, out.find_last_not_of('\n') + 1 - first);
}

std::string docstring(ast::StmtList body) {
  const auto* first = body.empty() ? nullptr : ast::as<ast::ExprStmt>(body[0]);
  const auto* text = first ? ast::as<ast::String>(first->value) : nullptr;
  return text ? dedented(text->value) : "";
}

std::string code(const std::string& text) { return fmt::format("```tessera\n{}\n```", text); }

std::string describe_builtin(const frontend::Builtin& builtin) {
  const Specification& known = specification(builtin);
  std::string prefix = builtin.table == "ops" ? "" : "tile.";
  std::string out = code(prefix + signature_text(builtin));
  if (!known.meaning.empty()) out += "\n\n" + known.meaning;
  for (const auto& [name, fact] : known.facts) out += fmt::format("\n\n*{}*: {}", name, fact);
  return out;
}

}  // namespace

Signature signature_of(const Symbol& symbol) {
  Signature made;
  if (symbol.builtin) {
    made.label = signature_text(*symbol.builtin, &made.parameters);
    for (const frontend::BuiltinParameter& parameter : symbol.builtin->parameters) {
      made.names.push_back(parameter.name);
      if (parameter.kind == frontend::BuiltinParameterKind::Rest) made.rest_positional = true;
      bool by_place = !parameter.keyword_only && parameter.kind != frontend::BuiltinParameterKind::Keywords;
      made.positional += by_place ? 1 : 0;
    }
    return made;
  }
  if (!is_callable(symbol.kind) || !symbol.piece) return made;
  Range name{symbol.range.begin - symbol.piece->begin, symbol.range.end - symbol.piece->begin};
  std::span<const ast::Parameter> parameters = parameters_of(symbol);
  made.label = symbol.name + "(";
  bool keywords = false;
  for (const ast::Parameter& parameter : parameters) {
    if (!made.names.empty()) made.label += ", ";
    if (parameter.keyword_only && !keywords) made.label += "*, ";
    keywords = keywords || parameter.keyword_only;
    uint32_t begin = uint32_t(made.label.size());
    bool own = parameter.loc.file == symbol.piece->file;
    made.label += own ? one_line(*symbol.piece, symbol.piece->range(parameter.loc)) : std::string(parameter.name.text);
    made.parameters.emplace_back(begin, uint32_t(made.label.size()));
    made.names.emplace_back(parameter.name.text);
    made.positional += keywords ? 0 : 1;
  }
  made.label += ")";
  // The text after the parameters, as written.
  made.label += " " + one_line(*symbol.piece, behind_parameters(*symbol.piece, name.begin));
  while (made.label.ends_with(' ')) made.label.pop_back();
  for (size_t at; (at = made.label.find(")  ")) != std::string::npos;) made.label.erase(at + 1, 1);
  return made;
}

bool is_given(const Signature& signature, const OpenBracket& call, size_t parameter) {
  bool by_place = parameter < call.by_place && parameter < signature.positional;
  return by_place || std::find(call.given.begin(), call.given.end(), signature.names[parameter]) != call.given.end();
}

std::string describe_argument(const Symbol& callee, std::string_view name) {
  Signature signature = signature_of(callee);
  auto found = std::find(signature.names.begin(), signature.names.end(), name);
  // Others are the last one's, which takes any.
  bool is_any = found == signature.names.end() && signature.label.find("**") != std::string::npos;
  if (is_any) --found;
  if (found == signature.names.end()) return "";
  auto [begin, end] = signature.parameters[size_t(found - signature.names.begin())];
  return fmt::format("```tessera\n{}\n```\n\n*argument* of `{}`", signature.label.substr(begin, end - begin),
                     callee.name);
}

std::string declaration_text(const Symbol& symbol) {
  if (symbol.builtin) return signature_text(*symbol.builtin);
  if (!symbol.piece) return symbol.name;
  if (symbol.kind == SymbolKind::Module) return "module " + signature_of(symbol).label;
  if (is_callable(symbol.kind)) {
    std::string_view head;
    if (symbol.kind == SymbolKind::Entry) head = "@jit\n";
    if (symbol.kind == SymbolKind::Kernel) head = "@kernel\n";
    return fmt::format("{}def {}", head, signature_of(symbol).label);
  }
  Range range{symbol.full_range.begin - symbol.piece->begin, symbol.full_range.end - symbol.piece->begin};
  if (symbol.local && symbol.local->parameter) range = symbol.piece->range(symbol.local->parameter->loc);
  constexpr size_t longest = 300;
  std::string text = one_line(*symbol.piece, range);
  if (text.size() > longest) text = text.substr(0, longest) + " …";
  return text.empty() ? symbol.name : text;
}

std::string documentation(const Symbol& symbol) {
  if (symbol.builtin) return specification(*symbol.builtin).meaning;
  if (symbol.word) return symbol.word->meaning;
  if (!symbol.piece) return "";
  const ast::Stmt* stmt = symbol.declared ? symbol.declared->stmt : nullptr;
  if (symbol.local && symbol.local->def) stmt = symbol.local->def;
  std::string text;
  if (const auto* def = ast::as<ast::Def>(stmt)) text = docstring(def->body);
  if (const auto* module = ast::as<ast::Module>(stmt)) text = docstring(module->body);
  if (!text.empty()) return text;
  if (symbol.kind == SymbolKind::File) {
    std::vector<ast::Declaration> const& declarations = symbol.piece->declarations;
    const ast::Stmt* first = declarations.empty() ? nullptr : declarations[0].stmt;
    return first ? docstring(ast::StmtList(&first, 1)) : "";
  }
  if (symbol.local && !symbol.local->def) return "";
  return comment_above(symbol.piece->text(), symbol.full_range.begin - symbol.piece->begin);
}

std::string describe(const Symbol& symbol) {
  if (symbol.builtin) return describe_builtin(*symbol.builtin);
  if (symbol.word) return symbol.word->meaning;
  std::string out;
  if (symbol.kind == SymbolKind::File) {
    out = fmt::format("file `{}`", symbol.file->path());
  } else if (symbol.kind == SymbolKind::Namespace) {
    return fmt::format("namespace `{}`", symbol.prefix);
  } else {
    out = code(declaration_text(symbol));
    out += fmt::format("\n\n*{}*", describe(symbol.kind));
    if (symbol.file && symbol.file->is_library()) out += fmt::format(" of `{}`", symbol.file->path());
  }
  std::string text = documentation(symbol);
  return text.empty() ? out : out + "\n\n" + text;
}

}  // namespace tessera::lsp
