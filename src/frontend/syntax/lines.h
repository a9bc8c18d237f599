#pragma once
// Decisions about a logical line before layout: which names act as keywords, and whether its chains
// are short enough.

#include <cstddef>

#include "frontend/syntax/token.h"
#include "support/diagnostic.h"

namespace tessera {

/// Operators that nest to the right (`- - x`, `a ** b ** c`, `x if a else y if b else z`, lambdas)
/// and postfix forms (`f(1)(2)`): so many in one chain, counted through brackets. A tree is thus
/// never deeper than brackets and chains allow, left operands of binary operators excepted.
inline constexpr size_t max_chain = 1000;

/// Makes names the keywords const, dim, module, on, param (first in a statement, before a
/// name; `on` also before a string), where (in a def or module line, after an operand) and Region
/// (before brackets that a name follows). Two names side by side are no expression, so nothing that
/// is valid otherwise changes its meaning.
/// `fn f(`, `class A:` and `let x =` are reported, where there are diagnostics, and read as what they mean.
void promote_keywords(TokenBuffer& buffer, DiagnosticEngine* diagnostics = nullptr);

/// The keyword for a word that other languages have, `def` or `module`; empty when there is none.
std::string_view keyword_for(std::string_view foreign);
/// What stands here for a word of Python that begins a statement; empty for any other word.
std::string_view help_for_statement(std::string_view word);

/// Reports chains above the limit; the rest of such a line becomes one Error token.
void limit_chains(TokenBuffer& buffer, DiagnosticEngine& diagnostics);

}  // namespace tessera
