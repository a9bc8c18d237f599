#pragma once
// Parsing texts in tests.

#include <map>
#include <string>

#include "frontend/syntax/parse.h"

namespace tessera::test {

/// What came of a text: the tree, the messages, and "tag@line:column" of each, space separated.
struct Parsed {
  std::string tree;
  std::string messages;
  std::string tags;
  std::string mended;  ///< the text with the first fix of the first message applied
};

/// A text with the edits of a fix made, the last one first.
inline std::string apply(std::string text, const Fix& fix, const SourceFile& source) {
  for (auto edit = fix.edits.rbegin(); edit != fix.edits.rend(); ++edit) {
    text.replace(source.line_start(edit->loc.line) + edit->loc.column - 1, edit->loc.length, edit->replacement);
  }
  return text;
}

/// The names files can be included by, and the -D names.
struct World {
  std::map<std::string, std::string> files;
  std::map<std::string, std::string, std::less<>> defines;
  std::vector<std::string> include_paths;
};

inline Parsed parse(const std::string& text, const World& world = {}) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  ParseOptions options;
  options.defines = world.defines;
  options.include_paths = world.include_paths;
  options.read = [&](const std::string& path, std::string& out, std::string& error) {
    auto found = world.files.find(path);
    if (found == world.files.end()) error = "no such file";
    if (found != world.files.end()) out = found->second;
    return found != world.files.end();
  };
  FileId file = sources.add("main.tsr", text);
  ast::SourceUnit unit = parse_source(file, sources, options, diagnostics);
  Parsed parsed{print_ast(unit), render_all(diagnostics, {}), {}, {}};
  const std::vector<Diagnostic>& all = diagnostics.all();
  if (!all.empty() && !all[0].fixes.empty()) parsed.mended = apply(text, all[0].fixes[0], sources.file(file));
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (!parsed.tags.empty()) parsed.tags += ' ';
    parsed.tags += fmt::format("{}@{}:{}", diag_tag(diagnostic.id), diagnostic.loc.line,
                               diagnostic.loc.column);
  }
  return parsed;
}

/// The tree of a text that has no errors, else its messages.
inline std::string tree(const std::string& text, const World& world = {}) {
  Parsed parsed = parse(text, world);
  return parsed.messages.empty() ? parsed.tree : parsed.messages;
}

/// The tree of one expression, else the messages.
inline std::string expression(const std::string& text) {
  std::string found = tree(text + "\n");
  constexpr std::string_view head = "(expr ";
  if (!found.starts_with(head)) return found;
  return found.substr(head.size(), found.size() - head.size() - 2);
}

/// Tags and places of the messages about a text.
inline std::string tags(const std::string& text, const World& world = {}) {
  return parse(text, world).tags;
}

/// The text with the first fix of the first message applied, and the messages about that.
inline std::string mended(const std::string& text) {
  std::string mended = parse(text).mended;
  return mended + parse(mended).tags;
}

inline std::string repeat(std::string_view text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace tessera::test
