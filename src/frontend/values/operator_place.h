#pragma once
// An op as the source has it: how it is written, and where it is applied.

#include <string>
#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"
#include "ir/numbers/elementwise.h"

namespace tessera {
class Value;
}

namespace tessera::frontend {

class Datum;
class Scope;
struct BoundArguments;
struct Builtin;

/// Where an op is applied; of a binary operator, also where its operands are written.
struct OperatorPlace {
  struct Operand {
    Loc loc;
    const ast::Expr* expr = nullptr;
    const Value* value = nullptr;  ///< where it is one of the IR

    Operand() = default;
    Operand(const ast::Expr& expr, const Datum& value);
  };
  /// An argument of a call.
  struct Argument {
    Loc loc;                ///< unknown where the call does not have it
    std::string_view name;  ///< of the parameter
    const Value* value = nullptr;
  };
  Loc loc;
  Operand left, right;
  std::vector<Argument> arguments;  ///< of a function, which has no left and right
  Scope* scope = nullptr;       ///< of the operands
  std::string_view sign = ",";  ///< between them
  bool assigns = false;         ///< to the left one, as '+=' does

  OperatorPlace(Loc loc) : loc(loc) {}  // NOLINT(google-explicit-constructor): an op whose operands are not known
  OperatorPlace(Loc loc, Operand left, Operand right, Scope& scope, std::string_view sign)
      : loc(loc), left(left), right(right), scope(&scope), sign(sign) {}
  OperatorPlace(const Builtin& builtin, const BoundArguments& given);
};

/// How the language writes an op on single elements: "+", "exp".
std::string operator_text(ElementwiseKind kind);

}  // namespace tessera::frontend
