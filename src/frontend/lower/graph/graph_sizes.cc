// Sizes and dtypes of an entry that its tensors do not determine: `int` parameters, which become
// dimensions where they are used as one, defaults of dtypes, and `where` clauses about either.

#include <algorithm>

#include "frontend/fixes/operand_text.h"
#include "frontend/fixes/foreign.h"
#include "frontend/lower/graph/graph_builder.h"
#include "frontend/syntax/ast_walk.h"
#include "frontend/values/dims.h"
#include "ir/graph/constants.h"
#include "ir/text/dim_conditions.h"
#include "ir/text/entries.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

/// Whether a type or a `where` clause of the signature has the parameter as a dimension.
bool is_used_as_size(const Function& function, const SignatureParameter& parameter) {
  bool used = false;
  auto visit = [&](const ast::Node& node) {
    const auto* name = ast::as<ast::Name>(&node);
    const auto* string = ast::as<ast::String>(&node);
    used = used || (name && name->text == parameter.name) || (string && string->value == parameter.name);
  };
  for (const ast::Parameter& each : function.parameters()) {
    if (each.annotation) ast::walk(*each.annotation, visit);
  }
  if (function.def->return_type) ast::walk(*function.def->return_type, visit);
  for (const ast::Expr* clause : function.def->where) ast::walk(*clause, visit);
  return used || parameter.type.kind == PatternKind::DimParam;
}

}  // namespace

/// A dtype parameter of an entry is its default.
bool GraphBuilder::default_dtype(const Signature& signature, const DeclaredSymbol& symbol,
                                 Scope& scope) {
  for (const SignatureParameter& parameter : signature.parameters) {
    if (parameter.name != symbol.name || !parameter.default_value) continue;
    Loc loc = parameter.default_value->loc;
    Datum value = evaluator_.evaluate(*parameter.default_value, scope);
    auto dtype = evaluator_.expect_dtype(value, loc, fmt::format("the default of '{}'", symbol.name));
    if (!dtype) return false;
    Policies policies;
    if (value.is(DatumKind::DType)) policies = value.dtype_policies();
    scope.set(symbol.name, Datum::dtype(*dtype, policies), symbol.loc);
    return true;
  }
  TSR_UNREACHABLE("an entry with an open dtype is compiled where it is called");
}

/// The dtype that callers of a signature choose; null when there is none.
const DeclaredSymbol* GraphBuilder::open_dtype(const Signature& signature) {
  for (const DeclaredSymbol& symbol : signature.dtypes) {
    auto has_default = [&](const SignatureParameter& parameter) {
      return parameter.name == symbol.name && parameter.default_value;
    };
    const auto& parameters = signature.parameters;
    if (std::none_of(parameters.begin(), parameters.end(), has_default)) return &symbol;
  }
  return nullptr;
}

void GraphBuilder::report_open(const Function& function, const DeclaredSymbol& symbol) {
  auto builder = report(diag::generic_entry, symbol.loc, function.name, symbol.name);
  if (std::string_view help = help_for_dtype(symbol.name); !help.empty()) {
    builder.help(std::string(help));
    return;
  }
  if (std::string_view ours = dtype_here(symbol.name); !ours.empty()) {
    builder.fix(fmt::format("the dtype is '{}' here", ours), symbol.loc, std::string(ours));
    return;
  }
  std::vector<std::string> names;
  for (std::string_view name : dtype_names()) names.emplace_back(name);
  bool is_near = builder.suggest(session().sources(), symbol.loc, symbol.name, names);
  if (!is_near) builder.help("an entry is compiled on its own; write the dtype, f32 for example");
}

/// The parameter that is a state of no size; null when there is none.
const SignatureParameter* GraphBuilder::open_parameter(const Signature& signature) {
  for (const SignatureParameter& parameter : signature.parameters) {
    if (open_state(parameter.type)) return &parameter;
  }
  return nullptr;
}

/// A function with @jit that leaves something open is compiled where it is called, and has to be.
void GraphBuilder::finish_entries() {
  for (const Function* function : open_entries_) {
    if (called_.count(function->def)) continue;
    const Signature& signature = session().signature(evaluator_, *function);
    if (const DeclaredSymbol* dtype = open_dtype(signature)) {
      report_open(*function, *dtype);
    } else {
      report_open_state(*open_parameter(signature));
    }
  }
}

/// Adds the argument of an `int` or `dim` parameter. In the signature's types and clauses it is a
/// size; in the body it is a number, until it is used as a size.
bool GraphBuilder::add_size(const Function& function, const SignatureParameter& parameter,
                            Scope& scope) {
  if (parameter.default_value) {
    report_default(parameter);
    return false;
  }
  Value* argument = add_argument(parameter.name, "input", context().tensor({}, DType::I64));
  function_.int_arguments[argument] = function_.arguments.size() - 1;
  if (!is_used_as_size(function, parameter)) {
    IrValue input = handle(argument, {DType::I64, {}, false}, parameter.loc).as_ir();
    input.name = context().intern(parameter.name);
    scope.set(parameter.name, Datum::ir(input), parameter.loc);
    return true;
  }
  IrValue value;
  value.value = argument;
  Dim bound = size_of(value);
  Dim meant = as_dimension(dims(), scope.find_here(parameter.name)->value);
  if (meant != bound) {
    // `where` says that it is another size.
    add_guard({Relation::Equal, bound, meant}, fmt::format("{} == {}", bound->text, meant->text), parameter.loc);
  }
  return true;
}

/// Whether a number is computed of `int` arguments, sizes and constants alone, as sizes can be.
bool GraphBuilder::is_int(Value* value) const {
  if (function_.int_arguments.count(value)) return true;
  const Op* def = value->def();
  if (!def || value->type()->dtype != DType::I64 || value->type()->rank() != 0) return false;
  if (def->is(graph::info(graph::OpKind::Dim)) || graph::uniform_element(value)) return true;
  switch (def->info().elementwise) {
    case ElementwiseKind::Add:
    case ElementwiseKind::Sub:
    case ElementwiseKind::Mul: return is_int(def->operand(0)) && is_int(def->operand(1));
    default: return false;
  }
}

/// The dimension that is computed of what `int` arguments bind when the entry is called; null for other values.
Dim GraphBuilder::size_of(const IrValue& value) {
  if (!is_int(value.value)) return nullptr;
  auto it = function_.int_arguments.find(value.value);
  if (it == function_.int_arguments.end()) return computed_size(value.value);
  Attr& description = function_.arguments[it->second];
  using entry::Argument;
  Attr name = entry::node(description, Argument::name);
  Dim size = dims().symbol(name->string);
  if (entry::node(description, Argument::dim)) return size;
  Attr kind = entry::node(description, Argument::kind);
  description = entry::make_dict(context(), {Argument::dim(name), Argument::kind(kind), Argument::name(name)});
  add_guard({Relation::GreaterEqual, size, dims().constant(0)}, fmt::format("{} >= 0", size->text), value.origin);
  return size;
}

/// What a number that `is_int` is as a size.
Dim GraphBuilder::computed_size(Value* value) {
  const Op* def = value->def();
  if (!def) {
    IrValue argument;
    argument.value = value;
    return size_of(argument);
  }
  if (def->is(graph::info(graph::OpKind::Dim))) return def->attr(graph::attr::Dim::value);
  if (auto number = graph::uniform_element(value)) return dims().constant(number->i);
  Dim a = computed_size(def->operand(0)), b = computed_size(def->operand(1));
  switch (def->info().elementwise) {
    case ElementwiseKind::Add: return dims().add(a, b);
    case ElementwiseKind::Sub: return dims().sub(a, b);
    case ElementwiseKind::Mul: return dims().mul(a, b);
    default: TSR_UNREACHABLE("not an int");
  }
}

namespace {

std::optional<Relation> relation_of(ElementwiseKind kind) {
  switch (kind) {
    case ElementwiseKind::Eq: return Relation::Equal;
    case ElementwiseKind::Ne: return Relation::NotEqual;
    case ElementwiseKind::Lt: return Relation::Less;
    case ElementwiseKind::Le: return Relation::LessEqual;
    case ElementwiseKind::Gt: return Relation::Greater;
    case ElementwiseKind::Ge: return Relation::GreaterEqual;
    default: return std::nullopt;
  }
}

}  // namespace

/// Whether a number is computed of sizes. A number of the entry that nothing takes as a size may be negative.
bool GraphBuilder::is_of_sizes(Value* value) const {
  if (!is_int(value)) return false;
  if (auto it = function_.int_arguments.find(value); it != function_.int_arguments.end()) {
    return entry::node(function_.arguments[it->second], entry::Argument::dim) != nullptr;
  }
  const Op* def = value->def();
  if (def->info().elementwise == ElementwiseKind::None) return true;
  return is_of_sizes(def->operand(0)) && is_of_sizes(def->operand(1));
}

/// The comparison of sizes that a bool is; nothing for any other value.
std::optional<DimFact> GraphBuilder::size_comparison(Value* value) {
  const Op* def = value->def();
  std::optional<Relation> relation = def ? relation_of(def->info().elementwise) : std::nullopt;
  if (!relation || !is_of_sizes(def->operand(0)) || !is_of_sizes(def->operand(1))) return std::nullopt;
  DimFact fact{*relation, computed_size(def->operand(0)), computed_size(def->operand(1))};
  return fact.left->overflow || fact.right->overflow ? std::nullopt : std::optional(fact);
}

/// What a bool that is computed of sizes alone says of them; nothing for any other value. Of `a or b` it is that not
/// both `not a` and `not b` hold, so that both are known in the other branch.
std::optional<GraphBuilder::SizeCondition> GraphBuilder::size_condition(Value* value) {
  if (std::optional<DimFact> fact = size_comparison(value)) return SizeCondition{{*fact}, true};
  const Op* def = value->def();
  if (!def || value->type()->rank() != 0) return std::nullopt;
  ElementwiseKind kind = def->info().elementwise;
  if (kind != ElementwiseKind::And && kind != ElementwiseKind::Or && kind != ElementwiseKind::Not) return std::nullopt;
  bool holds = kind != ElementwiseKind::Or;
  SizeCondition all{{}, holds};
  for (unsigned i = 0; i < def->operand_count(); ++i) {
    std::optional<SizeCondition> part = size_condition(def->operand(i));
    if (!part) return std::nullopt;
    if (kind == ElementwiseKind::Not) return SizeCondition{std::move(part->facts), !part->holds};
    std::vector<DimFact> facts = facts_of_branch(dims(), part->facts, part->holds == holds);
    all.facts.insert(all.facts.end(), facts.begin(), facts.end());
  }
  return all;
}

void GraphBuilder::add_guard(const DimFact& fact, std::string_view text, Loc loc) {
  using entry::Guard;
  Attr place = loc.known() ? context().string(place_text(loc)) : nullptr;
  function_.guards.push_back(entry::make_dict(
      context(), {Guard::left(context(), fact.left), Guard::relation(context(), spelling(fact.relation)),
                  Guard::right(context(), fact.right), Guard::text(context(), text), Guard::place(place)}));
}

bool GraphBuilder::compares_sizes(const ast::Compare& compare, Scope& scope) {
  for (const ast::Expr* operand : compare.operands) {
    Datum value = evaluator_.evaluate(*operand, scope);
    if (!value.is_poison() && !as_dimension(dims(), value)) return false;
  }
  return true;
}

/// A clause on what is known while the entry is compiled, such as its dtypes.
bool GraphBuilder::check_entry_clause(const ast::Expr& clause, Scope& scope) {
  Datum value = evaluator_.evaluate(clause, scope);
  if (value.is(DatumKind::Dim)) {
    const auto* operation = ast::as<ast::Binary>(&clause);
    bool is_rest = operation && operation->op == ast::BinaryOp::Mod;
    report(diag::wrong_kind, clause.loc, "a 'where' clause", describe(value), "a bool")
        .help(fmt::format("a clause is a comparison: {} {}", source_text(session().sources(), clause.loc),
                          is_rest ? "== 0" : ">= 1"));
    return false;
  }
  auto holds = evaluator_.expect_bool(value, clause.loc, "a 'where' clause");
  if (!holds) return false;
  if (!*holds) {
    report(diag::false_where, clause.loc, source_text(session().sources(), clause.loc), "");
  }
  return *holds;
}

}  // namespace tessera::frontend
