// Operations on values. The lowering is asked first; here is what compile-time values have, and what nothing has. And
// conversions that report errors.

#include <algorithm>

#include "frontend/evaluate/compile_time_builtins.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/evaluate/kernel_value.h"
#include "frontend/evaluate/placement.h"
#include "frontend/evaluate/schedule_value.h"
#include "frontend/fixes/foreign.h"
#include "frontend/fixes/operand_text.h"
#include "frontend/values/check_numerics.h"
#include "frontend/values/function.h"
#include "frontend/values/modules.h"
#include "frontend/values/tile_builtins.h"
#include "ir/core/op.h"
#include "ir/core/op_info.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

Datum Evaluator::elementwise(ElementwiseKind kind, std::span<const Datum> operands, const OperatorPlace& at) {
  if (std::optional<Datum> value = lowering_.elementwise(kind, operands, at)) return *value;
  return refuse_operands(kind, operands, at);
}

Datum Evaluator::refuse_operands(ElementwiseKind kind, std::span<const Datum> operands,
                                 const OperatorPlace& at) const {
  std::string kinds;
  for (const Datum& operand : operands) {
    kinds += (kinds.empty() ? "" : " and ") + describe(operand);
  }
  auto builder = report(diag::wrong_operands, at.loc, blame_.written(kind, at.loc), kinds);
  bool is_format = kind == ElementwiseKind::Mod && operands[0].is(DatumKind::String);
  if (is_format) builder.help(std::string(help_for_string("format")));
  auto is_list = [](const Datum& each) {
    return each.is(DatumKind::List) && std::ranges::all_of(each.elements(), &Datum::is_number);
  };
  if (auto list = std::ranges::find_if(operands, is_list); list != operands.end()) {
    builder.help(fmt::format("a list is not a tensor; numbers of their own are a param: param w: Param[{}, f32]",
                             list->elements().size()));
  }
  return Datum::poison();
}

Datum Evaluator::matmul(const Datum& a, const Datum& b, const OperatorPlace& at) {
  if (std::optional<Datum> value = lowering_.matmul(a, b, at)) return *value;
  report(diag::wrong_operands, at.loc, "@", fmt::format("{} and {}", describe(a), describe(b)));
  return Datum::poison();
}

/// Whether a function of the library asks a number that it was given for what tensors have, which is then reported.
bool Evaluator::report_no_tensor(const Datum& object, const ast::Identifier& name) const {
  bool is_of_tensors = name.text == "shape" || name.text == "dtype" || name.text == "T";
  if (!is_of_tensors || !session_.is_builtin(name.loc)) return false;
  // A clause stands for the function that has it.
  auto is_called = [&](const CallFrame& frame) {
    return frame.is_clause || (frame.function && session_.is_builtin(frame.function->loc));
  };
  auto called = std::ranges::find_if(frames_, is_called);
  if (called == frames_.end()) return false;
  report(diag::wrong_kind, name.loc, fmt::format("an argument of '{}'", called->name), frontend::describe(object),
         "a tensor");
  return true;
}

Datum Evaluator::attribute(const Datum& object, const ast::Identifier& name, Loc loc) {
  if (std::optional<Datum> value = lowering_.attribute(object, name, loc)) return *value;
  if (object.is(DatumKind::Schedule)) return schedule_member(*this, object, name);
  if (object.object_as<Mesh>()) return mesh_member(*this, object, name);
  if (object.is(DatumKind::Function) && object.as_function().kind == FunctionKind::Kernel) {
    return kernel_member(*this, object.as_function(), name);
  }
  if (const auto* instance = object.object_as<ModuleInstance>()) {
    return instance_member(*instance, name);
  }
  if (const auto* application = object.object_as<ModuleApplication>()) {
    return unplaced(*application, name.loc);
  }
  if ((object.is_scalar() || object.is_sequence()) && report_no_tensor(object, name)) return Datum::poison();
  auto builder = report(diag::unknown_member, name.loc, describe(object), name.text);
  bool is_function = object.is(DatumKind::Function) || object.is(DatumKind::Builtin);
  std::string_view help = object.is(DatumKind::Tuple)    ? help_for_tuple(name.text)
                          : object.is(DatumKind::String) ? help_for_string(name.text)
                          : is_function && name.text == "with_schedule"
                              ? "kernels have it; those of the library are imported from tessera.stdlib"
                              : std::string_view();
  if (!help.empty()) builder.help(std::string(help));
  return Datum::poison();
}

Datum Evaluator::subscript(const Datum& object, ast::ExprList indices, Scope& scope, Loc loc) {
  if (std::optional<Datum> value = lowering_.subscript(object, indices, scope, loc)) return *value;
  if (const auto* device = object.object_as<Device>(); device && !device->index()) {
    return index_device(*this, *device, indices, scope, loc);
  }
  auto builder =
      report(diag::wrong_kind, loc, "the indexed value", describe(object), "a tensor, a tuple, a list or a dict");
  bool is_kernel = object.is(DatumKind::Function) && object.as_function().kind == FunctionKind::Kernel;
  if (is_kernel) builder.help("a kernel is called as a function; its programs follow from the axes that it declares");
  return Datum::poison();
}

namespace {

bool is_mask(const Datum& datum) {
  return datum.is(DatumKind::Bool) || (datum.is_ir() && datum.as_ir().value->type()->dtype == DType::Bool);
}

/// `where(a, mask, b)`: one of the values is a mask, and what stands in its place is none.
bool report_displaced_mask(const Blame& blame, const BoundArguments& arguments) {
  bool is_first = is_mask(arguments[1]);
  if (arguments[0].is_poison() || is_mask(arguments[0]) || is_first == is_mask(arguments[2])) return false;
  auto builder = blame.report(diag::wrong_kind, arguments.locs[0], "the condition of 'where'", describe(arguments[0]),
                              "a mask, of bool,");
  blame.help_exchange(builder, "the condition stands first", arguments.locs[0], arguments.locs[is_first ? 1 : 2]);
  return true;
}

}  // namespace

Datum Evaluator::call_builtin(const Builtin& builtin, std::vector<CallArgument> arguments, Loc loc) {
  std::optional<BoundArguments> bound = bind_arguments(builtin, std::move(arguments), loc);
  if (!bound) return Datum::poison();
  bool selects = builtin.elementwise == ElementwiseKind::Select;
  if (selects && report_displaced_mask(blame_, *bound)) return Datum::poison();
  if (std::optional<Datum> value = compile_time_builtin(*this, builtin, *bound)) return *value;
  if (builtin.elementwise != ElementwiseKind::None) return apply(builtin.elementwise, bound->values, {builtin, *bound});
  std::optional<Datum> result = lowering_.call_builtin(builtin, *bound, loc);
  if (!result) return refuse_builtin(builtin, loc);
  blame_.note_choice(builtin, *bound, *result);
  return *result;
}

Datum Evaluator::refuse_builtin(const Builtin& builtin, Loc loc) const {
  if (builtin.table == tile_table) {
    report(diag::tile_outside_kernel, loc, builtin.name).help("a kernel is a def with @kernel");
    return Datum::poison();
  }
  if (BuiltinId(builtin.id) == BuiltinId::Print) {
    report(diag::misplaced_statement, loc, "a call of 'print'", "outside a kernel that declares its axes")
        .help("print works in kernels, behind t = tile.context(m=M); an entry returns the value, and 'tsr run' "
              "prints it");
    return Datum::poison();
  }
  bool is_random = BuiltinId(builtin.id) == BuiltinId::Normal || BuiltinId(builtin.id) == BuiltinId::Uniform;
  report(diag::misplaced_statement, loc, fmt::format("a call of '{}'", builtin.name),
         "where only compile-time values are computed")
      .help(is_random ? "weights of a model are params: param w: Param[64, 32, f32] = normal(0.02)"
                      : "compute tensors inside a function");
  return Datum::poison();
}

Datum Evaluator::call_object(const Datum& callee, std::vector<CallArgument> arguments, Loc loc) {
  if (std::optional<Datum> value = lowering_.call_object(callee, arguments, loc)) return *value;
  if (const auto* member = callee.object_as<ScheduleMember>()) {
    return member->call(*this, arguments, loc);
  }
  if (const auto* member = callee.object_as<KernelMember>()) {
    return member->call(*this, arguments, loc);
  }
  if (const auto* member = callee.object_as<MeshMember>()) return member->call(*this, arguments, loc);
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

Datum Evaluator::call_function(const Function& function, std::vector<CallArgument> arguments, Loc loc) {
  if (std::optional<Datum> value = lowering_.call_function(function, arguments, loc)) return *value;
  if (function.kind == FunctionKind::Kernel) return unsupported(loc, "a call of a kernel here");
  Scope* scope = open_scope(function.scope);
  std::vector<Loc> locs;
  if (!bind_parameters(function, std::move(arguments), *scope, loc, locs)) return Datum::poison();
  return run_body(function, *scope, loc).result;
}

Datum Evaluator::param(const ParamDeclaration& declaration, Loc loc) {
  if (std::optional<Datum> value = lowering_.param(declaration, loc)) return *value;
  report(diag::wrong_kind, loc, fmt::format("'{}'", declaration.name), "a param", "a compile-time value");
  return Datum::poison();
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
      fits = is_function(value);
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
  if (!is_unknown(value)) report(diag::wrong_kind, loc, what, describe_given(value), wanted);
  return Datum::poison();
}

std::optional<int64_t> Evaluator::expect_int(const Datum& datum, Loc loc, std::string_view what) const {
  if (datum.is(DatumKind::Int)) return datum.as_int();
  if (!is_unknown(datum)) report(diag::wrong_kind, loc, what, describe_given(datum), "an integer");
  return std::nullopt;
}

std::optional<double> Evaluator::expect_number(const Datum& datum, Loc loc, std::string_view what) const {
  if (datum.is_number()) return datum.as_double();
  if (!is_unknown(datum)) report(diag::wrong_kind, loc, what, describe(datum), "a number");
  return std::nullopt;
}

namespace {

/// A comparison of sizes that is left to the calls of what is built.
struct OpenComparison {
  ast::CompareOp op;
  Dim left;
  Dim right;
};

std::optional<ast::CompareOp> comparison(ElementwiseKind kind) {
  switch (kind) {
    case ElementwiseKind::Eq: return ast::CompareOp::Equal;
    case ElementwiseKind::Ne: return ast::CompareOp::NotEqual;
    case ElementwiseKind::Lt: return ast::CompareOp::Less;
    case ElementwiseKind::Le: return ast::CompareOp::LessEqual;
    case ElementwiseKind::Gt: return ast::CompareOp::Greater;
    case ElementwiseKind::Ge: return ast::CompareOp::GreaterEqual;
    default: return std::nullopt;
  }
}

bool is_logical(ElementwiseKind kind) {
  return kind == ElementwiseKind::And || kind == ElementwiseKind::Or || kind == ElementwiseKind::Not;
}

/// Of a bool that is computed of sizes alone, which calls have: the first comparison in it. Nothing for any other
/// value, and for what the iterations of a loop decide.
std::optional<OpenComparison> open_comparison(Lowering& lowering, Value* value) {
  const Op* def = value->def();
  if (!def || value->type()->rank() != 0) return std::nullopt;
  if (std::optional<ast::CompareOp> op = comparison(def->info().elementwise)) {
    IrValue sides[2];
    for (unsigned i = 0; i < 2; ++i) sides[i].value = def->operand(i);
    Dim left = lowering.size_of(sides[0]), right = lowering.size_of(sides[1]);
    if (!left || !right || lowering.is_counted(left) || lowering.is_counted(right)) return std::nullopt;
    return OpenComparison{*op, left, right};
  }
  if (!is_logical(def->info().elementwise)) return std::nullopt;
  std::optional<OpenComparison> first = open_comparison(lowering, def->operand(0));
  bool is_whole = first && (def->operand_count() == 1 || open_comparison(lowering, def->operand(1)));
  return is_whole ? first : std::nullopt;
}

}  // namespace

std::optional<bool> Evaluator::expect_bool(const Datum& datum, Loc loc, std::string_view what) const {
  if (datum.is(DatumKind::Bool)) return datum.as_bool();
  auto open = datum.is_ir() ? open_comparison(lowering_, datum.as_ir().value) : std::nullopt;
  if (open) {
    blame_.report_undecided(open->op, open->left, open->right, loc);
    return std::nullopt;
  }
  if (!is_unknown(datum)) report(diag::wrong_kind, loc, what, describe(datum), "a bool");
  return std::nullopt;
}

namespace {

/// "float32", float: what a dtype is called elsewhere.
bool help_dtype(const Session& session, DiagnosticEngine::Builder& builder, const Datum& datum, Loc loc) {
  std::string name = datum.is(DatumKind::String) ? datum.as_string() : "";
  if (datum.is(DatumKind::Builtin)) name = datum.as_builtin().name;
  std::string here(dtype_here(name));
  if (here.empty()) return false;
  std::string message = fmt::format("the dtype is {}, without quotes", here);
  if (datum.is(DatumKind::Builtin)) message = fmt::format("the dtype is {}", here);
  bool is_written = source_text(session.sources(), loc).find(name) != std::string::npos && !session.is_builtin(loc);
  is_written ? builder.fix(std::move(message), loc, here) : builder.help(std::move(message));
  return true;
}

}  // namespace

std::optional<DType> Evaluator::expect_dtype(const Datum& datum, Loc loc, std::string_view what) const {
  if (std::optional<DType> dtype = named_dtype(datum)) return dtype;
  if (datum.is_poison()) return std::nullopt;
  auto builder = report(diag::wrong_kind, loc, what, describe(datum), "a dtype");
  if (help_dtype(session_, builder, datum, loc)) return std::nullopt;
  bool is_size = datum.is(DatumKind::Dim) || datum.is(DatumKind::Int);
  bool is_arange = what.find("'arange'") != what.npos;
  if (is_size && is_arange) builder.help("it counts from 0, and the dtype follows: start + arange(stop - start, i32)");
  if (is_size && !is_arange) builder.help("the sizes of a shape stand in brackets of their own: zeros((B, D), f32)");
  if (!datum.is(DatumKind::Function) || !datum.as_function().loc.known()) return std::nullopt;
  const Function& function = datum.as_function();
  bool hides = parse_dtype(function.name).has_value();
  builder.label(function.loc, hides ? fmt::format("this hides the dtype '{}'", function.name) : "this is defined here");
  return std::nullopt;
}

Dim Evaluator::expect_dim(const Datum& datum, Loc loc, std::string_view what) const {
  if (Dim dim = as_dimension(dims(), datum)) return dim;
  if (datum.is_ir()) {
    if (Dim dim = lowering_.size_of(datum.as_ir())) return dim;
  }
  if (!datum.is_poison()) {
    auto builder = report(diag::wrong_kind, loc, what, describe_given(datum), "an integer or a size");
    bool is_tensor = datum.is_ir() && !datum.as_ir().value->type()->dims.empty();
    bool is_fraction = datum.is(DatumKind::Float) || (datum.is_ir() && is_float(datum.as_ir().storage));
    if (is_tensor) {
      if (what == "argument 'axis'") builder.help(std::string(several_tensors));
      return nullptr;
    }
    if (what == "argument 'axis'" && !is_fraction) {
      builder.help("it takes one axis: reshape(x, (-1,)) has all elements along one");
    } else if (is_fraction) {
      builder.help("a size is divided by '//', whose result is an integer");
    } else if (datum.is_ir()) {
      builder.help("sizes are extents of the entry's tensors: x.shape[0]");
    }
  }
  return nullptr;
}

std::optional<std::vector<Dim>> Evaluator::expect_shape(const Datum& datum, Loc loc, std::string_view what) const {
  std::vector<Dim> shape;
  if (!datum.is_sequence() && !datum.is_poison()) {
    Dim only = datum.is_ir() ? lowering_.size_of(datum.as_ir()) : as_dimension(dims(), datum);
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
