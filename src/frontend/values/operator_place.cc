#include "frontend/values/operator_place.h"

#include "frontend/values/builtins.h"
#include "frontend/values/value.h"
#include "ir/core/op_info.h"

namespace tessera::frontend {

OperatorPlace::Operand::Operand(const ast::Expr& expr, const Datum& value)
    : loc(expr.loc), expr(&expr), value(value.is_ir() ? value.as_ir().value : nullptr) {}

OperatorPlace::OperatorPlace(const Builtin& builtin, const BoundArguments& given) : loc(given.call) {
  for (size_t i = 0; i < given.values.size(); ++i) {
    const Value* value = given[i].is_ir() ? given[i].as_ir().value : nullptr;
    arguments.push_back({given.written(i), builtin.parameters[i].name, value});
  }
}

std::string operator_text(ElementwiseKind kind) {
  switch (kind) {
    case ElementwiseKind::Neg:
      return "-";
    case ElementwiseKind::Add:
      return "+";
    case ElementwiseKind::Sub:
      return "-";
    case ElementwiseKind::Mul:
      return "*";
    case ElementwiseKind::Div:
      return "/";
    case ElementwiseKind::FloorDiv:
      return "//";
    case ElementwiseKind::Mod:
      return "%";
    case ElementwiseKind::Pow:
      return "**";
    case ElementwiseKind::And:
      return "&";
    case ElementwiseKind::Or:
      return "|";
    case ElementwiseKind::Xor:
      return "^";
    case ElementwiseKind::Shl:
      return "<<";
    case ElementwiseKind::Shr:
      return ">>";
    case ElementwiseKind::Eq:
      return "==";
    case ElementwiseKind::Ne:
      return "!=";
    case ElementwiseKind::Lt:
      return "<";
    case ElementwiseKind::Le:
      return "<=";
    case ElementwiseKind::Gt:
      return ">";
    case ElementwiseKind::Ge:
      return ">=";
    case ElementwiseKind::Min:
      return "minimum";
    case ElementwiseKind::Max:
      return "maximum";
    case ElementwiseKind::Select:
      return "where";
    default:
      return snake_case(elementwise_info(kind).name);
  }
}

}  // namespace tessera::frontend
