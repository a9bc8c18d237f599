#pragma once
// How tightly operators bind: the table of docs/grammar.md.

#include "frontend/syntax/token.h"

namespace tessera {

enum Binding : int {
  BindsNothing = 0,
  BindsOr,
  BindsAnd,
  BindsNot,
  BindsComparison,
  BindsBar,
  BindsCaret,
  BindsAmp,
  BindsShift,
  BindsSum,
  BindsMultiplication,
  BindsPrefix,
  BindsPower,
};

/// Of a binary operator, `in` and `is` being the first words of theirs; BindsNothing for other tokens.
Binding binding(TokenKind op);

}  // namespace tessera
