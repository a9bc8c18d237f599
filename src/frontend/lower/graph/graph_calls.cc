// Calls of functions, which are inlined: arguments are matched with the signature at each call, and
// the result is converted to the declared type.

#include <algorithm>

#include "frontend/evaluate/kernel_scan.h"
#include "frontend/evaluate/kernel_value.h"
#include "frontend/lower/graph/graph_builder.h"
#include "frontend/lower/kernel/captures.h"
#include "frontend/values/dims.h"
#include "frontend/values/dtype_values.h"
#include "frontend/values/modules.h"
#include "frontend/values/runtime_range.h"
#include "ir/numbers/philox.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

bool is_tensor_pattern(const TypePattern& pattern) {
  return pattern.kind == PatternKind::Tensor || pattern.kind == PatternKind::KTile;
}

/// A tensor whose default is None and which is not given.
bool is_left_out(const SignatureParameter& parameter, const Datum& argument) {
  return is_tensor_pattern(parameter.type) && parameter.default_value && argument.is_none();
}

/// A parameter whose default is None takes None, whatever its type.
bool is_none_by_default(const SignatureParameter& parameter, const Datum& argument) {
  return argument.is_none() && parameter.default_value &&
         parameter.default_value->kind == ast::NodeKind::None;
}

/// Whether a parameter's own value is a size or dtype that types may name.
bool is_symbol(const Signature& signature, const SignatureParameter& parameter) {
  PatternKind kind = parameter.type.kind;
  bool is_int = kind == PatternKind::Scalar && signature.declares_dim(parameter.name);
  return is_int || kind == PatternKind::DimParam || kind == PatternKind::DTypeParam;
}

bool is_late(const Datum& argument) {
  return argument.object_as<LateDefault>() != nullptr;
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
  for (size_t i = 0; i < type.dims.size(); ++i) type.dim_places.push_back(place_of(value, i));
  return type;
}

/// Binds a symbol that an `int`, `dim` or `dtype` parameter names.
bool GraphBuilder::bind_constant(const SignatureParameter& parameter, const Datum& value, Loc loc,
                                 Bindings& bindings) {
  std::string what = fmt::format("argument '{}'", parameter.name);
  if (parameter.type.kind == PatternKind::DTypeParam) {
    auto dtype = evaluator_.expect_dtype(value, loc, what);
    if (!dtype) return false;
    Policies policies;
    if (value.is(DatumKind::DType)) policies = value.dtype_policies();
    bindings.dtypes[parameter.name] = {*dtype, policies};
    return true;
  }
  Dim dim = evaluator_.expect_dim(value, loc, what);
  if (!dim) return false;
  bindings.dims[parameter.name] = {dim, loc, what};
  return true;
}

/// Enters what the arguments of a call bind.
void GraphBuilder::define_symbols(const Bindings& bindings, const Function& function, Scope& scope) {
  for (const auto& [name, bound] : bindings.dims) scope.set(name, Datum::dim(bound.dim), bound.loc);
  for (const auto& [name, dtype] : bindings.dtypes) {
    scope.set(name, Datum::dtype(dtype.dtype, dtype.policies), function.loc);
  }
}

/// The symbols that arguments which are not known would bind.
void GraphBuilder::define_unknown(const Signature& signature, Scope& scope) {
  auto is_unknown = [&](const SignatureParameter& each) { return scope.find_here(each.name)->value.is_poison(); };
  if (std::ranges::none_of(signature.parameters, is_unknown)) return;
  for (const auto* symbols : {&signature.dims, &signature.dtypes}) {
    for (const DeclaredSymbol& symbol : *symbols) {
      if (!scope.find_here(symbol.name)) scope.set(symbol.name, Datum::poison(), symbol.loc);
    }
  }
}

/// The tensors that a call gives, with the patterns that they are to match.
ShapeQuestion GraphBuilder::ask_arguments(const Signature& signature, Scope& scope, const std::vector<Loc>& locs,
                                          std::vector<const TypePattern*>& patterns) const {
  ShapeQuestion question;
  question.may_exchange = true;
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const SignatureParameter& parameter = signature.parameters[i];
    const Datum& argument = scope.find_here(parameter.name)->value;
    if (!is_tensor_pattern(parameter.type) || !argument.is_ir()) continue;
    const std::vector<Dim>& dims = argument.as_ir().value->type()->dims;
    size_t rank = 0;
    for (const DimPattern& dim : parameter.type.dims) rank += dim.group.empty() ? 1 : dim.group.size();
    question.operands.push_back({locs[i], fmt::format("argument '{}'", parameter.name), dims, rank});
    patterns.push_back(&parameter.type);
  }
  return question;
}

bool GraphBuilder::bind_signature(const Function& function, const Signature& signature,
                                  Scope& scope, const std::vector<Loc>& locs, Loc loc) {
  Bindings bindings;
  auto argument = [&](size_t i) { return scope.find_here(signature.parameters[i].name)->value; };
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const SignatureParameter& parameter = signature.parameters[i];
    if (!is_symbol(signature, parameter) || is_late(argument(i))) continue;
    if (argument(i).is_poison() && evaluator_.is_open()) continue;
    if (!bind_constant(parameter, argument(i), locs[i], bindings)) return false;
  }
  const Bindings constants = bindings;
  std::vector<const TypePattern*> patterns;
  auto ask = [&] {
    patterns.clear();
    ShapeQuestion question = ask_arguments(signature, scope, locs, patterns);
    question.fits = [&](const Shapes& shapes) { return binds(patterns, shapes, constants, *function.scope); };
    return question;
  };
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const SignatureParameter& parameter = signature.parameters[i];
    const auto* state = argument(i).object_as<StateValue>();
    bool sized = state && parameter.type.kind == PatternKind::State && !parameter.type.dims.empty() &&
                 state->field("K");
    if (!sized && (!is_tensor_pattern(parameter.type) || is_left_out(parameter, argument(i)))) continue;
    if (is_late(argument(i)) || (argument(i).is_poison() && evaluator_.is_open())) continue;
    std::string what = fmt::format("argument '{}'", parameter.name);
    auto tensor = sized ? *state->field("K") : expect_tensor(argument(i), locs[i], what);
    if (!tensor) return false;
    ArgumentType type = argument_type(*tensor, parameter.name, locs[i]);
    if (!bind_symbols(evaluator_, parameter.type, type, parameter.name, bindings, ask)) return false;
  }
  define_symbols(bindings, function, scope);
  if (evaluator_.is_open()) define_unknown(signature, scope);
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const SignatureParameter& parameter = signature.parameters[i];
    if (!is_late(argument(i))) continue;
    Datum value = evaluator_.evaluate(*parameter.default_value, scope);
    if (value.is_poison() && evaluator_.is_open()) {
      scope.set(parameter.name, std::move(value), parameter.loc);
      continue;
    }
    if (value.is_poison()) return false;
    if (is_symbol(signature, parameter) && !bind_constant(parameter, value, locs[i], bindings)) return false;
    scope.set(parameter.name, std::move(value), parameter.loc);
  }
  define_symbols(bindings, function, scope);
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const SignatureParameter& parameter = signature.parameters[i];
    if (bindings.dims.count(parameter.name) || bindings.dtypes.count(parameter.name)) continue;
    Datum value = argument(i);
    if (is_left_out(parameter, value) || is_none_by_default(parameter, value)) continue;
    if (value.is_poison() && evaluator_.is_open()) continue;
    std::string what = fmt::format("argument '{}'", parameter.name);
    if (is_tensor_pattern(parameter.type)) {
      auto tensor = expect_tensor(value, locs[i], what);
      ArgumentType type = argument_type(*tensor, parameter.name, locs[i]);
      if (!check_expressions(evaluator_, parameter.type, type, parameter.name, scope, ask)) return false;
      value = Datum::ir(*tensor);
    }
    TypePattern pattern = parameter.type;
    if (function.kind == FunctionKind::Kernel) pattern.privileges.clear();  // the call gives the updated value
    Datum conformed = conform(pattern, value, scope, Use::Argument, locs[i], what);
    if (conformed.is_poison()) return false;
    if (conformed.is_ir()) {
      IrValue named = conformed.as_ir();
      named.name = context().intern(parameter.name);
      conformed = Datum::ir(named);
    }
    scope.set(parameter.name, conformed, parameter.loc);
  }
  return evaluator_.check_clauses(function, function.def->where, scope, loc, locs);
}

/// The library rounds what it returns to the program, and nothing that its functions hand each other.
bool GraphBuilder::is_within_library(const Function& function, Loc call) const {
  return session().is_builtin(function.loc) && session().is_builtin(call);
}

/// The result of a call that has ended, as its signature has it.
Datum GraphBuilder::finish_result(const Function& function, const Signature& signature, const CallFrame& done,
                                  Scope& scope) {
  const Datum& value = done.result;
  if (value.is_poison()) return value;
  Loc loc = done.result_place(function.loc);
  if (!signature.result) return is_within_library(function, done.call) ? value : rounded(value, loc);
  bool returns_nothing =
      signature.result->kind == PatternKind::Tuple && signature.result->elements.empty();
  if (value.is_none() && !returns_nothing) {
    blame().report_missing_return(done, signature.result->loc);
    return Datum::poison();
  }
  return conform(*signature.result, value, scope, Use::Stored, loc,
                 fmt::format("the result of '{}'", function.name));
}

namespace {

/// What readers know a call by: the instance that is called, "blocks.3", else the function.
std::string called_name(const Function& function) {
  const Binding* self = function.name == "__call__" ? function.scope->find("self") : nullptr;
  const auto* instance = self ? self->value.object_as<ModuleInstance>() : nullptr;
  if (!instance) return function.name;
  return instance->path().empty() ? std::string(instance->module().name()) : instance->path();
}

Loc with_call(Loc loc, uint32_t call) {
  loc.call = call;
  return loc;
}

}  // namespace

std::optional<Datum> GraphBuilder::call_function(const Function& function, std::vector<CallArgument>& arguments,
                                                 Loc loc) {
  check_rules(function);
  if (has_rule(function)) return record_custom(function, std::move(arguments), loc);
  if (!function.checkpoint) return call_body(function, arguments, loc);
  auto run = [&] { return *call_body(function, arguments, loc); };
  return run_checkpoint(*function.checkpoint, run, loc);
}

std::optional<Datum> GraphBuilder::call_body(const Function& function, std::vector<CallArgument>& arguments, Loc loc) {
  if (function.kind == FunctionKind::Kernel)
    return call_kernel(function, std::move(arguments), loc);
  if (function.lambda) return std::nullopt;
  called_.insert(function.def);
  const Signature& signature = session().signature(evaluator_, function);
  if (signature.failed || !evaluator_.may_call(function, loc)) return Datum::poison();
  Scope* scope = session().new_scope(function.scope);
  std::vector<Loc> locs;
  if (!evaluator_.bind_parameters(function, std::move(arguments), *scope, loc, locs, &signature)) {
    return Datum::poison();
  }
  if (!bind_signature(function, signature, *scope, locs, loc)) return Datum::poison();
  if (!record_numerics(function)) return Datum::poison();
  const Op* before = builder_.block()->back();
  uint32_t outer = builder_.call();
  builder_.set_call(context().add_call(called_name(function), with_call(loc, outer)));
  Datum result = finish_result(function, signature, evaluator_.run_body(function, *scope, loc), *scope);
  builder_.set_call(outer);
  check_promise(function, result, before, loc);
  if (!result.is_ir()) return result;
  IrValue unnamed = result.as_ir();
  unnamed.name = {};
  unnamed.origin = loc;
  return Datum::ir(unnamed);
}

Attr GraphBuilder::to_attr(const Datum& value, Loc loc) {
  switch (value.kind()) {
    case DatumKind::Bool:
      return context().boolean(value.as_bool());
    case DatumKind::Int:
      return context().integer(value.as_int());
    case DatumKind::Float:
      return context().number(value.as_float());
    case DatumKind::String:
      return context().string(value.as_string());
    case DatumKind::DType:
      return context().dtype(value.as_dtype());
    case DatumKind::Dim:
      return context().dim(value.as_dim());
    default:
      break;
  }
  // The names that functions of a program get here have a number.
  bool is_elementwise = value.is(DatumKind::Builtin) && value.as_builtin().elementwise != ElementwiseKind::None;
  if (is_elementwise && value.as_builtin().table == "ops") return context().symbol(value.as_builtin().name);
  if (value.is(DatumKind::Function)) {
    const Function& function = value.as_function();
    const Binding* tensor = captured_tensor(function);
    if (!tensor) return context().symbol(kernels_.name_function(function));
    report(diag::unsupported_construct, loc, "a function that reads a tensor, as an argument of a kernel")
        .label(tensor->loc, "the tensor")
        .help("apply it to the kernel's result: elementwise ops are fused into the kernel");
    return nullptr;
  }
  report(diag::unsupported_construct, loc, fmt::format("{} as an argument of a kernel", describe(value)));
  return nullptr;
}

const Binding* GraphBuilder::captured_tensor(const Function& function) {
  const Binding* found = nullptr;
  for (std::string_view name : session().free_names(*function.node()).names) {
    Binding* binding = function.scope->find_here(name);
    if (binding && binding->value.is_ir() && !size_of(binding->value.as_ir())) found = binding;
  }
  return found;
}

/// `sizes` and `prints` of a call of a kernel; `kernel` is null for one of the library. An `int` of the entry is a size
/// from here on.
void GraphBuilder::add_captured(std::vector<OpAttr>& attributes, const Function* kernel,
                                std::span<const Datum> arguments) {
  std::vector<const Function*> functions;
  if (kernel) functions.push_back(kernel);
  for (const Datum& argument : arguments) {
    if (argument.is(DatumKind::Function)) functions.push_back(&argument.as_function());
  }
  Captures captures = captures_of(session(), functions);
  for (Binding* binding : captures.values) {
    Dim size = size_of(binding->value.as_ir());
    if (!size) continue;
    binding->value = Datum::dim(size);
    for_each_symbol(size, [&](std::string_view symbol) { captures.symbols.emplace(symbol); });
  }
  std::vector<NamedAttr> sizes;
  for (const std::string& symbol : captures.symbols) {
    sizes.emplace_back(symbol, context().dim(dims().symbol(symbol)));
  }
  if (!sizes.empty())
    attributes.push_back(graph::attr::KernelCall::sizes(context(), std::move(sizes)));
  if (captures.prints && session().kernels_print())
    attributes.push_back(graph::attr::KernelCall::prints(context(), true));
}

/// K, V and length of a cache, which may also be given as a tuple of the three; nothing when a
/// error was reported.
std::vector<Datum> GraphBuilder::cache_parts(const Datum& cache, Loc loc) {
  std::vector<Datum> parts;
  if (cache.is_sequence()) {
    parts = cache.elements();
  } else if (cache.is(DatumKind::Object)) {
    for (const char* name : {"K", "V", "length"}) parts.push_back(evaluator_.attribute(cache, {name, loc}, loc));
  }
  bool fits = parts.size() == cache_operands;
  for (const Datum& part : parts) {
    if (part.is_poison()) return {};
    fits = fits && part.is_ir();
  }
  if (fits && parts[2].as_ir().value->type()->rank() == 0 && is_integer(parts[2].as_ir().storage)) return parts;
  report(diag::wrong_kind, loc, "the value read as a KVCache", describe(cache),
         "a cache, or a tuple of its keys, its values and the number of positions that are there");
  return {};
}

namespace {

/// A kernel takes tensors where its signature says so; its other parameters are known while it is compiled.
void report_tensor_for_constant(Evaluator& evaluator, const SignatureParameter& parameter, const Datum& value,
                                Loc loc) {
  std::string type;
  for (Dim dim : value.as_ir().value->type()->dims) type += dim->text + ", ";
  type += to_string(value.as_ir().storage);
  evaluator
      .report(diag::wrong_kind, loc, fmt::format("argument '{}'", parameter.name), describe(value),
              "a compile-time value")
      .help(fmt::format("for a tensor that the kernel loads, declare one: {}: Tensor[{}]", parameter.name, type))
      .label(parameter.loc, fmt::format("parameter '{}' is declared here", parameter.name));
}

}  // namespace

/// The arguments of a kernel's call: tensors as they are stored, and the other arguments that are
/// given.
bool GraphBuilder::kernel_operands(const Signature& signature, Scope& scope,
                                   const std::vector<Loc>& locs, std::vector<Value*>& operands,
                                   std::vector<NamedAttr>& constants, std::vector<Attr>& numbers) {
  int64_t next = 0;
  auto add = [&](Value* operand) {
    operands.push_back(operand);
    numbers.push_back(context().integer(next++));
  };
  for (const SignatureParameter* each : ordered_parameters(signature)) {
    const SignatureParameter& parameter = *each;
    size_t i = size_t(each - signature.parameters.data());
    const Datum& value = scope.find_here(parameter.name)->value;
    builder_.set_loc(locs[i]);
    if (is_cache(parameter.type)) {
      const auto* cache = value.object_as<StateValue>();
      if (cache && cache->policies().rolling_window) {
        evaluator_.unsupported(locs[i], "a cache with @rolling_window as an argument of a kernel, which reads "
                                        "positions in order,");
        return false;
      }
      std::vector<Datum> parts = cache_parts(value, locs[i]);
      if (parts.empty()) return false;
      builder_.set_loc(locs[i]);
      for (const Datum& part : parts) add(stored(part.as_ir()));
    } else if (is_left_out(parameter, value)) {
      ++next;
    } else if (value.is_ir()) {
      if (!is_operand(parameter.type)) {
        report_tensor_for_constant(evaluator_, parameter, value, locs[i]);
        return false;
      }
      add(stored(value.as_ir()));
    } else if (!parameter.default_value || locs[i] != parameter.default_value->loc) {
      Attr attr = to_attr(value, locs[i]);
      if (!attr) return false;
      constants.emplace_back(parameter.name, attr);
    }
  }
  std::sort(constants.begin(), constants.end());
  return true;
}

/// Gives a kernel that draws without a seed one of this call, unless nothing is drawn: the probabilities are
/// parameters that are 0.
bool GraphBuilder::bind_seed(const Function& function, const Signature& signature, Scope& scope,
                             std::vector<Loc>& locs, Loc loc) {
  if (signature.parameters.empty() || signature.parameters.back().name != seed_of_call) return true;
  Datum value = Datum::none();
  for (const ast::Call* draw : draws_by_call(session(), function)) {
    const auto* name = ast::as<ast::Name>(probability_of(*draw));
    Binding* given = name ? scope.find_here(name->text) : nullptr;
    bool never = given && given->value.is(DatumKind::Float) && given->value.as_double() == 0;
    if (never || value.is_ir()) continue;
    Value* source = seed(loc);
    if (!source) return false;
    evaluator_.add_effect("rng", loc);
    Value* own = graph::scalar(builder_, int64_t(philox::stream_of(next_stream()) >> 1), DType::U64);
    value = handle(graph::elementwise(builder_, ElementwiseKind::Xor, {source, own}), {DType::U64, {}, false}, loc);
  }
  scope.set(seed_of_call, value, signature.parameters.back().loc);
  locs.push_back(loc);
  return true;
}

/// Gives a kernel that the library calls wide values as they are: T of the kernel is the dtype that they are computed
/// in. The types that T stands for otherwise are left in `narrow`.
void GraphBuilder::widen_operands(const Signature& signature, Scope& scope,
                                  std::map<std::string, NumericType, std::less<>>& narrow) {
  auto each = [&](auto&& action) {
    for (const SignatureParameter& parameter : signature.parameters) {
      Binding* binding = scope.find_here(parameter.name);
      bool is_open = is_tensor_pattern(parameter.type) && !parameter.type.dtype_symbol.empty();
      if (is_open && binding && binding->value.is_ir()) action(parameter.type.dtype_symbol, binding->value);
    }
  };
  each([&](const std::string& symbol, const Datum& value) {
    const IrValue& x = value.as_ir();
    if (x.value->type()->dtype != x.storage) narrow.emplace(symbol, type_of(x));
  });
  each([&](const std::string& symbol, Datum& value) {
    if (!narrow.count(symbol)) return;
    IrValue x = value.as_ir();
    x.value = computed(x);
    x.storage = x.value->type()->dtype;
    x.policies = {};
    value = Datum::ir(x);
  });
}

/// A call of a user's kernel: its operands as they are stored, its compile-time arguments by name.
Datum GraphBuilder::call_kernel(const Function& function, std::vector<CallArgument> arguments,
                                Loc loc) {
  called_.insert(function.def);
  const Signature& signature = session().signature(evaluator_, function);
  if (signature.failed) return Datum::poison();
  std::vector<TypePattern> patterns = kernel_results(signature);
  bool changes = std::any_of(signature.parameters.begin(), signature.parameters.end(),
                             [](const SignatureParameter& parameter) { return is_region(parameter.type); });
  if (patterns.empty() && !changes) {
    report_without_result(blame(), function);
    return Datum::poison();
  }
  Scope* scope = session().new_scope(function.scope);
  std::vector<Loc> locs;
  if (!evaluator_.bind_parameters(function, std::move(arguments), *scope, loc, locs, &signature) ||
      !bind_seed(function, signature, *scope, locs, loc)) {
    return Datum::poison();
  }
  std::map<std::string, NumericType, std::less<>> narrow;
  builder_.set_loc(loc);
  if (is_within_library(function, loc)) widen_operands(signature, *scope, narrow);
  if (!bind_signature(function, signature, *scope, locs, loc)) return Datum::poison();
  if (!record_numerics(function)) return Datum::poison();
  evaluator_.add_declared(function, loc);
  std::vector<Value*> operands;
  std::vector<NamedAttr> constants;
  std::vector<Attr> numbers;
  if (!kernel_operands(signature, *scope, locs, operands, constants, numbers)) return Datum::poison();
  bool several = signature.result && signature.result->kind == PatternKind::Tuple;
  std::vector<Type> types;
  std::vector<NumericType> numerics;
  for (const TypePattern& pattern : patterns) {
    if (!is_tensor_pattern(pattern)) {
      return evaluator_.unsupported(pattern.loc, "a kernel's result of this type");
    }
    auto type = written_type(pattern, *scope);
    auto extents = type ? evaluate_dims(evaluator_, pattern, *scope) : std::nullopt;
    if (!extents) return Datum::poison();
    types.push_back(context().tensor(std::move(*extents), type->storage));
    auto as_given = narrow.find(pattern.dtype_symbol);
    numerics.push_back(as_given == narrow.end() ? *type : as_given->second);
  }
  for (const SignatureParameter* parameter : ordered_parameters(signature)) {
    const Datum& value = scope->find_here(parameter->name)->value;
    if (!is_region(parameter->type) || !value.is_ir()) continue;
    NumericType type = type_of(value.as_ir());
    types.push_back(context().tensor(value.as_ir().value->type()->dims, type.storage));
    numerics.push_back(type);
  }
  several |= types.size() > 1;
  std::vector<Type> all = types;
  for (Value* operand : operands) all.push_back(operand->type());
  for (Type type : all) {
    if (!check_memory(type->dtype, loc, fmt::format("a tensor of kernel '{}'", function.name))) {
      return Datum::poison();
    }
  }
  std::vector<OpAttr> attributes = {
      graph::attr::KernelCall::kernel(context(), kernels_.symbol_of(function))};
  if (!constants.empty()) {
    attributes.push_back(graph::attr::KernelCall::arguments(context(), std::move(constants)));
  }
  bool left_out = !numbers.empty() && numbers.back()->integer >= int64_t(numbers.size());
  if (left_out)
    attributes.push_back(graph::attr::KernelCall::parameters(context().array(std::move(numbers))));
  std::vector<Datum> given;
  for (const SignatureParameter& parameter : signature.parameters) {
    given.push_back(scope->find_here(parameter.name)->value);
  }
  add_captured(attributes, &function, given);
  builder_.set_loc(loc);
  const Op* before = builder_.block()->back();
  Op* op =
      builder_.op(graph::info(graph::OpKind::KernelCall), {operands}, types, std::move(attributes));
  std::vector<Datum> results;
  for (unsigned i = 0; i < types.size(); ++i) {
    results.push_back(handle(op->result(i), numerics[i], loc));
  }
  Datum result = several ? Datum::tuple(std::move(results)) : results[0];
  check_promise(function, result, before, loc);
  return result;
}

/// Values take the names of the variables they are first assigned to, for those who read the IR and
/// the messages.
Datum GraphBuilder::assigned(std::string_view name, Datum value, Loc loc) {
  if (!value.is_ir()) return value;
  IrValue named = value.as_ir();
  named.name = context().intern(name);
  if (session().is_builtin(named.origin) && !session().is_builtin(loc)) named.origin = loc;
  if (named.value->name().empty()) named.value->set_name(named.name);
  return Datum::ir(named);
}

}  // namespace tessera::frontend
