#pragma once
// From the tokens of files to the one sequence of logical lines that is parsed.
//
// A directive is the first token of a logical line outside brackets: `%include "file"`,
// `%define NAME tokens`, `%if` / `%elif` / `%else` / `%endif`, `%error "text"`. Conditions see only
// the names given with -D, so what a file means never depends on the order of its definitions.
// Macros are object-like, their bodies balanced in brackets; a macro is not expanded inside its own
// expansion nor right after a dot. Every file stands for itself: brackets and conditions opened in
// it are closed in it.

#include <map>
#include <span>
#include <string_view>
#include <string>
#include <vector>

#include "frontend/syntax/parse.h"
#include "frontend/syntax/token.h"

namespace tessera {

inline constexpr size_t max_include_depth = 40;
inline constexpr size_t max_macro_depth = 200;
/// Macro uses and tokens made by macros, in one compilation.
inline constexpr size_t max_macro_work = size_t(1) << 20;
/// Tokens after preprocessing, in one compilation.
inline constexpr size_t max_tokens = size_t(1) << 23;
/// Times a file is included, in one compilation.
inline constexpr size_t max_includes = 10'000;

/// Whether `-D` can define a text for conditions: letters, digits and '_', and no digit first.
bool is_macro_name(std::string_view text);

struct Preprocessed {
  /// Code tokens with a Newline after every logical line; none of the trivia.
  TokenBuffer buffer;
  /// Every file that took part, in order of first use, with the roles of its tokens.
  std::vector<LexedFile> files;
  ast::PreprocessorNames names;
};

/// Runs lexer and preprocessor on a file and what it includes.
Preprocessed preprocess(FileId file, SourceManager& sources, const ParseOptions& options,
                        DiagnosticEngine& diagnostics);
/// The same where the macros that files `before` define hold already; nothing else of these counts.
Preprocessed preprocess(FileId file, std::span<const FileId> before, SourceManager& sources,
                        const ParseOptions& options, DiagnosticEngine& diagnostics);

}  // namespace tessera
