#pragma once
// Layout: from the indentation of logical lines to INDENT and DEDENT tokens.

#include "frontend/syntax/token.h"
#include "support/diagnostic.h"

namespace tessera {

inline constexpr size_t max_indentation_depth = 100;
/// `elif` branches of one `if`.
inline constexpr size_t max_elif_chain = 1000;

/// Replaces the buffer's tokens (lines ended by Newline) by the same with Indent before the first
/// line of a block, Dedent after its last, MissingBlock where a block should have begun, and
/// EndOfFile at the end. Indent and Dedent are balanced and Indent follows only the line of an
/// `if`, `def`, …; elsewhere deeper lines are reported and read as if they were not. A line that
/// cannot be a statement gets an Error in front. Indentation counts characters, all tabs or all
/// spaces.
void lay_out(TokenBuffer& buffer, DiagnosticEngine& diagnostics);

}  // namespace tessera
