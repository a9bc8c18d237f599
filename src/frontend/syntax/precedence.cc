#include "frontend/syntax/precedence.h"

namespace tessera {

Binding binding(TokenKind op) {
  switch (op) {
    case TokenKind::Or: return BindsOr;
    case TokenKind::And: return BindsAnd;
    case TokenKind::Equal:
    case TokenKind::NotEqual:
    case TokenKind::Less:
    case TokenKind::LessEqual:
    case TokenKind::Greater:
    case TokenKind::GreaterEqual:
    case TokenKind::In:
    case TokenKind::Is: return BindsComparison;
    case TokenKind::Bar: return BindsBar;
    case TokenKind::Caret: return BindsCaret;
    case TokenKind::Amp: return BindsAmp;
    case TokenKind::LeftShift:
    case TokenKind::RightShift: return BindsShift;
    case TokenKind::Plus:
    case TokenKind::Minus: return BindsSum;
    case TokenKind::Star:
    case TokenKind::Slash:
    case TokenKind::Floor:
    case TokenKind::Percent:
    case TokenKind::At: return BindsMultiplication;
    case TokenKind::Power: return BindsPower;
    default: return BindsNothing;
  }
}

}  // namespace tessera
