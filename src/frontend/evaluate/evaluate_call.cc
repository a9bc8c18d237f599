// Calls: matching arguments with parameters, and running the body of a function.

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "frontend/evaluate/blame_names.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/fixes/foreign.h"
#include "frontend/fixes/operand_text.h"
#include "frontend/syntax/ast_walk.h"
#include "frontend/values/runtime_range.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

/// A parameter of a function or a builtin, as the matching sees it.
struct Slot {
  std::string_view name;
  bool keyword_only = false;
};

/// Says which parameter each argument goes to, for parameters that take one argument each.
class ArgumentMatcher {
 public:
  /// `definition` is unknown for a builtin; `undefined` are names that it uses and nothing defines.
  ArgumentMatcher(Evaluator& evaluator, std::string_view callee, std::vector<Slot> slots, Loc loc, Loc definition = {},
                  std::function<std::vector<std::string>()> undefined = {})
      : evaluator_(evaluator),
        callee_(callee),
        slots_(std::move(slots)),
        loc_(loc),
        definition_(definition),
        undefined_(std::move(undefined)) {
    chosen_.resize(slots_.size(), nullptr);
  }

  /// False when an argument has no parameter: a diagnostic for each name, and one where there are too many by position.
  bool match(const std::vector<CallArgument>& arguments) {
    size_t position = 0;
    bool fits = true;
    for (const CallArgument& argument : arguments) {
      if (!argument.name.empty()) {
        fits = take_keyword(argument) && fits;
      } else if (!take_positional(argument, position, arguments)) {
        return false;
      }
    }
    return fits;
  }
  /// The parameters are those of a module, which are written so, and others may follow them.
  void set_module(std::vector<std::string> written) { module_ = std::move(written); }
  /// How messages about a builtin write it, with its parameters.
  void set_signature(std::string signature) { signature_ = std::move(signature); }
  /// The argument for a parameter; null when none was given.
  const CallArgument* chosen(size_t i) const { return chosen_[i]; }
  void report_missing(size_t i) {
    note_definition(evaluator_.report(diag::missing_argument, loc_, slots_[i].name, callee_));
  }

 private:
  bool take_positional(const CallArgument& argument, size_t& position,
                       const std::vector<CallArgument>& arguments) {
    while (position < slots_.size() && slots_[position].keyword_only) ++position;
    if (position < slots_.size()) return take(position++, argument);
    size_t given = 0, taken = 0;
    for (const CallArgument& each : arguments) given += each.name.empty();
    for (const Slot& slot : slots_) taken += !slot.keyword_only;
    std::string_view noun = taken == slots_.size() ? "argument" : "positional argument";
    std::vector<std::string> missing = undefined_ ? undefined_() : std::vector<std::string>();
    bool lacks_parameters = !missing.empty() && missing.size() == given - taken;
    auto builder = evaluator_.report(diag::wrong_argument_count, lacks_parameters ? definition_ : argument.loc, callee_,
                                     counted(taken, noun), counted_verb(given));
    if (lacks_parameters) {
      note_lacking(builder, missing, argument.loc);
    } else if (slots_.empty() && signature_.find("**") != std::string::npos) {
      builder.help(fmt::format("its arguments have names: {}(name=value)", callee_));
    } else if (!definition_.known() && !slots_.empty() && slots_[0].name == "shape") {
      builder.help(fmt::format("a shape is one argument, a tuple: {}((B, D), f32)", callee_));
    } else if (std::string_view help = help_for_keyword(callee_, ""); !help.empty() && !definition_.known()) {
      builder.help(std::string(help));
    } else {
      if (definition_.known()) note_keywords(builder);
      note_definition(builder);
    }
    return false;
  }

  /// The definition uses as many names that nothing defines as the call gives arguments too many.
  void note_lacking(DiagnosticEngine::Builder& builder, const std::vector<std::string>& missing, Loc given) {
    builder.label(definition_, fmt::format("'{}' {} used in it, and no parameter", fmt::join(missing, "', '"),
                                           missing.size() == 1 ? "is" : "are"))
        .label(given, "it is given here")
        .help(help_for_missing(missing));
  }
  std::string help_for_missing(const std::vector<std::string>& missing) const {
    return fmt::format("give '{}' the parameter{} '{}'", callee_, missing.size() == 1 ? "" : "s",
                       fmt::join(missing, "', '"));
  }

  bool take_keyword(const CallArgument& argument) {
    std::vector<std::string> names;
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].name == argument.name) return take(i, argument);
      names.emplace_back(slots_[i].name);
    }
    Loc loc = argument.name_loc.known() ? argument.name_loc : argument.loc;
    auto builder = evaluator_.report(diag::unknown_keyword, loc, callee_, argument.name);
    std::string_view here = keyword_here(argument.name, names);
    bool is_known = !here.empty();
    if (is_known) builder.fix(fmt::format("it is '{}' here", here), loc, std::string(here));
    std::string_view help = is_known ? std::string_view() : help_for_keyword(callee_, argument.name);
    if (!help.empty()) builder.help(std::string(help));
    bool is_near = is_known || !help.empty() || note_undeclared(builder, argument.name) ||
                   builder.suggest(evaluator_.session().sources(), loc, argument.name, names);
    if (!is_near && !names.empty()) builder.help(fmt::format("its parameters are {}", fmt::join(names, ", ")));
    note_definition(builder, false);
    return false;
  }

  /// The definition uses the name of an argument, and does not declare it; said once for all such names.
  bool note_undeclared(DiagnosticEngine::Builder& builder, const std::string& name) {
    std::vector<std::string> missing = undefined_ ? undefined_() : std::vector<std::string>();
    if (std::ranges::find(missing, name) == missing.end()) return false;
    if (!std::exchange(undeclared_, true)) {
      std::vector<std::string> all = module_.value_or(std::vector<std::string>());
      for (const std::string& each : missing) all.push_back(each + ": dim");
      builder.help(module_ ? fmt::format("declare it: module {}({})", callee_, fmt::join(all, ", "))
                           : help_for_missing(missing));
    }
    return true;
  }

  /// The parameters that are given by name alone, where a call gives too much by position.
  void note_keywords(DiagnosticEngine::Builder& builder) const {
    std::vector<std::string> names;
    for (const Slot& slot : slots_) {
      if (slot.keyword_only) names.push_back(fmt::format("{}=…", slot.name));
    }
    if (!names.empty()) builder.help(fmt::format("others are given by name: {}", fmt::join(names, ", ")));
  }

  void note_definition(DiagnosticEngine::Builder builder, bool shows_parameters = true) {
    if (!definition_.known()) {
      if (!signature_.empty() && shows_parameters) builder.help(fmt::format("it is called as {}", signature_));
      return;
    }
    builder.label(definition_, fmt::format("'{}' is defined here", callee_));
  }

  bool take(size_t i, const CallArgument& argument) {
    if (!chosen_[i]) {
      chosen_[i] = &argument;
      return true;
    }
    auto builder = evaluator_.report(diag::repeated_argument, argument.loc, slots_[i].name, callee_);
    builder.label(chosen_[i]->loc, "it is given here first");
    bool is_part = chosen_[i]->value.is_ir() && (callee_ == "concat" || callee_ == "stack");
    if (is_part) builder.help(std::string(several_tensors));
    return false;
  }

  Evaluator& evaluator_;
  std::string_view callee_;
  std::vector<Slot> slots_;
  Loc loc_;
  Loc definition_;
  std::string signature_;
  std::function<std::vector<std::string>()> undefined_;
  std::optional<std::vector<std::string>> module_;  ///< its parameters
  bool undeclared_ = false;  ///< a name that is not declared was reported
  std::vector<const CallArgument*> chosen_;
};

/// That of a function or a module.
ArgumentMatcher matcher_of(Evaluator& evaluator, const Callable& callee, Loc loc) {
  std::vector<Slot> slots;
  for (const ast::Parameter& parameter : callee.parameters) {
    slots.push_back({parameter.name.text, parameter.keyword_only});
  }
  ArgumentMatcher matcher(evaluator, callee.name, std::move(slots), loc, callee.loc,
                          [&evaluator, callee] { return undefined_names(evaluator.session(), callee); });
  auto is_plain = [](const ast::Parameter& each) { return !each.default_value && !each.keyword_only; };
  if (callee.call != "instance" || !std::ranges::all_of(callee.parameters, is_plain)) return matcher;
  std::vector<std::string> written;
  for (const ast::Parameter& parameter : callee.parameters) {
    written.push_back(source_text(evaluator.session().sources(), parameter.loc));
  }
  matcher.set_module(std::move(written));
  return matcher;
}

/// The value of a name in a clause, when it is a size, a number or a text.
struct ClauseValue {
  std::string text;
  Loc loc;  ///< where it comes from
};

std::map<std::string, ClauseValue> clause_values(const ast::Expr& expr, Scope& scope) {
  std::map<std::string, ClauseValue> values;
  ast::walk(expr, [&](const ast::Node& node) {
    const auto* name = ast::as<ast::Name>(&node);
    Binding* binding = name ? scope.find_here(name->text) : nullptr;
    if (!binding) return;
    const Datum& value = binding->value;
    if (to_text(value) == name->text) return;  // a size that the caller calls the same
    switch (value.kind()) {
      case DatumKind::Int:
      case DatumKind::Float:
      case DatumKind::Dim:
      case DatumKind::String:
      case DatumKind::DType:
        values[std::string(name->text)] = {to_text(value), binding->loc};
        break;
      default:
        break;
    }
  });
  return values;
}

/// ", where D is 7 and H is 2"
std::string values_text(const std::map<std::string, ClauseValue>& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    text += fmt::format("{}{} is {}", text.empty() ? ", where " : " and ", name, value.text);
  }
  return text;
}

}  // namespace

namespace {

/// Whether an expression has a name of a package of another language, such as `torch.float16`.
bool names_package(const ast::Expr& expr, Scope& scope) {
  bool found = false;
  ast::walk(expr, [&](const ast::Node& node) {
    const auto* member = ast::as<ast::Attribute>(&node);
    const auto* name = member ? ast::as<ast::Name>(member->object) : nullptr;
    found = found || (name && is_package(name->text) && !scope.find(name->text));
  });
  return found;
}

}  // namespace

/// `ys.append(x)` in a run-time loop, which is reported with what fills a tensor of such values.
bool Evaluator::refuse_lengthening(const ast::Call& node, Scope& scope) {
  const auto* member = ast::as<ast::Attribute>(node.callee);
  const auto* list = member ? ast::as<ast::Name>(member->object) : nullptr;
  if (!list || node.arguments.empty() || !lengthens(member->name.text) || !is_of_loop(list->text)) return false;
  const Binding* binding = scope.find(list->text);
  if (!binding || binding->state != Binding::State::Ready || !binding->value.is(DatumKind::List)) return false;
  Datum element = evaluate(*node.arguments.back().value, scope);
  bool has_elements = member->name.text == "extend";
  if (has_elements) {
    element = element.is_sequence() && !element.elements().empty() ? element.elements().back() : Datum::poison();
  }
  report_list_member(*member, scope, element);
  return true;
}

Datum Evaluator::evaluate_call(const ast::Call& node, Scope& scope) {
  if (refuse_lengthening(node, scope)) return Datum::poison();
  Datum callee = evaluate(*node.callee, scope);
  if (const Datum* known = callee.unless_none()) callee = Datum(*known);
  std::vector<CallArgument> arguments;
  bool poisoned = callee.is_poison();
  for (const ast::Argument& argument : node.arguments) {
    CallArgument given;
    given.name = std::string(argument.name.text);
    given.name_loc = argument.name.loc;
    // What a function of a package is given is of that package, too, and no news.
    bool is_known = callee.is_poison() && names_package(*argument.value, scope);
    given.value = is_known ? Datum::poison() : evaluate(*argument.value, scope);
    given.loc = argument.value->loc;
    poisoned = poisoned || given.value.is_poison();
    arguments.push_back(std::move(given));
  }
  if (poisoned) return is_open() ? explore_call(callee, std::move(arguments), node.loc) : Datum::poison();
  if (EvaluationObserver* observer = session_.observer()) observer->called(node, callee);
  return call(callee, std::move(arguments), node.loc);
}

namespace {

/// `x.T()` and `x.shape()`: members that other libraries have as methods; `tile(x, 2)`, which is a module.
void help_uncallable(DiagnosticEngine::Builder& builder, const SourceManager& sources, const Datum& callee, Loc loc) {
  std::string written = source_text(sources, loc);
  if (!callee.is_ir() && !callee.is_sequence() && !callee.is(DatumKind::DType)) {
    bool is_tile = written.starts_with("tile(");
    if (!is_tile) return;
    builder.help("'tile' has the functions of kernels; copies beside each other are concat((x, x), axis=0)");
    return;
  }
  bool is_empty = written.ends_with("()") && loc.length >= 2;
  constexpr std::string_view members[] = {".T", ".shape", ".dtype"};
  for (std::string_view member : members) {
    if (!is_empty || !written.ends_with(fmt::format("{}()", member))) continue;
    Loc brackets = loc;
    brackets.column += loc.length - 2;
    brackets.length = 2;
    builder.fix(fmt::format("'{}' is not a function: leave the brackets out", member.substr(1)), brackets, "");
  }
}

}  // namespace

Datum Evaluator::call(const Datum& callee, std::vector<CallArgument> arguments, Loc loc) {
  switch (callee.kind()) {
    case DatumKind::Poison:
      return callee;
    case DatumKind::Function:
      return call_function(callee.as_function(), std::move(arguments), loc);
    case DatumKind::Builtin:
      return call_builtin(callee.as_builtin(), std::move(arguments), loc);
    case DatumKind::Object:
      return call_object(callee, std::move(arguments), loc);
    default:
      break;
  }
  auto builder = report(diag::not_callable, loc, describe(callee));
  help_uncallable(builder, session_.sources(), callee, loc);
  if (callee.is(DatumKind::DType)) {
    builder.help(fmt::format("a conversion is written cast(x, {})", to_text(callee)));
  }
  return Datum::poison();
}

namespace {

/// "tile.range(extent, step, *, start=None)"
std::string signature_text(const Builtin& builtin, std::string_view shown) {
  std::string text;
  bool is_marked = false;
  for (const BuiltinParameter& parameter : builtin.parameters) {
    if (parameter.kind != BuiltinParameterKind::Plain) {
      text += fmt::format("{}{}{}", text.empty() ? "" : ", ", parameter.kind == BuiltinParameterKind::Rest ? "*" : "**",
                          parameter.name);
      is_marked = is_marked || parameter.kind == BuiltinParameterKind::Rest;
      continue;
    }
    if (parameter.keyword_only && !is_marked) text += text.empty() ? "*" : ", *";
    is_marked = is_marked || parameter.keyword_only;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", parameter.name);
    if (!parameter.default_text.empty()) text += fmt::format("={}", parameter.default_text);
  }
  return fmt::format("{}({})", shown, text);
}

}  // namespace

std::optional<BoundArguments> Evaluator::bind_arguments(const Builtin& builtin,
                                                        std::vector<CallArgument> arguments,
                                                        Loc loc) {
  const BuiltinParameter* rest = nullptr;
  const BuiltinParameter* keywords = nullptr;
  std::vector<Slot> slots;
  for (const BuiltinParameter& parameter : builtin.parameters) {
    if (parameter.kind == BuiltinParameterKind::Plain) {
      slots.push_back({parameter.name, parameter.keyword_only});
    } else {
      (parameter.kind == BuiltinParameterKind::Rest ? rest : keywords) = &parameter;
    }
  }
  // Arguments for `*rest` and `**keywords` are set aside; the matcher gets the others.
  size_t positional = 0;
  for (const Slot& slot : slots) positional += !slot.keyword_only;
  std::vector<Datum> rest_values;
  Dictionary keyword_values;
  std::map<std::string, Loc> keyword_locs;
  std::vector<CallArgument> plain;
  std::vector<Loc> rest_locs;
  for (CallArgument& argument : arguments) {
    bool known = false;
    for (const Slot& slot : slots) known = known || slot.name == argument.name;
    if (argument.name.empty() && positional == 0 && rest) {
      rest_locs.push_back(argument.loc);
      rest_values.push_back(std::move(argument.value));
    } else if (!argument.name.empty() && !known && keywords) {
      auto [first, is_new] = keyword_locs.emplace(argument.name, argument.loc);
      if (!is_new) {
        report(diag::repeated_argument, argument.loc, argument.name, builtin.name)
            .label(first->second, "it is given here first");
        return std::nullopt;
      }
      keyword_values.entries.emplace_back(argument.name, std::move(argument.value));
    } else {
      if (argument.name.empty() && positional > 0) --positional;
      plain.push_back(std::move(argument));
    }
  }
  std::string shown = builtin.table == "ops" ? builtin.name : fmt::format("{}.{}", builtin.table, builtin.name);
  ArgumentMatcher matcher(*this, shown, std::move(slots), loc);
  matcher.set_signature(signature_text(builtin, shown));
  if (!matcher.match(plain)) return std::nullopt;
  BoundArguments bound;
  bound.call = loc;
  bound.rest = std::move(rest_locs);
  size_t slot = 0;
  for (const BuiltinParameter& parameter : builtin.parameters) {
    bound.locs.push_back(loc);
    if (&parameter == rest) {
      bound.values.push_back(Datum::tuple(std::exchange(rest_values, {})));
      if (!bound.rest.empty()) bound.locs.back() = bound.rest[0];
    } else if (&parameter == keywords) {
      bound.values.push_back(Datum::dict(std::exchange(keyword_values, {})));
    } else if (const CallArgument* given = matcher.chosen(slot++)) {
      bound.values.push_back(given->value);
      bound.locs.back() = given->loc;
    } else if (parameter.default_text.empty()) {
      matcher.report_missing(slot - 1);
      return std::nullopt;
    } else {
      bound.values.push_back(default_value(parameter));
    }
  }
  return bound;
}

namespace {

/// Whether an expression names a symbol that the arguments of a call give its value.
bool names_symbol(const Signature& signature, const ast::Expr& expr) {
  bool found = false;
  ast::walk(expr, [&](const ast::Node& node) {
    const auto* name = node.kind == ast::NodeKind::Name ? static_cast<const ast::Name*>(&node) : nullptr;
    if (name) found = found || signature.declares_dim(name->text) || signature.declares_dtype(name->text);
  });
  return found;
}

}  // namespace

namespace {

bool is_size(const Datum& value) { return value.is(DatumKind::Int) || value.is(DatumKind::Dim); }

bool are_sizes(const Datum& value) {
  return value.is_sequence() && std::ranges::all_of(value.elements(), is_size);
}

/// Whether a function of the standard library has no use for an argument, by the default of its parameter: sizes, or a
/// number, where the user gives something else. Without a default, it is anything but a text. An error inside of the
/// function would say less.
bool refuse_argument(const Evaluator& evaluator, const Callable& callee, const ast::Parameter& parameter,
                     const CallArgument& given, const Datum* otherwise) {
  const Datum& value = given.value;
  bool fits = !value.is(DatumKind::String);
  std::string_view wanted = "a tensor, a number or a tuple";
  if (otherwise && are_sizes(*otherwise) && !otherwise->elements().empty()) {
    fits = value.is_poison() || is_size(value) || are_sizes(value);
    wanted = "an integer or a tuple of integers";
  } else if (otherwise) {
    fits = fits || !otherwise->is_number();
    wanted = "a number";
  }
  if (fits) return false;
  std::string_view name = parameter.name.text;
  auto builder = evaluator.report(diag::wrong_kind, given.loc, fmt::format("argument '{}' of '{}'", name, callee.name),
                                  describe_given(value), wanted);
  std::string_view text = value.is(DatumKind::String) ? std::string_view(value.as_string()) : std::string_view();
  if (std::string_view help = help_for_text(name, text); !help.empty()) builder.help(std::string(help));
  return true;
}

}  // namespace

bool Evaluator::bind_parameters(const Callable& callee, std::vector<CallArgument> arguments,
                                Scope& scope, Loc loc, std::vector<Loc>& locs, const Signature* signature) {
  std::span<const ast::Parameter> parameters = callee.parameters;
  ArgumentMatcher matcher = matcher_of(*this, callee, loc);
  if (!matcher.match(arguments)) return false;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ast::Parameter& parameter = parameters[i];
    Datum value;
    if (const CallArgument* given = matcher.chosen(i)) {
      value = given->value;
      locs.push_back(given->loc);
      const ast::Expr* usual = parameter.default_value;
      bool is_asked = !parameter.annotation && session_.is_builtin(callee.loc) && !session_.is_builtin(given->loc) &&
                      !(usual && signature && names_symbol(*signature, *usual));
      Datum otherwise = is_asked && usual ? evaluate(*usual, scope) : Datum::none();
      if (is_asked && refuse_argument(*this, callee, parameter, *given, usual ? &otherwise : nullptr)) return false;
    } else if (parameter.default_value) {
      bool late = signature && names_symbol(*signature, *parameter.default_value);
      value = late ? Datum::object(std::make_shared<LateDefault>()) : evaluate(*parameter.default_value, scope);
      locs.push_back(parameter.default_value->loc);
    } else {
      matcher.report_missing(i);
      return false;
    }
    if (value.is_poison() && !is_open()) return false;
    scope.set(parameter.name.text, std::move(value), parameter.loc);
  }
  return true;
}

void Evaluator::match_parameters(const Callable& callee, const std::vector<CallArgument>& arguments, Loc loc) {
  ArgumentMatcher matcher = matcher_of(*this, callee, loc);
  if (!matcher.match(arguments)) return;
  for (size_t i = 0; i < callee.parameters.size(); ++i) {
    if (!matcher.chosen(i) && !callee.parameters[i].default_value) return matcher.report_missing(i);
  }
}

namespace {

/// What a clause asks for, in the words that the function which it calls begins with; empty where it has none.
std::string_view text_of_need(const ast::Expr& clause, Scope& scope) {
  const auto* call = ast::as<ast::Call>(&clause);
  const auto* name = call ? ast::as<ast::Name>(call->callee) : nullptr;
  Scope* where = nullptr;
  const Binding* binding = name ? scope.find(name->text, &where) : nullptr;
  if (binding && binding->alias_scope) binding = binding->alias_scope->find(binding->alias);
  const ast::Def* def = binding && binding->value.is(DatumKind::Function) ? binding->value.as_function().def : nullptr;
  const auto* first = def && !def->body.empty() ? ast::as<ast::ExprStmt>(def->body[0]) : nullptr;
  const auto* text = first ? ast::as<ast::String>(first->value) : nullptr;
  return text ? text->value : std::string_view();
}

/// Offers what makes `are_of_axis(vectors, x, axis)` hold, a clause of norms: another axis, or other arguments.
bool help_vectors(const Blame& blame, DiagnosticEngine::Builder& builder, const Callable& callee,
                  const ast::Expr& clause, Scope& scope, std::span<const Loc> locs) {
  const auto* call = ast::as<ast::Call>(&clause);
  const auto* name = call ? ast::as<ast::Name>(call->callee) : nullptr;
  const auto* vectors = name && call->arguments.size() == 3 ? ast::as<ast::Tuple>(call->arguments[0].value) : nullptr;
  if (!vectors || name->text != "are_of_axis" || locs.size() != callee.parameters.size()) return false;
  auto given = [&](const ast::Expr* expr) {
    const auto* written = ast::as<ast::Name>(expr);
    auto is_its = [&](const ast::Parameter& each) { return written && each.name.text == written->text; };
    size_t i = size_t(std::ranges::find_if(callee.parameters, is_its) - callee.parameters.begin());
    const Binding* binding = written ? scope.find(written->text) : nullptr;
    return std::pair(i < locs.size() ? locs[i] : Loc(), binding ? binding->value : Datum::none());
  };
  ShapeQuestion question;
  auto ask = [&](const ast::Expr* expr, size_t rank) {
    auto [loc, value] = given(expr);
    std::string what = fmt::format("argument '{}'", source_text(blame.sources(), expr->loc));
    if (value.is_ir()) question.operands.push_back(blame.asked(loc, std::move(what), *value.as_ir().value, rank));
  };
  ask(call->arguments[1].value, 0);
  if (question.operands.empty()) return false;
  for (const ast::Expr* each : vectors->elements) ask(each, 1);
  auto fits_along = [](const Shapes& shapes, size_t axis) {
    auto is_of_axis = [&](const std::vector<Dim>& dims) { return dims == std::vector<Dim>{shapes[0][axis]}; };
    return std::all_of(shapes.begin() + 1, shapes.end(), is_of_axis);
  };
  question.fits = [&](const Shapes& shapes) { return !shapes[0].empty() && fits_along(shapes, shapes[0].size() - 1); };
  bool is_last = ast::written_number(call->arguments[2].value) == -1;
  if (is_last && blame.help_shapes(builder, question)) return true;
  Shapes now;
  for (const ShapedOperand& operand : question.operands) now.push_back(operand.dims);
  for (size_t i = 0; i < now[0].size(); ++i) {
    if (!fits_along(now, i)) continue;
    builder.help(is_last ? fmt::format("the vectors are as long as axis {} of {}, and '{}' works along the last", i,
                                       question.operands[0].what, callee.name)
                         : fmt::format("the shapes fit with axis={}", i));
    return true;
  }
  return false;
}

}  // namespace

bool Evaluator::check_clauses(const Callable& callee, ast::ExprList where, Scope& scope, Loc loc,
                              std::span<const Loc> locs, Undecided undecided) {
  const bool is_assumed = is_open() || undecided == Undecided::Assumed;
  for (const ast::Expr* clause : where) {
    auto help_shapes = [&](DiagnosticEngine::Builder& builder) {
      return help_vectors(blame_, builder, callee, *clause, scope, locs);
    };
    auto ask = [&] {
      // Diagnostics of the clause name this call.
      CallFrame& asking = push_frame(callee.name, callee.call, loc);
      asking.is_clause = true;
      asking.help = help_shapes;
      asking.refuses_undecided = !is_assumed;
      std::optional<bool> holds = expect_bool(evaluate(*clause, scope), clause->loc, "a 'where' clause");
      return ClauseAnswer{holds, pop_frame().undecided};
    };
    ClauseAnswer answer = ask();
    if (!answer.holds && is_assumed) {
      assume_clause(callee, *clause, loc, ask, answer);
      continue;
    }
    if (!answer.holds) return false;
    if (*answer.holds) continue;
    std::map<std::string, ClauseValue> values = clause_values(*clause, scope);
    std::string written = source_text(session_.sources(), clause->loc);
    std::string_view need = text_of_need(*clause, scope);
    std::string_view called = blame_.function_at(loc, callee.name);
    auto builder = need.empty() ? report(diag::false_where, loc, written, values_text(values))
                                : report(diag::unmet_need, loc, called, need, values_text(values));
    builder.label(clause->loc, fmt::format("'{}' asks for it here", callee.name));
    if (session_.is_builtin(callee.loc)) help_shapes(builder);
    std::string_view help = help_for_clause(written, callee.name);
    if (!help.empty() && session_.is_builtin(callee.loc)) builder.help(std::string(help));
    for (const auto& [name, value] : values) {
      bool is_elsewhere = value.loc.known() && value.loc.line != loc.line && !session_.is_builtin(value.loc);
      if (is_elsewhere && callee.call == "call") builder.label(value.loc, fmt::format("'{}' is {}", name, value.text));
    }
    return false;
  }
  return true;
}

bool Evaluator::may_call(const Function& function, Loc loc) {
  for (const CallFrame& frame : frames_) {
    if (frame.function != &function) continue;
    report(diag::recursive_call, loc, function.name)
        .help("calls are unrolled at compile time; a loop over range(n) can replace the recursion");
    return false;
  }
  if (frames_.size() < call_depth_limit) return true;
  report(diag::unsupported_nesting, loc, call_depth_limit);
  return false;
}

CallFrame& Evaluator::push_frame(std::string_view name, std::string_view kind, Loc call) {
  CallFrame frame;
  frame.name = name;
  frame.kind = kind;
  frame.call = call;
  if (!frames_.empty()) {
    frame.device = frames_.back().device;
    frame.is_shared = frames_.back().is_shared;
  }
  return frames_.emplace_back(std::move(frame));
}

CallFrame Evaluator::pop_frame() {
  CallFrame done = std::move(frames_.back());
  frames_.pop_back();
  std::string_view device = frames_.empty() ? std::string_view() : frames_.back().device;
  if (session_.observer() && done.device != device) session_.observer()->placed(device);
  return done;
}

/// Reports the parameters of a call to the observer, with the symbols that its arguments give values.
void Evaluator::observe_parameters(const Function& function, Scope& scope) {
  auto observe_name = [&](std::string_view name, Loc loc) {
    if (Binding* binding = scope.find_here(name)) observe(name, loc, binding->value);
  };
  for (const ast::Parameter& parameter : function.parameters()) {
    observe_name(parameter.name.text, parameter.name.loc);
  }
  const Signature* signature = function.def ? session_.known_signature(function) : nullptr;
  if (!signature) return;
  for (const DeclaredSymbol& symbol : signature->dims) observe_name(symbol.name, symbol.loc);
  for (const DeclaredSymbol& symbol : signature->dtypes) observe_name(symbol.name, symbol.loc);
}

CallFrame Evaluator::run_body(const Function& function, Scope& scope, Loc loc) {
  CallFrame refused;
  refused.function = &function;
  refused.result = Datum::poison();
  if (!may_call(function, loc)) return refused;
  if (!function.unsupported.empty()) {
    Loc place = function.loc;
    for (const ast::Decorator& decorator : function.def->decorators) {
      if (decorator.path.back().text == function.unsupported) place = decorator.loc;
    }
    auto builder = report(diag::unsupported_construct, place, fmt::format("decorator '@{}'", function.unsupported));
    std::string_view help = help_for_decorator(function.unsupported);
    if (!help.empty()) builder.help(std::string(help));
    return refused;
  }
  if (function.def && function.def->is_declaration()) {
    unsupported(loc, fmt::format("function '{}', which has no body,", function.name));
    return refused;
  }
  const std::optional<SizeFacts> outside = is_open() ? std::optional(facts_) : std::nullopt;
  push_frame(function.name, "call", loc).function = &function;
  if (session_.observer()) observe_parameters(function, scope);
  if (function.lambda) {
    frame().result_loc = function.lambda->body->loc;
    frame().result = evaluate(*function.lambda->body, scope);
  } else {
    execute(function.def->body, scope);
  }
  join_results();
  warn_of_uncaused(blame_, frame());
  frame().add_declared(function);
  check_effects(blame_, frame());
  CallFrame done = pop_frame();
  if (outside) facts_ = *outside;  // what its conditions let hold ends with it
  if (EvaluationObserver* observer = session_.observer()) {
    std::set<std::string> effects;
    for (const auto& [effect, sites] : done.effects) effects.insert(effect);
    observer->returned(function, done.result, effects);
  }
  // The None that it returns may be that of another function.
  bool lacks_result = done.result.is_none() && !done.result.lacks_result_of() && function.def;
  if (lacks_result) done.result = Datum::no_result(&function);
  if (!frames_.empty()) frame().add_effects(done);
  return done;
}

}  // namespace tessera::frontend
