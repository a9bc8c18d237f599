#pragma once
// The conditions of %if and %elif.
//
//   condition  := conjunction ('or' conjunction)*
//   conjunction:= negation ('and' negation)*
//   negation   := 'not'* comparison
//   comparison := value (('==' | '!=' | '<' | '<=' | '>' | '>=') value)?
//   value      := integer | string | NAME | 'True' | 'False' | 'defined' '(' NAME ')' | '('
//   condition ')'
//
// Operands that cannot change the result are parsed and not evaluated, so that
// `defined(X) and X > 2` is fine without X.

#include <span>

#include "frontend/syntax/parse.h"
#include "frontend/syntax/token.h"

namespace tessera {

/// Value of the condition in `tokens` (no trivia; brackets at most `max_bracket_depth` deep); false
/// after an error, which is reported. `end` is where the condition should have gone on.
bool evaluate_condition(std::span<const RawToken> tokens, FileId file, Loc end,
                        const SourceManager& sources, const ParseOptions& options,
                        DiagnosticEngine& diagnostics);

}  // namespace tessera
