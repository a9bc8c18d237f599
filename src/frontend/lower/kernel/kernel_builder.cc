#include "frontend/lower/kernel/kernel_builder.h"

#include "frontend/lower/kernel/kernel_library.h"
#include "frontend/evaluate/kernel_value.h"
#include "frontend/fixes/operand_text.h"
#include "frontend/values/dims.h"
#include "ir/core/kernel_size.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;

KernelBuilder::KernelBuilder(Session& session, Module& module, const Function& function,
                             const schedule::KernelRequest& request, const ScheduleTable* table,
                             const FunctionTable& functions, Arguments arguments)
    : evaluator_(session, *this, arguments),
      function_(function),
      request_(request),
      table_(table),
      functions_(functions),
      module_(module),
      first_op_(module.op_count()),
      ops_(evaluator_, module) {
  TSR_CHECK(function.def && function.kind == FunctionKind::Kernel,
            "a kernel is a def with @kernel");
  TSR_CHECK(&module.context() == &session.context(), "a kernel is built in the session's context");
}

bool KernelBuilder::may_grow(Loc loc) {
  if (module_.op_count() - first_op_ <= most_kernel_ops) return true;
  report(diag::unsupported_kernel_size, loc, function_.name, most_kernel_ops).help(kernel_size_help);
  return false;
}

Result<schedule::KernelInstance> KernelBuilder::build() {
  kernel_.errors_before = session().error_count();
  kernel_.signature = &session().signature(evaluator_, function_);
  kernel_.scan = scan_kernel(session(), function_);
  if (!check_signature() || !bind_operands() || !check_operands() || !define_symbols()) {
    return failure;
  }
  if (!read_decorators(kernel_.layers) || !create_kernel()) return failure;
  std::vector<Loc> locs;
  auto given = arguments();
  CallFrame done;
  done.result = Datum::poison();
  if (given && evaluator_.bind_parameters(function_, std::move(*given), *kernel_.scope, request_.loc, locs) &&
      check_where()) {
    if (evaluator_.is_open()) evaluator_.begin_uncalled(function_.name);
    // A kernel that is compiled on its own has no caller.
    done = evaluator_.run_body(function_, *kernel_.scope, request_.loc == function_.loc ? Loc{} : request_.loc);
  }
  schedule::KernelInstance instance;
  bool good = !done.result.is_poison() && !has_errors();
  if (std::set<std::string> combined = good ? combined_single_axes() : std::set<std::string>(); !combined.empty()) {
    kernel_.op->erase();
    KernelBuilder again(session(), module_, function_, request_, table_, functions_,
                        evaluator_.is_open() ? Arguments::Open : Arguments::Given);
    again.kernel_.combined_axes = std::move(combined);
    again.kernel_.combined_axes.merge(kernel_.combined_axes);
    return again.build();
  }
  good = good && check_loop_extents() && check_indices() && check_lines();
  if (good && store_results(done) && !has_errors() && check_regions() && check_memory() && limit_tiles()) {
    warn_of_parts();
    warn_of_extents();
    warn_of_blocks();
    warn_of_unused_axes();
    warn_of_iterations();
    warn_of_means();
    warn_of_sums();
    warn_of_memory();
    warn_of_numbers();
    warn_of_one_program();
    finish_kernel(instance);
    return instance;
  }
  kernel_.op->erase();
  return failure;
}

/// Refuses what the language has and kernels do not lower yet.
bool KernelBuilder::check_signature() {
  if (kernel_.signature->failed) return false;
  bool regions = false;
  for (const SignatureParameter& parameter : kernel_.signature->parameters) {
    const TypePattern& type = parameter.type;
    if (!check_privileges(type)) return false;
    regions |= is_region(type);
    if (!type.layout.empty())
      return evaluator_.unsupported(type.loc, "a stored layout in a kernel's signature"), false;
    bool unknown = type.kind == PatternKind::Tile || type.kind == PatternKind::Tuple ||
                   type.kind == PatternKind::Other ||
                   (type.kind == PatternKind::State && !is_cache(type));
    if (unknown) return evaluator_.unsupported(type.loc, "a kernel's parameter of this type"), false;
  }
  std::vector<TypePattern> results = result_patterns();
  if (results.empty() && !regions)
    return report_without_result(blame(), function_), false;
  for (const TypePattern& type : results) {
    if (!is_operand(type))
      return evaluator_.unsupported(type.loc, "a kernel's result of this type"), false;
  }
  if (kernel_.scan.context) return true;
  if (!kernel_.scan.uses_tiles)
    return evaluator_.unsupported(function_.loc, "a kernel of whole-tensor operations"), false;
  return report(diag::kernel_without_context, function_.loc, function_.name)
             .help("declare them first: t = tile.context(m=M, n=N)"),
         false;
}

std::vector<TypePattern> KernelBuilder::result_patterns() const {
  return kernel_results(*kernel_.signature);
}

namespace {

ArgumentType argument_type(Type type, std::string_view name, Loc loc) {
  ArgumentType argument;
  argument.dims = type->dims;
  argument.dtype = type->dtype;
  argument.policies = type->policies;
  argument.loc = loc;
  argument.what = fmt::format("argument '{}'", name);
  return argument;
}

}  // namespace

/// The operand of a parameter, `next` counting those before it; null for one that is left out.
Type KernelBuilder::operand_of(const SignatureParameter& parameter, size_t& next) const {
  if (!is_operand(parameter.type) || next >= request_.operands.size()) return nullptr;
  return request_.operands[next++];
}

/// Binds the signature's symbols to the operands' dims and dtypes, in the caller's symbols.
bool KernelBuilder::bind_operands() {
  size_t next = 0;
  size_t declared = 0, given = 0;
  std::vector<std::pair<const SignatureParameter*, size_t>> caches;
  for (const SignatureParameter* each : ordered_parameters(*kernel_.signature)) {
    const SignatureParameter& parameter = *each;
    if (is_cache(parameter.type)) {
      caches.emplace_back(&parameter, next);
      next += cache_operands;
      declared += cache_operands;
      given += cache_operands;
    }
    if (!is_operand(parameter.type)) continue;
    Type operand = operand_of(parameter, next);
    declared += operand || !parameter.default_value;
    given += operand != nullptr;
    if (!operand) continue;
    ArgumentType argument = argument_type(operand, parameter.name, request_.loc);
    if (!bind_symbols(evaluator_, parameter.type, argument, parameter.name, kernel_.bindings)) return false;
    if (parameter.type.dtype_symbol.empty() && parameter.type.dtype != operand->dtype) {
      report(diag::dtype_mismatch, request_.loc, argument.what, to_string(operand->dtype),
             to_string(parameter.type.dtype));
      return false;
    }
  }
  for (const auto& [cache, first] : caches) {
    if (!bind_cache(*cache, first)) return false;
  }
  bind_arguments();
  given += request_.operands.size() - next;
  if (declared == given) return true;
  report(diag::kernel_operands, request_.loc.known() ? request_.loc : function_.loc, function_.name,
         counted(declared, "tensor"), counted_verb(given));
  return false;
}

/// Binds the parameters that are given a size which the kernel has no dims for: the parameter becomes one of its dims.
void KernelBuilder::bind_arguments() {
  for (const SignatureParameter& parameter : kernel_.signature->parameters) {
    auto given = request_.arguments.find(parameter.name);
    bool is_size = given != request_.arguments.end() && given->second->is(AttrKind::Dim);
    if (!is_size || kernel_.bindings.dims.count(parameter.name) || own_size(given->second->dim)) continue;
    kernel_.bindings.dims[parameter.name] = {given->second->dim, request_.loc,
                                             fmt::format("argument '{}'", parameter.name)};
  }
}

/// Checks the dimensions that are expressions, with the caller's dims for the symbols.
bool KernelBuilder::check_operands() {
  Scope* caller = evaluator_.open_scope(function_.scope);
  for (const auto& [name, bound] : kernel_.bindings.dims) {
    caller->set(name, Datum::dim(bound.dim), bound.loc);
  }
  if (!define_sizes(*caller, false)) return false;
  size_t next = 0;
  for (const SignatureParameter* each : ordered_parameters(*kernel_.signature)) {
    const SignatureParameter& parameter = *each;
    if (is_cache(parameter.type)) next += cache_operands;
    Type operand = operand_of(parameter, next);
    if (!operand) continue;
    ArgumentType argument = argument_type(operand, parameter.name, request_.loc);
    if (!check_expressions(evaluator_, parameter.type, argument, parameter.name, *caller)) return false;
  }
  return true;
}

/// Enters the parameters that dimensions may be made of (`n: int`, `n: dim`), in the kernel's own symbols or the
/// caller's.
bool KernelBuilder::define_sizes(Scope& scope, bool own) {
  for (const SignatureParameter& parameter : kernel_.signature->parameters) {
    if (!kernel_.signature->declares_dim(parameter.name) || kernel_.bindings.dims.count(parameter.name)) continue;
    auto given = request_.arguments.find(parameter.name);
    Datum value = Datum::poison();
    if (given != request_.arguments.end()) {
      value = own ? own_argument(given->second) : from_attr(given->second);
    } else if (parameter.default_value) {
      value = evaluator_.evaluate(*parameter.default_value, *function_.scope);
    } else {
      report(diag::missing_argument, request_.loc, parameter.name, function_.name);
    }
    if (!evaluator_.expect_dim(value, parameter.loc, fmt::format("'{}'", parameter.name))) return false;
    scope.set(parameter.name, value, parameter.loc);
  }
  return true;
}

/// Enters the parameters that dtypes of results may be (`total: dtype = accum(T)`).
bool KernelBuilder::define_dtypes() {
  for (const SignatureParameter& parameter : kernel_.signature->parameters) {
    if (parameter.type.kind != PatternKind::DTypeParam || kernel_.bindings.dtypes.count(parameter.name)) continue;
    auto given = request_.arguments.find(parameter.name);
    Datum value = Datum::poison();
    if (given != request_.arguments.end()) {
      value = from_attr(given->second);
    } else if (parameter.default_value) {
      value = evaluator_.evaluate(*parameter.default_value, *kernel_.scope);
    } else {
      report(diag::missing_argument, request_.loc, parameter.name, function_.name);
    }
    if (!evaluator_.expect_dtype(value, parameter.loc, fmt::format("'{}'", parameter.name))) return false;
    kernel_.scope->set(parameter.name, value, parameter.loc);
  }
  return true;
}

/// The name of a size, of several that are one that of the first.
std::string_view KernelBuilder::size_name(std::string_view name) const {
  auto other = kernel_.unified.find(name);
  return other == kernel_.unified.end() ? name : size_name(other->second);
}

/// Makes sizes of which a clause says `A == B` one size.
void KernelBuilder::unify_sizes(const ast::Expr& clause) {
  const auto* all = ast::as<ast::Logical>(&clause);
  if (all && all->op == ast::LogicalOp::And) {
    for (const ast::Expr* each : all->operands) unify_sizes(*each);
  }
  const auto* compare = ast::as<ast::Compare>(&clause);
  for (size_t i = 0; compare && i < compare->ops.size(); ++i) {
    const auto* left = ast::as<ast::Name>(compare->operands[i]);
    const auto* right = ast::as<ast::Name>(compare->operands[i + 1]);
    auto is_size = [&](const ast::Name* name) { return name && kernel_.bindings.dims.count(name->text) != 0; };
    bool equates = compare->ops[i] == ast::CompareOp::Equal && is_size(left) && is_size(right);
    if (equates) unify_sizes(left->text, right->text);
  }
}

void KernelBuilder::unify_sizes(std::string_view left, std::string_view right) {
  std::string kept(size_name(left)), gone(size_name(right));
  if (kept == gone) return;
  if (kernel_.scope->find_here(gone)->value.is(DatumKind::Int)) std::swap(kept, gone);  // a number says more
  const Datum value = kernel_.scope->find_here(kept)->value;
  for (const auto& [name, bound] : kernel_.bindings.dims) {
    if (size_name(name) == gone) kernel_.scope->set(name, value, bound.loc);
  }
  kernel_.unified.emplace(gone, kept);
}

/// Gives the symbols their values inside the kernel: a number, or a symbol of the kernel's own.
bool KernelBuilder::define_symbols() {
  kernel_.has_symbols = true;
  kernel_.scope = evaluator_.open_scope(function_.scope);
  for (const auto& [name, bound] : kernel_.bindings.dims) {
    Dim own = bound.dim->constant() ? bound.dim : dims().symbol(name);
    kernel_.scope->set(name, Datum::dim(own), function_.loc);
  }
  for (const ast::Expr* clause : function_.def->where) unify_sizes(*clause);
  if (!define_sizes(*kernel_.scope, true)) return false;
  for (const auto& [name, dtype] : kernel_.bindings.dtypes) {
    kernel_.scope->set(name, Datum::dtype(dtype.dtype, dtype.policies), function_.loc);
  }
  if (!define_dtypes()) return false;
  std::vector<TypePattern> results = result_patterns();
  for (size_t i = 0; i < results.size(); ++i) {
    DType dtype = results[i].dtype;
    if (!results[i].dtype_symbol.empty()) {
      auto value = evaluator_.expect_dtype(evaluator_.lookup(results[i].dtype_symbol, *kernel_.scope, results[i].loc),
                                           results[i].loc, "the dtype");
      if (!value) return false;
      dtype = *value;
    }
    kernel_.stated_dtypes.push_back(dtype);
    kernel_.result_dtypes.push_back(i < request_.results.size() ? request_.results[i] : dtype);
    auto extents = evaluate_dims(evaluator_, results[i], *kernel_.scope);
    if (!extents) return false;
    kernel_.result_dims.push_back(std::move(*extents));
  }
  return declare_regions();
}

/// A call has seen to the clauses: what they say of sizes holds in the kernel. Without a call they may be about other
/// dtypes than those that are tried, or about an operand that is left out.
bool KernelBuilder::check_where() {
  auto is_optional = [](const SignatureParameter& each) { return each.default_value && is_operand(each.type); };
  std::optional<Session::Trial> quiet;
  if (evaluator_.is_open() && std::ranges::any_of(kernel_.signature->parameters, is_optional)) quiet.emplace(session());
  bool holds = evaluator_.check_clauses(function_, function_.def->where, *kernel_.scope, request_.loc, {},
                                        Undecided::Assumed);
  return holds || evaluator_.is_open();
}

bool KernelBuilder::create_kernel() {
  OpState state;
  state.info = info(OpKind::Kernel);
  state.loc = function_.loc;
  state.attributes = {schedule::attr::Kernel::axes(context(), std::vector<Attr>()),
                      schedule::attr::Kernel::kernel(context(), function_.name),
                      schedule::attr::Kernel::outputs(context(), int64_t(kernel_.result_dims.size())),
                      schedule::attr::Kernel::own(context(), !session().is_builtin(function_.loc)),
                      schedule::attr::Kernel::schedule(context().dict({}))};
  kernel_.op = module_.create(state);
  set_symbol_name(
      kernel_.op, module_.unique_symbol(request_.symbol.empty() ? function_.name : request_.symbol));
  kernel_.op->move_to_end(module_.body());
  Block* body = kernel_.op->region()->add_block();
  size_t next = 0;
  for (const SignatureParameter* each : ordered_parameters(*kernel_.signature)) {
    const SignatureParameter& parameter = *each;
    if (is_cache(parameter.type)) add_cache(parameter, next);
    Type operand = operand_of(parameter, next);
    if (!operand || !is_read(parameter.type)) continue;
    auto extents = evaluate_dims(evaluator_, parameter.type, *kernel_.scope);
    if (!extents) return kernel_.op->erase(), false;
    Type type = context().tensor(*extents, operand->dtype);
    kernel_.parameters[body->add_arg(type, module_.intern(parameter.name))] = &parameter;
  }
  for (size_t i = 0; i < kernel_.result_dims.size(); ++i) {
    Region* region = i < kernel_.returned ? nullptr : &kernel_.regions[i - kernel_.returned];
    std::string name = kernel_.returned == 1 ? "result" : fmt::format("result{}", i);
    if (region) name = region->parameter->name + "_out";
    Value* memory =
        body->add_arg(context().tensor(kernel_.result_dims[i], kernel_.result_dtypes[i]), module_.intern(name));
    if (region) region->out = memory;
    if (region && !is_read(region->parameter->type)) kernel_.parameters[memory] = region->parameter;
  }
  ops_.builder().set_end(body);
  return true;
}

/// A compile-time argument that the request gives, sizes in the caller's symbols.
Datum KernelBuilder::from_attr(Attr attr) {
  switch (attr->kind) {
    case AttrKind::Bool:
      return Datum::boolean(attr->boolean);
    case AttrKind::Int:
      return Datum::integer(attr->integer);
    case AttrKind::Float:
      return Datum::number(attr->number);
    case AttrKind::String:
      return Datum::string(attr->string);
    case AttrKind::DType:
      return Datum::dtype(attr->dtype);
    case AttrKind::Dim:
      return Datum::dim(attr->dim);
    case AttrKind::Symbol: {
      auto function = functions_.find(attr->string);
      if (function != functions_.end()) return Datum::function(function->second);
      for (const Builtin& builtin : common_builtins()) {
        bool is_elementwise = builtin.elementwise != ElementwiseKind::None;
        if (is_elementwise && builtin.name == attr->string) return Datum::builtin(&builtin);
      }
      report_unknown_kernel(session(), attr->string, request_.loc);
      return Datum::poison();
    }
    default:
      return evaluator_.unsupported(request_.loc, "an argument of this kind");
  }
}

/// The arguments of the body: operands, what the request gives by name, and hooks for function
/// parameters that are left at the identity.
std::optional<std::vector<CallArgument>> KernelBuilder::arguments() {
  std::vector<CallArgument> list;
  size_t next = 0;
  unsigned position = 0;
  Block* body = kernel_.op->region()->front();
  for (const SignatureParameter* each : ordered_parameters(*kernel_.signature)) {
    const SignatureParameter& parameter = *each;
    auto given = request_.arguments.find(parameter.name);
    Datum value = Datum::none();
    if (is_cache(parameter.type)) {
      value = Datum::object(kernel_.cache);
      next += cache_operands;
      position += cache_operands;
    } else if (is_operand(parameter.type)) {
      bool is_given = operand_of(parameter, next) != nullptr;
      if (!is_given && evaluator_.is_open()) list.push_back({parameter.name, Datum::poison(), request_.loc});
      if (!is_given) continue;
      Value* memory = is_read(parameter.type) ? body->arg(position++) : nullptr;
      for (const Region& region : kernel_.regions) {
        if (region.parameter == &parameter && !memory) memory = region.out;
      }
      if (parameter.name == seed_of_call) {
        kernel_.seed_of_call = memory;
        continue;
      }
      IrValue tensor = ops_.handle(memory, parameter.loc).as_ir();
      tensor.name = parameter.name;
      value = Datum::ir(tensor);
    } else if (given != request_.arguments.end()) {
      value = own_argument(given->second);
      if (value.is_poison()) return std::nullopt;
    } else if (const auto* identity = ast::as<ast::Name>(parameter.default_value);
               identity && identity->text == "identity" &&
               parameter.type.kind == PatternKind::Function) {
      value = Datum::object(std::make_shared<KernelHook>(parameter.name));
    } else if (evaluator_.is_open()) {
      value = Datum::poison();
    } else {
      continue;
    }
    list.push_back({parameter.name, std::move(value), request_.loc});
  }
  for (const auto& [name, value] : request_.arguments) {
    bool known = false;
    for (const SignatureParameter& parameter : kernel_.signature->parameters)
      known = known || parameter.name == name;
    if (!known)
      return report(diag::unknown_keyword, request_.loc, function_.name, name), std::nullopt;
  }
  return list;
}

bool KernelBuilder::store_results(const CallFrame& done) {
  const Datum& result = done.result;
  Loc loc = function_.loc;
  if (!kernel_.grid) return report(diag::kernel_without_context, loc, function_.name), false;
  size_t count = kernel_.returned;
  if (count == 0 && result.is_none()) return true;
  if (result.is_none()) {
    blame().report_missing_return(done, kernel_.signature->result ? kernel_.signature->result->loc : Loc{});
    return false;
  }
  if (count == 1 && !result.is_sequence()) return store_result(result, 0, done.result_loc);
  if (!result.is_sequence() || result.elements().size() != count) {
    report(diag::wrong_result, loc, function_.name, describe(result),
           count == 1 ? "one tile" : fmt::format("{} tiles", count));
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!store_result(result.elements()[i], i, done.result_loc)) return false;
  }
  return true;
}

/// The value in the dtype of result `n`. It fits what the source states, unless a hook gave it. A request that sets
/// the dtype replaces a cast that ends the source's kernel.
Value* KernelBuilder::with_result_dtype(Value* value, DType dtype, size_t n, Loc loc) {
  Op* last = value->def();
  bool replaces = n < request_.results.size();
  DType given = value->type()->dtype, stated = kernel_.stated_dtypes[n];
  bool is_open = last && last->is(info(OpKind::Hook));
  if (!is_open && given != stated && !widens_to(given, stated)) {
    std::string what = fmt::format("the result of '{}'", function_.name);
    auto builder = report(diag::narrowing, loc, what, to_string(given), to_string(stated));
    blame().label_dtype(builder, value, loc);
    if (kernel_.signature->result) builder.label(kernel_.signature->result->loc, "the type is written here");
    blame().help_conversion(builder, kernel_.returned == 1 ? loc : Loc{}, stated, "tile.cast");
    return nullptr;
  }
  if (replaces && last && last->is(info(ElementwiseKind::Cast)) && value->type()->dtype != dtype) {
    value = last->operand(0);
    if (last->result()->unused()) last->erase();
  }
  return ops_.convert(value, dtype);
}

/// Transposes a tile that is returned with its two axes exchanged; false for shapes that differ otherwise.
bool KernelBuilder::help_transposed(DiagnosticEngine::Builder& builder, std::string_view given,
                                    std::string_view wanted, Loc loc) {
  size_t comma = given.find(", ");
  if (comma == given.npos || comma != given.rfind(", ")) return false;
  std::string_view first = given.substr(1, comma - 1), second = given.substr(comma + 2, given.size() - comma - 3);
  if (wanted != fmt::format("[{}, {}]", second, first)) return false;
  std::vector<Edit> edits;
  if (kernel_.returned == 1) edits = postfixed(session().sources(), loc, ".T");
  constexpr char help[] = "the tile is transposed by x.T";
  edits.empty() ? builder.help(help) : builder.fix(help, std::move(edits));
  return true;
}

bool KernelBuilder::store_result(const Datum& result, size_t n, Loc written) {
  if (result.is_poison()) return false;
  if (!result.is_ir() || !result.as_ir().value->type()->is(TypeKind::Tile)) {
    report(diag::wrong_kind, function_.loc, fmt::format("the result of '{}'", function_.name),
           describe(result), "a tile");
    return false;
  }
  ops_.builder().set_loc(result.as_ir().origin);
  Loc loc = written.known() ? written : result.as_ir().origin;
  std::vector<const KernelAxis*> axes = match_axes(result_patterns()[n].dims, kernel_.result_dims[n]);
  std::vector<Dim> part;
  for (size_t i = 0; i < axes.size(); ++i)
    part.push_back(axes[i] ? axes[i]->tile : kernel_.result_dims[n][i]);
  Value* value = with_result_dtype(result.as_ir().value, kernel_.result_dtypes[n], n, loc);
  if (!value) return false;
  auto without_ones = [](std::vector<Dim> dims) {
    std::erase_if(dims, [](Dim dim) { return dim->is_constant(1); });
    return dims;
  };
  const std::vector<Dim>& dims = value->type()->dims;
  if (without_ones(dims) != without_ones(part)) {
    auto builder = report(diag::kernel_result, loc, function_.name, to_text(dims), to_text(part));
    Loc declared = kernel_.signature->result ? kernel_.signature->result->loc : Loc{};
    if (declared.known()) builder.label(declared, fmt::format("of this a program makes {}", to_text(part)));
    help_transposed(builder, to_text(dims), to_text(part), loc);
    return false;
  }
  std::vector<Value*> index;
  Place place;
  for (size_t i = 0; i < axes.size(); ++i) {
    index.push_back(axes[i] ? axes[i]->index : ops_.index_constant(0));
    place.emplace_back(index[i], part[i]);
  }
  if (std::string given, wanted; lies_otherwise(value, place, given, wanted)) {
    auto builder = report(diag::kernel_result, loc, function_.name, given, wanted);
    if (kernel_.signature->result)
      builder.label(kernel_.signature->result->loc, fmt::format("of this a program makes {}", wanted));
    if (!help_transposed(builder, given, wanted, loc)) {
      builder.help("other block sizes would change its elements: exchange its axes, or those of the result");
    }
    return false;
  }
  if (std::vector<const KernelAxis*> unused = unused_axes(place); !unused.empty()) {
    report(diag::wrong_kind, loc, fmt::format("the tile that '{}' returns", function_.name),
           fmt::format("the same part of a result for programs along axis '{}'", unused[0]->name),
           "a part for each program")
        .help("add up: Region[reduce_sum], or let one program have the whole axis");
    return false;
  }
  Block* body = kernel_.op->region()->front();
  Value* memory =
      body->arg(body->arg_count() - unsigned(kernel_.print_outputs.size() + kernel_.result_dims.size() - n));
  ops_.builder().op(info(OpKind::Store), {{ops_.reshape(value, part)}, {memory}, index}, {});
  return true;
}

void KernelBuilder::finish_kernel(schedule::KernelInstance& instance) {
  Builder& builder = ops_.builder();
  builder.set_loc(function_.loc);
  builder.op(info(OpKind::Yield), {{}}, {});
  builder.set_end(kernel_.op->region()->front());
  builder.op(info(OpKind::Return), {}, {});
  instance.kernel = kernel_.op;
  instance.choices = kernel_.choices;
  std::map<std::string, Dim, std::less<>> to_caller;
  for (const auto& [name, bound] : kernel_.bindings.dims) {
    if (bound.dim->constant() || kernel_.unified.count(name) != 0) continue;
    instance.dims[name] = bound.dim;
    to_caller[name] = bound.dim;
  }
  for (size_t i = 0; i < kernel_.result_dims.size(); ++i) {
    std::vector<Dim> caller;
    for (Dim dim : kernel_.result_dims[i]) caller.push_back(dims().substitute(dim, to_caller));
    instance.results.push_back(context().tensor(std::move(caller), kernel_.result_dtypes[i]));
  }
  describe_regions(instance, to_caller);
  describe_prints(instance, to_caller);
}

}  // namespace tessera::frontend
