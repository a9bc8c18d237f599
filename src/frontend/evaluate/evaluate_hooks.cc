// The hooks of an evaluator that has compile-time values only, and conversions that report errors.

#include "frontend/evaluate/evaluate.h"
#include "frontend/evaluate/schedule_value.h"
#include "frontend/evaluate/kernel_value.h"
#include "frontend/values/runtime_range.h"
#include "frontend/values/tile_builtins.h"
#include "ir/core/op_info.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

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

std::string Evaluator::written(ElementwiseKind kind, Loc loc) const {
  std::string text = operator_text(kind);
  bool is_word = (text == "&" || text == "|") && !source_text(session_.sources(), loc).starts_with(text);
  return is_word ? text == "&" ? "and" : "or" : text;
}

Datum Evaluator::elementwise(ElementwiseKind kind, std::span<const Datum> operands, Loc loc) {
  std::string kinds;
  for (const Datum& operand : operands) {
    kinds += (kinds.empty() ? "" : " and ") + describe(operand);
  }
  report(diag::wrong_operands, loc, written(kind, loc), kinds);
  return Datum::poison();
}

Datum Evaluator::matmul(const Datum& a, const Datum& b, Loc loc) {
  report(diag::wrong_operands, loc, "@", fmt::format("{} and {}", describe(a), describe(b)));
  return Datum::poison();
}

Datum Evaluator::attribute(const Datum& object, const ast::Identifier& name, Loc) {
  if (object.is(DatumKind::Schedule)) return schedule_member(*this, object, name);
  if (object.object_as<Mesh>()) return mesh_member(object, name);
  if (object.is(DatumKind::Function) && object.as_function().kind == FunctionKind::Kernel) {
    return kernel_member(*this, object.as_function(), name);
  }
  if (const auto* instance = object.object_as<ModuleInstance>()) {
    return instance_member(*instance, name);
  }
  if (const auto* application = object.object_as<ModuleApplication>()) {
    return unplaced(*application, name.loc);
  }
  report(diag::unknown_member, name.loc, describe(object), name.text);
  return Datum::poison();
}

Datum Evaluator::subscript(const Datum& object, ast::ExprList indices, Scope& scope, Loc loc) {
  if (const auto* device = object.object_as<Device>(); device && !device->index()) {
    return index_device(*device, indices, scope, loc);
  }
  auto builder =
      report(diag::wrong_kind, loc, "the indexed value", describe(object), "a tensor, a tuple, a list or a dict");
  bool is_kernel = object.is(DatumKind::Function) && object.as_function().kind == FunctionKind::Kernel;
  if (is_kernel) builder.help("a kernel is called as a function; its programs follow from the axes that it declares");
  return Datum::poison();
}

Datum Evaluator::call_builtin(const Builtin& builtin, const BoundArguments&, Loc loc) {
  if (builtin.table == tile_table) {
    report(diag::tile_outside_kernel, loc, builtin.name).help("a kernel is a def with @kernel");
    return Datum::poison();
  }
  if (BuiltinId(builtin.id) == BuiltinId::Print) {
    report(diag::misplaced_statement, loc, "a call of 'print'", "outside a kernel that declares its axes")
        .help("a function shows nothing of itself; return the value, and 'tsr run' prints it");
    return Datum::poison();
  }
  report(diag::misplaced_statement, loc, fmt::format("a call of '{}'", builtin.name),
         "where only compile-time values are computed")
      .help("compute tensors inside a function");
  return Datum::poison();
}

Datum Evaluator::call_object(const Datum& callee, std::vector<CallArgument> arguments, Loc loc) {
  if (const auto* member = callee.object_as<ScheduleMember>()) {
    return member->call(*this, arguments, loc);
  }
  if (const auto* member = callee.object_as<KernelMember>()) {
    return member->call(*this, arguments, loc);
  }
  if (const auto* member = callee.object_as<MeshMember>()) return shard(*member, arguments, loc);
  if (const auto* module = callee.object_as<ModuleReference>()) {
    return apply_module(*module, std::move(arguments), loc);
  }
  if (const auto* instance = callee.object_as<ModuleInstance>()) {
    Datum method = instance_member(*instance, {"__call__", loc});
    return method.is_poison() ? method : call(method, std::move(arguments), loc);
  }
  if (const auto* application = callee.object_as<ModuleApplication>()) {
    return unplaced(*application, loc);
  }
  report(diag::not_callable, loc, describe(callee));
  return Datum::poison();
}

Datum Evaluator::param(const ParamDeclaration& declaration, Loc loc) {
  report(diag::wrong_kind, loc, fmt::format("'{}'", declaration.name), "a param",
         "a compile-time value");
  return Datum::poison();
}

Datum Evaluator::annotate(const ast::Expr&, Datum value, Scope&, Loc) {
  return value;
}

Datum Evaluator::assigned(std::string_view, Datum value, Loc) {
  return value;
}

Flow Evaluator::for_each(const Datum& iterable, const ast::For& loop, Scope& scope) {
  auto builder = report(diag::wrong_kind, loop.iterable->loc, "the iterable of 'for'", describe(iterable),
                        "a tuple, a list or a range");
  bool counts = iterable.object_as<RuntimeRange>();
  if (counts) builder.help("in a kernel tile.range(K, t.k) counts at run time, in steps of a tile");
  return skip(loop.body, scope);
}

Flow Evaluator::while_loop(const ast::While& loop, Scope& scope) {
  unsupported(loop.condition->loc, "a 'while' loop whose condition is computed at run time");
  return skip(loop.body, scope);
}

void Evaluator::expression_statement(const ast::Expr&, const Datum&, Scope&) {}

Flow Evaluator::branch(const Datum& condition, const ast::If& stmt, size_t arm, Scope& scope) {
  report(diag::wrong_kind, stmt.arms[arm].condition->loc, "the condition", describe(condition),
         "a compile-time bool");
  return skip_arms(stmt, scope);
}

Datum Evaluator::conform_constant(const TypePattern& pattern, const Datum& value, Loc loc,
                                     const std::string& what) {
  std::string_view wanted;
  bool fits = true;
  switch (pattern.kind) {
    case PatternKind::Scalar:
      if (pattern.dtype == DType::Bool) {
        fits = value.is(DatumKind::Bool);
        wanted = "a bool";
      } else if (is_integer(pattern.dtype)) {
        fits = value.is(DatumKind::Int) || value.is(DatumKind::Dim);
        wanted = "an integer or a size";
      } else {
        if (value.is(DatumKind::Int)) return Datum::number(value.as_double());
        fits = value.is_scalar();
        wanted = "a number";
      }
      break;
    case PatternKind::DimParam:
      fits = value.is(DatumKind::Int) || value.is(DatumKind::Dim);
      wanted = "an integer or a size";
      break;
    case PatternKind::DTypeParam:
      fits = value.is(DatumKind::DType);
      wanted = "a dtype";
      break;
    case PatternKind::String:
      fits = value.is(DatumKind::String);
      wanted = "a string";
      break;
    case PatternKind::Function:
      fits = value.is(DatumKind::Function) || value.is(DatumKind::Builtin);
      wanted = "a function";
      break;
    case PatternKind::Schedule:
      fits = value.is(DatumKind::Schedule);
      wanted = "a schedule";
      break;
    default:
      break;
  }
  if (fits) return value;
  if (!is_unknown(value)) report(diag::wrong_kind, loc, what, describe(value), wanted);
  return Datum::poison();
}

Dim Evaluator::size_of(const IrValue&) {
  return nullptr;
}

void Evaluator::enter(const Placement&, Loc) {}

std::optional<int64_t> Evaluator::expect_int(const Datum& datum, Loc loc, std::string_view what) {
  if (datum.is(DatumKind::Int)) return datum.as_int();
  if (!is_unknown(datum)) report(diag::wrong_kind, loc, what, describe(datum), "an integer");
  return std::nullopt;
}

std::optional<double> Evaluator::expect_number(const Datum& datum, Loc loc, std::string_view what) {
  if (datum.is_number()) return datum.as_double();
  if (!is_unknown(datum)) report(diag::wrong_kind, loc, what, describe(datum), "a number");
  return std::nullopt;
}

std::optional<bool> Evaluator::expect_bool(const Datum& datum, Loc loc, std::string_view what) {
  if (datum.is(DatumKind::Bool)) return datum.as_bool();
  if (!is_unknown(datum)) report(diag::wrong_kind, loc, what, describe(datum), "a bool");
  return std::nullopt;
}

std::optional<DType> Evaluator::expect_dtype(const Datum& datum, Loc loc, std::string_view what) {
  if (std::optional<DType> dtype = named_dtype(datum)) return dtype;
  if (datum.is_poison()) return std::nullopt;
  auto builder = report(diag::wrong_kind, loc, what, describe(datum), "a dtype");
  bool is_size = datum.is(DatumKind::Dim) || datum.is(DatumKind::Int);
  if (is_size) builder.help("the sizes of a shape stand in brackets of their own: zeros((B, D), f32)");
  if (!datum.is(DatumKind::Function) || !datum.as_function().loc.known()) return std::nullopt;
  const Function& function = datum.as_function();
  bool hides = parse_dtype(function.name).has_value();
  builder.label(function.loc, hides ? fmt::format("this hides the dtype '{}'", function.name) : "this is defined here");
  return std::nullopt;
}

Dim Evaluator::expect_dim(const Datum& datum, Loc loc, std::string_view what) {
  if (Dim dim = as_dimension(dims(), datum)) return dim;
  if (datum.is_ir()) {
    if (Dim dim = size_of(datum.as_ir())) return dim;
  }
  if (!datum.is_poison()) {
    auto builder = report(diag::wrong_kind, loc, what, describe(datum), "an integer or a size");
    if (datum.is_ir()) builder.help("sizes are extents of the entry's tensors: x.shape[0]");
  }
  return nullptr;
}

std::optional<std::vector<Dim>> Evaluator::expect_shape(const Datum& datum, Loc loc,
                                                        std::string_view what) {
  std::vector<Dim> shape;
  if (!datum.is_sequence() && !datum.is_poison()) {
    Dim only = datum.is_ir() ? size_of(datum.as_ir()) : as_dimension(dims(), datum);
    if (only) return std::vector<Dim>{only};
  }
  if (!datum.is_sequence()) {
    if (!datum.is_poison()) {
      report(diag::wrong_kind, loc, what, describe(datum), "a tuple of sizes");
    }
    return std::nullopt;
  }
  for (const Datum& element : datum.elements()) {
    shape.push_back(expect_dim(element, loc, what));
    if (!shape.back()) return std::nullopt;
  }
  return shape;
}

}  // namespace tessera::frontend
