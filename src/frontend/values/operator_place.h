#pragma once
// An op as the source has it: how it is written, and where it is applied.

#include <string>
#include <string_view>

#include "frontend/syntax/ast.h"
#include "ir/numbers/elementwise.h"

namespace tessera {
class Value;
}

namespace tessera::frontend {

class Scope;

/// Where an op is applied; of a binary operator, also where its operands are written.
struct OperatorPlace {
  /// As it is written; its value where that is one of the IR.
  struct Operand {
    Loc loc;
    const ast::Expr* expr = nullptr;
    const Value* value = nullptr;
  };
  Loc loc;
  Operand left, right;
  Scope* scope = nullptr;       ///< of the operands
  std::string_view sign = ",";  ///< between them
  bool assigns = false;         ///< to the left one, as '+=' does

  OperatorPlace(Loc loc) : loc(loc) {}  // NOLINT(google-explicit-constructor): an op whose operands are not known
  OperatorPlace(Loc loc, const ast::Expr& left, const ast::Expr& right, Scope& scope, std::string_view sign)
      : loc(loc), left{left.loc, &left}, right{right.loc, &right}, scope(&scope), sign(sign) {}
};

/// How the language writes an op on single elements: "+", "exp".
std::string operator_text(ElementwiseKind kind);

}  // namespace tessera::frontend
