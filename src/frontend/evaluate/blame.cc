#include "frontend/evaluate/blame.h"

#include <algorithm>
#include <iterator>

#include "frontend/evaluate/links.h"
#include "frontend/fixes/foreign.h"
#include "frontend/fixes/operand_text.h"
#include "frontend/syntax/ast_walk.h"
#include "frontend/values/origins.h"
#include "ir/core/op.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

/// Notes of a call chain beyond this many are left out.
constexpr size_t shown_calls = 8;

}  // namespace

bool Blame::is_in_kernel() const {
  return !frames_.empty() && frames_[0].function && frames_[0].function->kind == FunctionKind::Kernel;
}

Blame::Place Blame::place_in(size_t frames, Loc loc) const {
  if (!session_.is_builtin(loc)) return {loc, frames};
  for (size_t i = frames; i-- > 0;) {
    Loc call = frames_[i].call;
    if (call.known() && !session_.is_builtin(call)) return {call, i};
  }
  return {loc, frames};
}

std::string_view Blame::function_at(Loc loc, std::string_view callee) const {
  Place place = place_in(frames_.size(), loc);
  return place.frames < frames_.size() ? frames_[place.frames].name : callee;
}

void Blame::add_call_notes(DiagnosticEngine::Builder& builder, const Place& place, size_t frames, Loc loc) const {
  if (place.loc != loc) {
    builder.label(loc, fmt::format("in '{}' of the standard library", frames_[frames - 1].name));
  }
  size_t shown = 0;
  for (size_t i = place.frames; i-- > 0 && shown < shown_calls;) {
    if (!frames_[i].call.known()) continue;
    builder.note(frames_[i].call, fmt::format("in this {} of '{}'", frames_[i].kind, frames_[i].name), NoteKind::Call);
    ++shown;
  }
}

namespace {

/// The expression that ends a block without being returned; null where something else ends it.
const ast::Expr* dropped_value(ast::StmtList block) {
  if (block.empty()) return nullptr;
  if (const auto* branch = ast::as<ast::If>(block.back())) {
    const ast::Expr* found = dropped_value(branch->else_body);
    for (const ast::IfArm& arm : branch->arms) found = found ? found : dropped_value(arm.body);
    return found;
  }
  const auto* last = ast::as<ast::ExprStmt>(block.back());
  return last && last->value->kind != ast::NodeKind::String ? last->value : nullptr;
}

/// For `y = x + 1.0` as a function's last statement: what stands before the value on its line.
Loc dropped_target(const ast::Def& def, const SourceManager& sources) {
  const auto* last = def.body.empty() ? nullptr : ast::as<ast::Assign>(def.body.back());
  bool is_name = last && last->value && !last->annotation && last->targets.size() == 1 &&
                 last->targets[0]->kind == ast::NodeKind::Name;
  if (!is_name) return {};
  Loc name = last->targets[0]->loc, value = last->value->loc;
  if (name.line != value.line || name.file != value.file) return {};
  Loc before{name.file, name.line, name.column, value.column - name.column};
  std::string_view sign = sources.file(name.file).line(name.line).substr(name.behind().column - 1);
  sign = sign.substr(0, value.column - name.behind().column);
  return sign.find_first_not_of(" =") == sign.npos ? before : Loc{};
}

}  // namespace

DiagnosticEngine::Builder Blame::report_missing_return(const CallFrame& done, Loc result) const {
  const Function* lacking = done.result.is_none() ? done.result.lacks_result_of() : nullptr;
  if (lacking == done.function || !lacks_return(lacking)) return report_missing_return(*done.function, result);
  auto builder = report_missing_return(*lacking);
  builder.label(done.result_loc, fmt::format("'{}' was to return it here", done.function->name));
  return builder;
}

DiagnosticEngine::Builder Blame::report_missing_return(const Function& function, Loc result) const {
  const ast::Expr* value = function.def ? dropped_value(function.def->body) : nullptr;
  if (value && session_.is_builtin(value->loc)) value = nullptr;
  auto builder = report(diag::missing_return, value ? value->loc : function.loc, function.name);
  if (function.def && function.def->return_type && function.def->return_type->kind == ast::NodeKind::None) {
    builder.label(function.def->return_type->loc, "and none is declared")
        .help("return a value, and leave out '-> None'");
    return builder;
  }
  if (value) builder.label(value->loc, "this value is unused").fix("return it", value->loc.before(), "return ");
  Loc target = function.def ? dropped_target(*function.def, session_.sources()) : Loc{};
  if (target.known()) builder.label(target, "this value is unused").fix("return it", target, "return ");
  if (result.known()) builder.label(result, "the result is declared here");
  return builder;
}

bool Blame::lacks_return(const Function* function) const {
  if (!function || !function->def || session_.is_builtin(function->loc)) return false;
  return function->def->body.empty() || function->def->body.back()->kind != ast::NodeKind::Return;
}

bool Blame::report_valueless(const Datum& value, Loc loc, std::string_view what) const {
  if (!value.is_none() || !lacks_return(value.lacks_result_of())) return false;
  report_missing_return(*value.lacks_result_of()).label(loc, fmt::format("{} is None", what));
  return true;
}

void Blame::report_wrong_kind(Loc loc, std::string_view what, const Datum& value, std::string_view wanted) const {
  if (!report_valueless(value, loc, what)) report(diag::wrong_kind, loc, what, describe_given(value), wanted);
}

/// An argument that a function of the standard library uses as an operand: the user has written its call alone.
bool Blame::report_argument(const Datum& operand, const OperatorPlace& at) const {
  const Function* function = frames_.empty() ? nullptr : frames_.back().function;
  if (!function || !session_.is_builtin(at.loc)) return false;
  for (const ast::Expr* expr : {at.left.expr, at.right.expr}) {
    const auto* name = ast::as<ast::Name>(expr);
    const Binding* binding = name && at.scope ? at.scope->find(name->text) : nullptr;
    bool is_parameter = name && std::ranges::any_of(function->parameters(), [&](const ast::Parameter& each) {
      return each.name.text == name->text;
    });
    if (!is_parameter || !binding || !equal(binding->value, operand)) continue;
    std::vector<std::string_view> names;
    for (const ast::Parameter& parameter : function->parameters()) names.push_back(parameter.name.text);
    report(diag::wrong_kind, at.loc, fmt::format("the argument '{}' of '{}'", name->text, function->name),
           describe(operand), "a tensor or a number")
        .help(fmt::format("its parameters are {}", fmt::join(names, ", ")));
    return true;
  }
  return false;
}

std::string Blame::written(ElementwiseKind kind, Loc loc) const {
  std::string text = operator_text(kind);
  bool is_word = (text == "&" || text == "|") && !source_text(session_.sources(), loc).starts_with(text);
  return is_word ? text == "&" ? "and" : "or" : text;
}

void Blame::help_exchange(DiagnosticEngine::Builder& builder, std::string message, Loc first, Loc second) const {
  std::vector<Edit> edits = exchanged(session_.sources(), first, second, false);
  bool is_library = session_.is_builtin(first) || session_.is_builtin(second);
  edits.empty() || is_library ? builder.help(std::move(message)) : builder.fix(std::move(message), std::move(edits));
}

bool Blame::help_member_conversion(DiagnosticEngine::Builder& builder, Loc object, const ast::Identifier& name,
                                   std::string_view callee) const {
  std::optional<std::string> argument = called_with(session_.sources(), name.loc);
  std::string_view dtype = argument ? converted_to(name.text, *argument) : std::string_view();
  if (dtype.empty() || session_.is_builtin(name.loc)) return false;
  std::vector<Edit> edits = as_function(session_.sources(), object, name.loc, callee, dtype);
  if (edits.empty()) return false;
  builder.fix(fmt::format("a conversion is {}(x, {})", callee, dtype), std::move(edits));
  return true;
}

bool Blame::certainly_differ(Dim a, Dim b) const {
  return decide(session_.dims(), ast::CompareOp::Equal, a, b, facts_.known) == false;
}

Blame::Unproven Blame::unproven(const DimFact& needed) const {
  std::optional<bool> holds = decide(session_.dims(), needed, facts_.known);
  if (facts_.is_called || holds == false) return Unproven::Wrong;
  if (holds) return Unproven::OfCalls;  // an equation that no size can be replaced by
  std::vector<DimFact> divided = facts_.known;
  for (Dim side : {needed.left, needed.right}) collect_divisors(session_.dims(), side, divided);
  bool has_more = divided.size() > facts_.known.size();
  if (has_more && decide(session_.dims(), needed, divided) == true) return Unproven::OfCalls;
  bool is_given = false;
  for (Dim side : {needed.left, needed.right}) {
    for_each_symbol(side, [&](std::string_view symbol) {
      is_given = is_given || symbol.find(unknown_mark) != symbol.npos ||
                 std::ranges::find(facts_.given, symbol) != facts_.given.end();
    });
  }
  bool is_stated = facts_.are_all && !facts_.function.empty() && !is_given;
  return is_stated ? Unproven::Unstated : Unproven::OfCalls;
}

const std::string& Blame::uncalled(const DimFact& needed) const {
  bool is_of_module = !facts_.module_sizes.empty();
  for (Dim side : {needed.left, needed.right}) {
    for_each_symbol(side, [&](std::string_view symbol) {
      is_of_module = is_of_module && std::ranges::find(facts_.module_sizes, symbol) != facts_.module_sizes.end();
    });
  }
  return is_of_module ? facts_.module : facts_.function;
}

std::optional<size_t> Blame::differing_axis(std::span<const Dim> a, std::span<const Dim> b, bool repeats) const {
  std::optional<size_t> first;
  for (size_t i = 0; i < a.size(); ++i) {
    bool fits = a[i] == b[i] || (repeats && (a[i]->is_constant(1) || b[i]->is_constant(1)));
    if (fits) continue;
    if (certainly_differ(a[i], b[i])) return i;
    if (!first) first = i;
  }
  return first;
}

/// A clause is the caller's to keep, also where a function that it calls compares.
void Blame::report_undecided(ast::CompareOp op, Dim a, Dim b, Loc loc) const {
  std::string relation = fmt::format("{} {} {}", a->text, ast::spelling(op), b->text);
  auto clause = std::find_if(frames_.rbegin(), frames_.rend(), [](const CallFrame& frame) { return frame.is_clause; });
  bool is_clause = clause != frames_.rend();
  size_t outside = size_t(std::distance(clause, frames_.rend())) - is_clause;
  auto builder = is_clause ? report_in(outside, diag::undecided_condition, clause->call, relation)
                           : report(diag::undecided_condition, loc, relation);
  if (is_clause) builder.label(loc, fmt::format("'{}' asks for it here", clause->name));
  if (is_clause && clause->help && clause->help(builder)) return;
  if (frame() && frame()->is_trip) {  // one clause would decide the first iteration alone
    builder.help(fmt::format("a loop whose trip count is known at run time is `for i in range({0}):`, in a kernel "
                             "`for k in tile.range({0}, t.k):`",
                             (b->constant() ? a : b)->text));
  } else if (auto asked = as_relation(op)) {
    help_clause(builder, {*asked, a, b});
  }
  bool equates = op == ast::CompareOp::Equal;  // channels, which may stand elsewhere
  bool is_of_library = equates && is_clause && clause != frames_.rbegin() && session_.is_builtin(loc);
  std::string called = is_of_library ? std::string(std::prev(clause)->name) + "(" : std::string();
  if (std::string_view help = help_for_clause(called, is_clause ? clause->name : ""); !help.empty()) {
    builder.help(std::string(help));
  }
}

void Blame::help_clause(DiagnosticEngine::Builder& builder, const DimFact& asked, std::string_view when) const {
  std::string clause = clause_for(session_.dims(), asked, facts_.known);
  if (!clause.empty()) builder.help(fmt::format("{}, say so in the signature{}: `where {}`", when, of_entry(), clause));
}

/// " of 'f'" inside a call from entry f, whose signature is the one that sizes come from.
std::string Blame::of_entry() const {
  return frames_.size() > 1 ? fmt::format(" of '{}'", frames_[0].name) : "";
}

namespace {

/// Whether a callee takes `keepdims`.
bool takes_keepdims(const Datum& callee) {
  constexpr std::string_view keepdims = "keepdims";
  if (callee.is(DatumKind::Builtin)) {
    return std::ranges::any_of(callee.as_builtin().parameters, [&](const auto& each) { return each.name == keepdims; });
  }
  if (!callee.is(DatumKind::Function)) return false;
  return std::ranges::any_of(callee.as_function().parameters(),
                             [&](const ast::Parameter& each) { return each.name.text == keepdims; });
}

}  // namespace

/// The axis that a call such as `mean(x, axis=1)` drops, and what keeps it; `rank` is the result's.
std::optional<ShapedOperand::Kept> Blame::kept_axis(const OperatorPlace& at, const ast::Expr* expr,
                                                    size_t rank) const {
  const auto* call = ast::as<ast::Call>(expr);
  if (!call || !at.scope || !is_operand(session_.sources(), call->loc) || call->arguments.empty()) return std::nullopt;
  if (!takes_keepdims(session_.links().lookup(*call->callee, *at.scope).value())) return std::nullopt;
  std::optional<int64_t> axis;
  for (size_t i = 0; i < call->arguments.size(); ++i) {
    const ast::Argument& argument = call->arguments[i];
    if (argument.name.text == "keepdims") return std::nullopt;
    bool is_axis = argument.name.text == "axis" || (i == 1 && argument.name.text.empty());
    if (is_axis) axis = ast::written_number(argument.value);
  }
  if (!axis) return std::nullopt;
  int64_t place = *axis < 0 ? *axis + int64_t(rank) + 1 : *axis;
  if (place < 0 || place > int64_t(rank)) return std::nullopt;
  return ShapedOperand::Kept{size_t(place), keep_axis(call->loc)};
}

/// The same of the call of a built-in function at that place.
std::optional<ShapedOperand::Kept> Blame::kept_axis(const Value& value, Loc loc) const {
  auto choice = axis_choices_.find(&value);
  bool is_its = choice != axis_choices_.end() && choice->second.call == loc && is_operand(session_.sources(), loc) &&
                source_text(session_.sources(), loc).find("keepdims") == std::string::npos;
  if (!is_its) return std::nullopt;
  return ShapedOperand::Kept{choice->second.reduced.axis, keep_axis(loc)};
}

Edit Blame::keep_axis(Loc call) const {
  std::string written = source_text(session_.sources(), call);
  written.resize(written.find_last_not_of(' ', written.size() - 2) + 1);
  Loc end = call;
  end.column += uint32_t(written.size());
  return {end.before(), written.ends_with(',') ? " keepdims=True" : ", keepdims=True"};
}

ShapedOperand Blame::asked(Loc loc, std::string what, const Value& value, size_t rank) const {
  return {loc, std::move(what), value.type()->dims, rank, rank ? kept_axis(value, loc) : std::nullopt};
}

ShapeQuestion Blame::ask_operands(const OperatorPlace& at, const std::vector<Dim>& left,
                                  const std::vector<Dim>& right) const {
  size_t rank = std::max(left.size(), right.size());
  ShapeQuestion question;
  question.fits = broadcasts;
  for (const auto& [loc, name, value] : at.arguments) rank = value ? std::max(rank, value->type()->rank()) : rank;
  for (const auto& [loc, name, value] : at.arguments) {
    if (value) question.operands.push_back(asked(loc, fmt::format("argument '{}'", name), *value, rank));
  }
  if (!question.operands.empty()) return question;
  ShapedOperand target{at.left.loc, "the left operand", left, 0, std::nullopt, true};
  question.operands.push_back(at.assigns ? target : ShapedOperand{at.left.loc, "the left operand", left, rank,
                                                                  kept_axis(at, at.left.expr, left.size())});
  question.operands.push_back(
      {at.right.loc, "the right operand", right, rank, kept_axis(at, at.right.expr, right.size())});
  question.sign = at.sign;
  return question;
}

bool Blame::help_shapes(DiagnosticEngine::Builder& builder, const ShapeQuestion& question) const {
  bool may_change = std::ranges::all_of(question.operands, [&](const ShapedOperand& operand) {
    return operand.loc.known() && !session_.is_builtin(operand.loc);
  });
  return may_change && frontend::help_shapes(builder, session_.dims(), session_.sources(), question);
}

void Blame::help_conversion(DiagnosticEngine::Builder& builder, Loc operand, DType to,
                            std::string_view function) const {
  std::string message = fmt::format("write the conversion: {}(…, {})", function, to_string(to));
  if (!is_operand(session_.sources(), operand) || session_.is_builtin(operand)) {
    builder.help(std::move(message));
  } else {
    builder.fix(std::move(message), {{operand.before(), fmt::format("{}(", function)},
                                     {operand.behind(), fmt::format(", {})", to_string(to))}});
  }
}

void Blame::help_condition(DiagnosticEngine::Builder& builder, Loc operand, DType dtype) const {
  std::string_view zero = is_float(dtype) ? "0.0" : "0";
  if (is_operand(session_.sources(), operand) && !session_.is_builtin(operand)) {
    builder.fix("conditions are combined: make one of it",
                {{operand.before(), "("}, {operand.behind(), fmt::format(" != {})", zero)}});
  }
  builder.help(fmt::format("where(condition, x, {}) keeps elements of x", zero));
}

void Blame::label_operands(DiagnosticEngine::Builder& builder, const OperatorPlace& at, DType left, DType right,
                           const Value* chosen) const {
  if (!at.left.loc.known()) return;
  builder.label(at.left.loc, fmt::format("{}", to_string(left)));
  builder.label(at.right.loc, fmt::format("{}", to_string(right)));
  for (auto [value, dtype] : {std::pair(at.left.value, left), {at.right.value, right}}) {
    if (value && value != chosen && value->type()->dtype == dtype) label_dtype(builder, value, at.left.loc);
  }
}

DiagnosticEngine::Builder Blame::report_mixed_dtypes(const OperatorPlace& at, DType left, DType right, DType to,
                                                     std::string_view function) const {
  Loc first = chosen_dtype(at.left.value), second = chosen_dtype(at.right.value);
  bool is_one = first.known() != second.known();
  const Value* chosen = !is_one ? nullptr : first.known() ? at.left.value : at.right.value;
  DType other = chosen == at.left.value ? right : left;
  auto builder = report_dtype(diag::mixed_dtypes, at.loc, chosen, other, "they are combined here", to_string(left),
                              to_string(right));
  label_operands(builder, at, left, right, chosen);
  bool combines_conditions = at.sign == "&" || at.sign == "|" || at.sign == "^";
  if (combines_conditions && (left == DType::Bool) != (right == DType::Bool)) {
    help_condition(builder, left == DType::Bool ? at.right.loc : at.left.loc, left == DType::Bool ? right : left);
  } else {
    help_conversion(builder, left == to ? at.right.loc : at.left.loc, to, function);
  }
  return builder;
}

Loc Blame::chosen_dtype(const Value* value) const {
  constexpr size_t most_values = 64;
  std::vector<const Value*> seen;
  if (value) seen.push_back(value);
  Loc chosen;
  for (size_t i = 0; i < seen.size(); ++i) {
    const Op* op = seen[i]->def();
    auto choice = dtype_choices_.find(seen[i]);
    // An op that was dropped may have left its address to another one.
    if (choice != dtype_choices_.end() && op && op->loc() == choice->second.call) {
      bool has_others = seen[i]->count_uses() > 1 && !seen[i]->type()->is(TypeKind::View);
      if (chosen.known() || has_others) return {};
      chosen = choice->second.dtype;
      continue;
    }
    size_t before = seen.size();
    auto follow = [&](const Value* operand) {
      bool is_new = operand && std::find(seen.begin(), seen.end(), operand) == seen.end();
      if (is_new && operand->type()->dtype == value->type()->dtype) seen.push_back(operand);
    };
    if (!op) follow(entering(seen[i]));
    for (unsigned k = 0; op && op->region_count() == 0 && k < op->operand_count(); ++k) follow(op->operand(k));
    bool is_declared = !op && seen.size() == before;
    if (is_declared || seen.size() > most_values) return {};
  }
  return session_.is_builtin(chosen) ? Loc{} : chosen;
}

void Blame::note_choice(const Builtin& builtin, const BoundArguments& arguments, const Datum& result) {
  if (!result.is_ir()) return;
  for (size_t i = 0; i < builtin.parameters.size(); ++i) {
    bool is_written = builtin.parameters[i].name == "dtype" && arguments.locs[i] != arguments.call;
    if (is_written) dtype_choices_[result.as_ir().value] = {arguments.locs[i], arguments.call};
  }
  note_axis(builtin, arguments, result.as_ir().value);
}

void Blame::note_axis(const Builtin& builtin, const BoundArguments& arguments, const Value* result) {
  auto named = [](std::string_view name) { return [name](const auto& parameter) { return parameter.name == name; }; };
  auto found = std::ranges::find_if(builtin.parameters, named("axis"));
  bool may_drop = found != builtin.parameters.end() && std::ranges::any_of(builtin.parameters, named("keepdims"));
  if (!may_drop || !arguments[0].is_ir()) return;
  size_t at = size_t(found - builtin.parameters.begin());
  const std::vector<Dim>& dims = arguments[0].as_ir().value->type()->dims;
  bool is_dropped = result->type()->dims.size() + 1 == dims.size();
  if (!is_dropped || !arguments[at].is(DatumKind::Int) || arguments.locs[at] == arguments.call) return;
  int64_t axis = arguments[at].as_int();
  axis_choices_[result] = {{dims, size_t(axis < 0 ? axis + int64_t(dims.size()) : axis), arguments.locs[at]},
                           arguments.call};
}

std::optional<ShapedOperand::Reduced> Blame::reduced_from(const Value* value) const {
  constexpr size_t most_conversions = 4;
  for (size_t i = 0; value && value->def() && i < most_conversions; ++i) {
    const Op* op = value->def();
    auto choice = axis_choices_.find(value);
    // An op that was dropped may have left its address to another one.
    if (choice != axis_choices_.end() && op->loc() == choice->second.call) {
      const Loc& written = choice->second.reduced.written;
      if (session_.is_builtin(written)) return std::nullopt;
      return choice->second.reduced;
    }
    bool is_conversion = op->operand_count() == 1 && op->operand(0)->type()->dims == value->type()->dims;
    value = is_conversion ? op->operand(0) : nullptr;
  }
  return std::nullopt;
}

void Blame::label_choice(DiagnosticEngine::Builder& builder, Loc chosen, Loc loc, const Value* value,
                         std::optional<DType> better, std::string_view use) const {
  builder.label(chosen, fmt::format("{} is chosen here", to_string(value->type()->dtype)));
  if (loc.known() && !session_.is_builtin(loc)) builder.label(loc, std::string(use));
  if (better) builder.fix(fmt::format("choose {}", to_string(*better)), chosen, std::string(to_string(*better)));
}

void Blame::label_accumulation(DiagnosticEngine::Builder& builder, const OperatorPlace& at, DType left,
                               DType right) const {
  if (!at.left.loc.known() || session_.is_builtin(at.left.loc)) return;
  builder.label(at.left.loc, fmt::format("@accum({})", to_string(left)))
      .label(at.right.loc, fmt::format("@accum({})", to_string(right)));
}

void Blame::label_dtype(DiagnosticEngine::Builder& builder, const Value* value, Loc reported) const {
  if (!value) return;
  const Value* source = source_of_dtype(value);
  Loc loc = source->def() ? source->def()->loc() : declared_at_(source);
  if (!loc.known() || session_.is_builtin(loc) || (loc.file == reported.file && loc.line == reported.line)) return;
  builder.label(loc, fmt::format("{} from here", to_string(value->type()->dtype)));
}

void Blame::label_operand(DiagnosticEngine::Builder& builder, const OperatorPlace& at, DType dtype) const {
  for (const Value* value : {at.left.value, at.right.value}) {
    if (value && value->type()->dtype == dtype) label_dtype(builder, value, at.loc);
  }
}

}  // namespace tessera::frontend
