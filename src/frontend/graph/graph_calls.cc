// Calls of functions, which are inlined: arguments are matched with the signature at each call, and
// the result is brought to the type that is written.

#include "frontend/dims.h"
#include "frontend/graph/graph_builder.h"
#include "frontend/syntax/ast_walk.h"

namespace tessera::frontend {

namespace {

bool is_tensor_pattern(const TypePattern& pattern) {
  return pattern.kind == PatternKind::Tensor || pattern.kind == PatternKind::KTile;
}

/// What the names of an expression stand for, when they are sizes: ", where D is 7".
std::string sizes_text(const ast::Expr& expr, Scope& scope) {
  std::map<std::string, std::string> sizes;
  ast::walk(expr, [&](const ast::Node& node) {
    const auto* name = ast::as<ast::Name>(&node);
    Binding* binding = name ? scope.find_here(name->text) : nullptr;
    if (!binding) return;
    const Datum& value = binding->value;
    if (value.is(DatumKind::Int) || value.is(DatumKind::Dim)) {
      sizes[std::string(name->text)] = to_text(value);
    }
  });
  std::string text;
  for (const auto& [name, value] : sizes) {
    text += fmt::format("{}{} is {}", text.empty() ? ", where " : " and ", name, value);
  }
  return text;
}

}  // namespace

ArgumentType GraphBuilder::argument_type(const IrValue& value, std::string_view parameter,
                                         Loc loc) const {
  ArgumentType type;
  type.dims = value.value->type()->dims;
  type.dtype = value.storage;
  type.policies = value.policies;
  type.loc = loc;
  type.origin = value.origin;
  type.what = subject(value, fmt::format("argument '{}'", parameter));
  auto written = dim_places_.find(value.value);
  if (written != dim_places_.end()) type.dim_places = written->second;
  return type;
}

std::optional<NumericType> GraphBuilder::written_type(const TypePattern& pattern, Scope& scope) {
  NumericType type{pattern.dtype, pattern.policies, false};
  if (!pattern.dtype_symbol.empty()) {
    Datum dtype = lookup(pattern.dtype_symbol, scope, pattern.loc);
    auto known = expect_dtype(dtype, pattern.loc, "the dtype");
    if (!known) return std::nullopt;
    type.storage = *known;
    if (pattern.policies.empty()) type.policies = dtype.dtype_policies();
  }
  if (type.policies.stochastic_round || type.policies.saturate || type.policies.loss_scale) {
    std::string_view name = type.policies.stochastic_round ? "stochastic_round"
                            : type.policies.saturate       ? "saturate"
                                                           : "loss_scale";
    unsupported(pattern.loc, fmt::format("policy '@{}'", name));
    return std::nullopt;
  }
  return type;
}

/// Binds a symbol that an `int`, `dim` or `dtype` parameter names.
bool GraphBuilder::bind_constant(const SignatureParameter& parameter, const Datum& value, Loc loc,
                                 Bindings& bindings) {
  std::string what = fmt::format("argument '{}'", parameter.name);
  if (parameter.type.kind == PatternKind::DTypeParam) {
    auto dtype = expect_dtype(value, loc, what);
    if (!dtype) return false;
    Policies policies;
    if (value.is(DatumKind::DType)) policies = value.dtype_policies();
    bindings.dtypes[parameter.name] = {*dtype, policies};
    return true;
  }
  Dim dim = expect_dim(value, loc, what);
  if (!dim) return false;
  bindings.dims[parameter.name] = {dim, loc, what};
  return true;
}

bool GraphBuilder::bind_signature(const Function& function, const Signature& signature,
                                  Scope& scope, const std::vector<Loc>& locs, Loc loc) {
  Bindings bindings;
  auto argument = [&](size_t i) { return scope.find_here(signature.parameters[i].name)->value; };
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const SignatureParameter& parameter = signature.parameters[i];
    PatternKind kind = parameter.type.kind;
    bool is_int = kind == PatternKind::Scalar && signature.declares_dim(parameter.name);
    if (!is_int && kind != PatternKind::DimParam && kind != PatternKind::DTypeParam) continue;
    if (!bind_constant(parameter, argument(i), locs[i], bindings)) return false;
  }
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const SignatureParameter& parameter = signature.parameters[i];
    if (!is_tensor_pattern(parameter.type)) continue;
    std::string what = fmt::format("argument '{}'", parameter.name);
    auto tensor = expect_tensor(argument(i), locs[i], what);
    if (!tensor) return false;
    ArgumentType type = argument_type(*tensor, parameter.name, locs[i]);
    if (!bind_symbols(*this, parameter.type, type, parameter.name, bindings)) return false;
  }
  for (const auto& [name, bound] : bindings.dims) scope.set(name, Datum::dim(bound.dim), bound.loc);
  for (const auto& [name, dtype] : bindings.dtypes) {
    scope.set(name, Datum::dtype(dtype.dtype, dtype.policies), function.loc);
  }
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const SignatureParameter& parameter = signature.parameters[i];
    if (bindings.dims.count(parameter.name) || bindings.dtypes.count(parameter.name)) continue;
    Datum value = argument(i);
    std::string what = fmt::format("argument '{}'", parameter.name);
    if (is_tensor_pattern(parameter.type)) {
      auto tensor = expect_tensor(value, locs[i], what);
      ArgumentType type = argument_type(*tensor, parameter.name, locs[i]);
      if (!check_expressions(*this, parameter.type, type, parameter.name, scope)) return false;
      value = Datum::ir(*tensor);
    }
    Datum conformed = conform(parameter.type, value, scope, Use::Argument, locs[i], what);
    if (conformed.is_poison()) return false;
    if (conformed.is_ir()) {
      IrValue named = conformed.as_ir();
      named.name = context().intern(parameter.name);
      conformed = Datum::ir(named);
    }
    scope.set(parameter.name, conformed, parameter.loc);
  }
  return check_where(function, scope, loc);
}

bool GraphBuilder::check_where(const Function& function, Scope& scope, Loc loc) {
  for (const ast::Expr* clause : function.def->where) {
    // What is reported about the clause names this call.
    frames().push_back({});
    frames().back().function = &function;
    frames().back().call = loc;
    Datum holds = evaluate(*clause, scope);
    auto truth = expect_bool(holds, clause->loc, "a 'where' clause");
    frames().pop_back();
    if (!truth) return false;
    if (*truth) continue;
    report(diag::false_where, loc, source_text(session().sources(), clause->loc),
           sizes_text(*clause, scope))
        .note(clause->loc, fmt::format("'{}' asks for it here", function.name));
    return false;
  }
  return true;
}

bool GraphBuilder::check_dims(const TypePattern& pattern, const IrValue& value, Scope& scope,
                              Loc loc, const std::string& what) {
  auto wanted = evaluate_dims(*this, pattern, scope);
  if (!wanted) return false;
  const std::vector<Dim>& dims_now = value.value->type()->dims;
  if (dims_now.size() != wanted->size()) {
    report(diag::rank_mismatch, loc, what, dims_now.size(), wanted->size())
        .note(pattern.loc, "the type is written here");
    return false;
  }
  for (size_t i = 0; i < dims_now.size(); ++i) {
    if (dims_now[i] == (*wanted)[i]) continue;
    bool spread = pattern.dims.size() != wanted->size();
    DimPlace here = place(value, i, what);
    here.what = dimension_of(i, what);
    report_unequal(*this, loc, here,
                   {(*wanted)[i], spread ? pattern.loc : pattern.dims[i].loc,
                    dimension_of(i, "its type")});
    return false;
  }
  return true;
}

Datum GraphBuilder::conform_tensor(const TypePattern& pattern, const Datum& datum, Scope& scope,
                                   Use use, Loc loc, const std::string& what) {
  auto value = expect_tensor(datum, loc, what);
  auto type = value ? written_type(pattern, scope) : std::nullopt;
  if (!type) return Datum::poison();
  bool constant = datum.is_number() || datum.is(DatumKind::Bool) || value->weak;
  if (constant && !datum.is_ir()) {
    value->value = number(datum, type->storage, {}, loc);
    if (!value->value) return Datum::poison();
    value->storage = type->storage;
  }
  if (!pattern.layout.empty()) {
    return unsupported(pattern.loc, fmt::format("layout '{}' of a tensor", pattern.layout));
  }
  if (!pattern.privileges.empty()) return unsupported(pattern.loc, "a region of a tensor");
  if (use == Use::Stored && !check_dims(pattern, *value, scope, loc, what)) return Datum::poison();
  auto accum = value->policies.accum;
  if (accum && type->policies.accum && accum != type->policies.accum) {
    report(diag::accum_conflict, loc, to_string(*accum), to_string(*type->policies.accum))
        .note(pattern.loc, "the type is written here");
    return Datum::poison();
  }
  bool weak = value->weak && is_float(type->storage);
  if (!weak && !widens_to(value->storage, type->storage)) {
    bool narrows = widens_to(type->storage, value->storage) ||
                   (is_float(type->storage) == is_float(value->storage));
    auto builder =
        narrows ? report(diag::narrowing, loc, what, to_string(value->storage),
                         to_string(type->storage))
                : report(diag::dtype_mismatch, loc, what, to_string(value->storage),
                         to_string(type->storage));
    builder.note(pattern.loc, "the type is written here")
        .help(fmt::format("write the conversion: cast(…, {})", to_string(type->storage)));
    return Datum::poison();
  }
  builder_.set_loc(loc);
  IrValue result = *value;
  result.weak = false;
  if (use == Use::Stored) {
    result.value = convert(value->value, type->storage);
  } else if (value->storage != type->storage) {
    result.value = convert(value->value, type->compute());
  }
  if (!type->policies.accum && type->storage == value->storage) {
    type->policies.accum = value->policies.accum;
  }
  result.storage = type->storage;
  result.policies = type->policies;
  return Datum::ir(result);
}

Datum GraphBuilder::conform_constant(const TypePattern& pattern, const Datum& value, Loc loc,
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
    default: break;
  }
  if (fits) return value;
  report(diag::wrong_kind, loc, what, describe(value), wanted);
  return Datum::poison();
}

Datum GraphBuilder::conform(const TypePattern& pattern, const Datum& value, Scope& scope, Use use,
                            Loc loc, const std::string& what) {
  if (value.is_poison()) return value;
  switch (pattern.kind) {
    case PatternKind::Poison: return Datum::poison();
    case PatternKind::Any: return value;
    case PatternKind::Tensor:
    case PatternKind::KTile: return conform_tensor(pattern, value, scope, use, loc, what);
    case PatternKind::Tile: return unsupported(pattern.loc, "type 'Tile' outside a kernel");
    case PatternKind::Other: return unsupported(pattern.loc, fmt::format("type '{}'", pattern.name));
    case PatternKind::Tuple: break;
    case PatternKind::Scalar:
      // A scalar that is computed is a tensor of rank 0.
      if (value.is_ir()) return conform_tensor(pattern, value, scope, Use::Stored, loc, what);
      return conform_constant(pattern, value, loc, what);
    default: return conform_constant(pattern, value, loc, what);
  }
  if (pattern.elements.empty() && value.is_none()) return value;
  if (!value.is_sequence() || value.elements().size() != pattern.elements.size()) {
    report(diag::wrong_kind, loc, what,
           value.is_sequence() ? fmt::format("a tuple of {}", value.elements().size())
                               : describe(value),
           pattern.elements.empty() ? "nothing" : fmt::format("a tuple of {}", pattern.elements.size()));
    return Datum::poison();
  }
  std::vector<Datum> elements;
  for (size_t i = 0; i < pattern.elements.size(); ++i) {
    elements.push_back(conform(pattern.elements[i], value.elements()[i], scope, use, loc,
                               fmt::format("element {} of {}", i, what)));
    if (elements.back().is_poison()) return Datum::poison();
  }
  return Datum::tuple(std::move(elements));
}

/// Rounds tensors to what they are stored in, which is what returning them means.
Datum GraphBuilder::rounded(const Datum& value, Loc loc) {
  if (value.is_sequence()) {
    std::vector<Datum> elements;
    for (const Datum& element : value.elements()) elements.push_back(rounded(element, loc));
    return value.is(DatumKind::Tuple) ? Datum::tuple(std::move(elements))
                                      : Datum::list(std::move(elements));
  }
  if (!value.is_ir() || value.as_ir().weak) return value;
  builder_.set_loc(loc);
  IrValue result = value.as_ir();
  result.value = stored(result);
  return Datum::ir(result);
}

Datum GraphBuilder::finish_result(const Function& function, const Signature& signature,
                                  Datum value, Scope& scope) {
  if (value.is_poison()) return value;
  Loc loc = finished().result_loc.known() ? finished().result_loc : function.loc;
  if (!signature.result) return rounded(value, loc);
  bool returns_nothing =
      signature.result->kind == PatternKind::Tuple && signature.result->elements.empty();
  if (value.is_none() && !returns_nothing) {
    report(diag::missing_return, function.loc, function.name)
        .note(signature.result->loc, "the result is declared here");
    return Datum::poison();
  }
  return conform(*signature.result, value, scope, Use::Stored, loc,
                 fmt::format("the result of '{}'", function.name));
}

Datum GraphBuilder::call_function(const Function& function, std::vector<CallArgument> arguments,
                                  Loc loc) {
  if (function.kind == FunctionKind::Kernel) return call_kernel(function, std::move(arguments), loc);
  if (function.lambda) return Evaluator::call_function(function, std::move(arguments), loc);
  const Signature& signature = session().signature(*this, function);
  if (signature.failed || !may_call(function, loc)) return Datum::poison();
  Scope* scope = session().new_scope(function.scope);
  std::vector<Loc> locs;
  if (!bind_parameters(function, std::move(arguments), *scope, loc, locs)) return Datum::poison();
  if (!bind_signature(function, signature, *scope, locs, loc)) return Datum::poison();
  Datum result = finish_result(function, signature, run_body(function, *scope, loc), *scope);
  if (!result.is_ir()) return result;
  IrValue unnamed = result.as_ir();
  unnamed.name = {};
  unnamed.origin = loc;
  return Datum::ir(unnamed);
}

Attr GraphBuilder::to_attr(const Datum& value, Loc loc) {
  switch (value.kind()) {
    case DatumKind::Bool: return context().boolean(value.as_bool());
    case DatumKind::Int: return context().integer(value.as_int());
    case DatumKind::Float: return context().number(value.as_float());
    case DatumKind::String: return context().string(value.as_string());
    case DatumKind::DType: return context().dtype(value.as_dtype());
    case DatumKind::Dim: return context().dim(value.as_dim());
    default: break;
  }
  unsupported(loc, fmt::format("{} as an argument of a kernel", describe(value)));
  return nullptr;
}

/// A call of a user's kernel: its operands as they are stored, its compile-time arguments by name.
Datum GraphBuilder::call_kernel(const Function& function, std::vector<CallArgument> arguments,
                                Loc loc) {
  const Signature& signature = session().signature(*this, function);
  if (signature.failed) return Datum::poison();
  if (!signature.result) {
    report(diag::kernel_without_result, function.loc, function.name);
    return Datum::poison();
  }
  Scope* scope = session().new_scope(function.scope);
  std::vector<Loc> locs;
  if (!bind_parameters(function, std::move(arguments), *scope, loc, locs) ||
      !bind_signature(function, signature, *scope, locs, loc)) {
    return Datum::poison();
  }
  std::vector<Value*> operands;
  std::vector<NamedAttr> constants;
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const SignatureParameter& parameter = signature.parameters[i];
    const Datum& value = scope->find_here(parameter.name)->value;
    builder_.set_loc(loc);
    if (value.is_ir()) {
      operands.push_back(stored(value.as_ir()));
    } else if (!parameter.default_value || locs[i] != parameter.default_value->loc) {
      Attr attr = to_attr(value, locs[i]);
      if (!attr) return Datum::poison();
      constants.emplace_back(parameter.name, attr);
    }
  }
  bool several = signature.result->kind == PatternKind::Tuple;
  std::vector<TypePattern> patterns =
      several ? signature.result->elements : std::vector<TypePattern>{*signature.result};
  std::vector<Type> types;
  std::vector<NumericType> numerics;
  for (const TypePattern& pattern : patterns) {
    if (!is_tensor_pattern(pattern)) {
      return unsupported(pattern.loc, "a kernel's result of this type");
    }
    auto type = written_type(pattern, *scope);
    auto extents = type ? evaluate_dims(*this, pattern, *scope) : std::nullopt;
    if (!extents) return Datum::poison();
    types.push_back(context().tensor(std::move(*extents), type->storage));
    numerics.push_back(*type);
  }
  std::vector<OpAttr> attributes = {{"kernel", context().symbol(kernels_.symbol_of(function))}};
  if (!constants.empty()) {
    std::sort(constants.begin(), constants.end());
    attributes.push_back({"arguments", context().dict(std::move(constants))});
  }
  builder_.set_loc(loc);
  Op* op = builder_.op(graph::info(graph::OpKind::KernelCall), {operands}, types,
                       std::move(attributes));
  std::vector<Datum> results;
  for (unsigned i = 0; i < types.size(); ++i) {
    results.push_back(handle(op->result(i), numerics[i], loc));
  }
  return several ? Datum::tuple(std::move(results)) : results[0];
}

Datum GraphBuilder::annotate(const ast::Expr& annotation, Datum value, Scope& scope, Loc loc) {
  TypePattern pattern = read_type(*this, annotation, scope);
  return conform(pattern, value, scope, Use::Stored, loc, "the value");
}

/// Values take the names of the variables they are first assigned to, for those who read the IR and
/// the messages.
Datum GraphBuilder::assigned(std::string_view name, Datum value, Loc) {
  if (!value.is_ir()) return value;
  IrValue named = value.as_ir();
  named.name = context().intern(name);
  if (named.value->name().empty()) named.value->set_name(named.name);
  return Datum::ir(named);
}

Flow GraphBuilder::for_each(const Datum& iterable, const ast::For& loop, Scope& scope) {
  if (!iterable.is_ir()) return Evaluator::for_each(iterable, loop, scope);
  unsupported(loop.iterable->loc, "a loop over a tensor");
  return skip(loop.body, scope);
}

Flow GraphBuilder::branch(const Datum& condition, const ast::If& stmt, size_t arm, Scope& scope) {
  if (!condition.is_ir()) return Evaluator::branch(condition, stmt, arm, scope);
  report(diag::unsupported_construct, stmt.arms[arm].condition->loc,
         "a condition that is computed at run time")
      .help("where(condition, a, b) chooses element by element");
  Flow flow = skip(stmt.else_body, scope);
  for (const ast::IfArm& each : stmt.arms) {
    if (skip(each.body, scope) == Flow::Return) flow = Flow::Return;
  }
  return flow;
}

}  // namespace tessera::frontend
