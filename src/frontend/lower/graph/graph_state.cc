// State objects in graph functions. An entry's parameter `cache: KVCache[…]` is one input for each
// tensor of the object ("cache.K"). A returned object is one result for each, in the memory of that
// input. An update makes new tensors: gir.update_slice for a part, any op for a whole field.

#include <algorithm>

#include "frontend/fixes/operand_text.h"
#include "frontend/lower/graph/graph_builder.h"
#include "frontend/values/dims.h"
#include "frontend/values/dtype_values.h"
#include "frontend/values/modules.h"
#include "frontend/values/type_text.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

/// The axis of a cache's tensors that counts positions.
constexpr size_t position_axis = 2;

std::string effect_of(const StateValue& state) {
  return fmt::format("state({})", state.name());
}

/// The argument for a parameter in a call of a method with plain arguments; null when there is
/// none.
const CallArgument* given(const std::vector<CallArgument>& arguments, size_t position,
                          std::string_view name) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    bool here = arguments[i].name.empty() ? i == position : arguments[i].name == name;
    if (here) return &arguments[i];
  }
  return nullptr;
}

}  // namespace

/// A tensor of an entry's parameter, as an argument of the function.
void GraphBuilder::add_field(StateValue::Fields& fields, const std::string& state, std::string_view field,
                             const std::vector<Dim>& extents, const NumericType& type, Loc loc) {
  std::string key = fmt::format("{}.{}", state, field);
  Value* argument = add_argument(key, "input", context().tensor(extents, type.storage, type.policies));
  IrValue value = handle(argument, type, loc).as_ir();
  value.name = context().intern(key);
  fields.emplace_back(field, value);
}

/// The object that an entry's parameter is, of fields that are arguments; poison when an error was reported.
Datum GraphBuilder::held_state(const TypePattern& pattern, const std::string& name, StateValue::Fields fields,
                               Datum form) {
  for (const auto& [field, value] : fields) {
    if (!check_memory(value.storage, pattern.loc, fmt::format("'{}.{}'", name, field))) return Datum::poison();
  }
  auto state = std::make_shared<StateValue>(pattern.state, name, pattern.state_policies, std::move(fields),
                                            std::move(form));
  function_.states[name].first = state.get();
  return Datum::object(std::move(state));
}

/// The state of an optimiser for a tensor or the floats of a tree.
Datum GraphBuilder::optimiser_state(const TypePattern& pattern, const std::string& name, Loc loc, Scope& scope) {
  Datum of = evaluator_.evaluate(*pattern.state_of, scope);
  std::vector<std::pair<std::string, std::vector<Dim>>> params;
  Datum form = state_form(of, "", pattern.state_of->loc, params);
  if (form.is_poison()) return form;
  std::vector<std::string> kinds = {"m", "v"};
  if (pattern.state_policies.fp32_master) kinds.push_back("master");
  StateValue::Fields fields;
  for (const std::string& kind : kinds) {
    for (const auto& [path, extents] : params) {
      add_field(fields, name, joined_key(kind, path), extents, {DType::F32, {}, false}, loc);
    }
  }
  add_field(fields, name, "step", {}, {DType::I64, {}, false}, loc);
  return held_state(pattern, name, std::move(fields), form.is(DatumKind::String) ? Datum::none() : std::move(form));
}

const TypePattern* open_state(const TypePattern& pattern) {
  if (pattern.kind == PatternKind::Tuple) {
    for (const TypePattern& element : pattern.elements) {
      if (const TypePattern* open = open_state(element)) return open;
    }
  }
  if (pattern.kind != PatternKind::State) return nullptr;
  bool open = pattern.state == StateKind::KVCache ? pattern.dims.empty() : !pattern.state_of;
  return open ? &pattern : nullptr;
}

void GraphBuilder::report_open_state(const SignatureParameter& parameter) {
  const TypePattern& pattern = *open_state(parameter.type);
  report(diag::malformed_type, pattern.loc,
         fmt::format("entry's parameter '{}' is a '{}' of no size", parameter.name,
                     to_string(pattern.state)))
      .help(pattern.state == StateKind::KVCache
                ? "write its dims and dtype: KVCache[\"B\", \"H\", \"S_max\", \"D_h\", bf16]"
                : "write of which parameter: OptimizerState[w]");
}

Datum GraphBuilder::state_input(const TypePattern& pattern, const std::string& name, Loc loc,
                                Scope& scope) {
  TSR_CHECK(!open_state(pattern), "an entry with an open state is compiled where it is called");
  if (pattern.state == StateKind::OptimizerState) return optimiser_state(pattern, name, loc, scope);
  auto type = written_type(pattern, scope);
  auto extents = type ? evaluate_dims(evaluator_, pattern, scope) : std::nullopt;
  if (!extents) return Datum::poison();
  StateValue::Fields fields;
  add_field(fields, name, "K", *extents, *type, loc);
  add_field(fields, name, "V", *extents, *type, loc);
  add_field(fields, name, "length", {}, {DType::I64, {}, false}, loc);
  return held_state(pattern, name, std::move(fields), Datum::none());
}

/// Checks an object against a written type, whose dims have been bound or are those of the scope.
Datum GraphBuilder::conform_state(const TypePattern& pattern, const Datum& value, Scope& scope, Loc loc,
                                  const std::string& what) {
  const auto* state = value.object_as<StateValue>();
  bool parts = value.is_sequence() && pattern.state == StateKind::KVCache && pattern.dims.empty();
  if (parts) return value;  // keys, values and their number, for a kernel
  if (!state || state->kind() != pattern.state) {
    std::string_view article = pattern.state == StateKind::OptimizerState ? "an" : "a";
    report(diag::wrong_kind, loc, what, describe(value), fmt::format("{} {}", article, to_string(pattern.state)));
    return Datum::poison();
  }
  if (!is_current(*state, loc)) return Datum::poison();
  const IrValue* keys = state->field("K");
  if (pattern.dims.empty() || !keys) return value;
  auto type = written_type(pattern, scope);
  if (!type || !check_dims(pattern, *keys, scope, loc, what)) return Datum::poison();
  if (type->storage != keys->storage) {
    report(diag::dtype_mismatch, loc, what, to_string(keys->storage), to_string(type->storage))
        .label(pattern.loc, "the type is written here");
    return Datum::poison();
  }
  if (pattern.state_policies.rolling_window == state->policies().rolling_window) return value;
  report(diag::wrong_kind, loc, what,
         state->policies().rolling_window ? "a KVCache with @rolling_window" : "a KVCache without @rolling_window",
         "one as its type says")
      .label(pattern.loc, "the type is written here");
  return Datum::poison();
}

bool GraphBuilder::is_current(const StateValue& state, Loc loc) {
  if (!state.spent()) return true;
  bool is_name = state.name().find('.') == state.name().npos;  // no element of a list, which is no target
  std::string next = is_name ? fmt::format("{0} = {0}.append(…)", state.name()) : "cache = cache.append(…)";
  if (state.kind() != StateKind::KVCache) next = fmt::format("w, {0} = adamw(w, {0}, …)", state.name());
  if (std::string object = source_text(session().sources(), *state.spent()); !is_name) {
    object = object.substr(0, object.find('.'));
    auto in_name = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
    bool is_variable = !object.empty() && std::all_of(object.begin(), object.end(), in_name);
    if (is_variable) next = fmt::format("{0} = {0}.append(…)", object);
  }
  report(diag::state_spent, loc, state.name())
      .label(*state.spent(), "it is updated here")
      .help("use the result of the update: " + next);
  return false;
}

Datum GraphBuilder::state_member(const Datum& datum, const ast::Identifier& name) {
  const auto& state = *datum.object_as<StateValue>();
  if (!is_current(state, name.loc)) return Datum::poison();
  if (const IrValue* field = state.field(name.text)) return Datum::ir(*field);
  if (std::optional<Datum> tree = state_tree(state, name.text)) return *tree;
  bool cache = state.kind() == StateKind::KVCache;
  if (const IrValue* keys = state.field("K"); keys && (name.text == "shape" || name.text == "dtype")) {
    return evaluator_.attribute(Datum::ir(*keys), name, name.loc);
  }
  std::vector<std::string> methods = {"replace", "offload", "prefetch"};
  if (cache) methods.insert(methods.end(), {"append", "prune", "view"});
  if (std::find(methods.begin(), methods.end(), name.text) != methods.end()) {
    return Datum::object(std::make_shared<StateMethod>(datum, std::string(name.text)));
  }
  auto builder = report(diag::unknown_member, name.loc, describe(datum), name.text);
  if (builder.suggest(session().sources(), name.loc, name.text, methods)) return Datum::poison();
  if (!cache && name.text == "master") {
    builder.help("weights of narrow floats are trained by a copy in f32: the entry's type of state is "
                 "'OptimizerState[…] @fp32_master'");
    return Datum::poison();
  }
  builder.help(cache ? "a cache has K, V, length, shape, dtype, append, prune, view, replace, offload and prefetch"
                  : "an optimiser's state has m, v, step, with @fp32_master also master, and replace, "
                    "offload and prefetch");
  return Datum::poison();
}

std::optional<Datum> GraphBuilder::call_object(const Datum& callee, std::vector<CallArgument>& arguments, Loc loc) {
  if (const auto* method = callee.object_as<StateMethod>()) {
    return call_method(*method, std::move(arguments), loc);
  }
  return call_transform(callee, arguments, loc);
}

Datum GraphBuilder::call_method(const StateMethod& method, std::vector<CallArgument> arguments, Loc loc) {
  const std::string& name = method.name();
  const Datum& state = method.datum();
  if (!is_current(method.state(), loc)) return Datum::poison();
  if (name == "replace") return replace(state, arguments, loc);
  static const std::map<std::string_view, std::vector<std::string_view>> parameters = {
      {"append", {"k", "v"}}, {"prune", {"n"}}, {"view", {}}, {"offload", {}}, {"prefetch", {}}};
  const std::vector<std::string_view>& names = parameters.at(name);
  for (const CallArgument& argument : arguments) {
    bool known = argument.name.empty() || std::find(names.begin(), names.end(), argument.name) != names.end();
    if (known) continue;
    report(diag::unknown_keyword, argument.loc, name, argument.name);
    return Datum::poison();
  }
  if (arguments.size() != names.size()) {
    report(diag::wrong_argument_count, loc, name,
           fmt::format("{} argument{}", names.size(), names.size() == 1 ? "" : "s"),
           fmt::format("{} {}", arguments.size(), arguments.size() == 1 ? "is" : "are"));
    return Datum::poison();
  }
  if (name == "append") return append(state, arguments, loc);
  if (name == "prune") return prune(state, arguments, loc);
  if (name == "view") {
    return Datum::tuple({Datum::ir(*method.state().field("K")), Datum::ir(*method.state().field("V"))});
  }
  // Where memory lies is the caller's: on one device the object stays what it is.
  report(diag::hint_no_effect, loc, fmt::format("'{}'", name), "any target")
      .note({}, "moving memory in advance is not there yet");
  evaluator_.add_effect(effect_of(method.state()), loc);
  return state;
}

/// From here on another object has the state's memory; of what is no state nothing.
void GraphBuilder::spend(const Datum& datum, Loc loc) {
  const auto* state = datum.object_as<StateValue>();
  if (!state) return;
  state->spend(blame().place_of(loc));
  function_.spent.push_back(datum);
}

/// The object with other tensors, after which the one before is spent.
Datum GraphBuilder::updated(const Datum& datum, StateValue::Fields fields, Loc loc) {
  const auto& state = *datum.object_as<StateValue>();
  evaluator_.add_effect(effect_of(state), loc);
  spend(datum, loc);
  function_.states[state.name()].updated = blame().place_of(loc);
  for (auto& [name, value] : fields) {
    value.name = context().intern(fmt::format("{}.{}", state.name(), name));
    value.origin = loc;
  }
  return state.with(std::move(fields));
}

/// The bits of what is appended, as the cache stores them; null when an error was reported.
Value* GraphBuilder::appended_part(const StateValue& cache, const IrValue& part, std::string_view what, Loc loc) {
  const IrValue& held = *cache.field("K");
  const std::vector<Dim>& dims_now = part.value->type()->dims;
  const std::vector<Dim>& room = held.value->type()->dims;
  std::string name = subject(part, what);
  ShapeQuestion question;
  question.operands = {blame().asked(loc, std::string(what), *part.value, room.size())};
  question.swaps_axes = true;
  question.fits = [&](const Shapes& shapes) {
    std::vector<Dim> wanted = room;
    if (shapes[0].size() == wanted.size()) wanted[position_axis] = shapes[0][position_axis];
    return shapes[0] == wanted;
  };
  if (dims_now.size() != room.size()) {
    auto builder = report(diag::rank_mismatch, loc, name, dims_now.size(), room.size());
    builder.help("the appended value has the dims [B, H, S, D_h] of the cache, S being its own");
    blame().help_shapes(builder, question);
    return nullptr;
  }
  for (size_t i = 0; i < room.size(); ++i) {
    if (i == position_axis || dims_now[i] == room[i]) continue;
    DimPlace here = place(part, i, what);
    report_unequal(blame(), loc, here, place(held, i, cache.name()), &question);
    return nullptr;
  }
  bool fits = part.weak ? is_float(held.storage) : widens_to(part.storage, held.storage);
  if (!fits) {
    auto builder = report(diag::narrowing, loc, name, to_string(part.storage), to_string(held.storage));
    blame().help_conversion(builder, loc, held.storage);
    return nullptr;
  }
  builder_.set_loc(loc);
  return in_dtype(part, held.storage);
}

/// That there is room for the positions: at compile time that they can fit at all, and when the
/// program runs that they still do.
bool GraphBuilder::check_append(const StateValue& cache, Value* k, Loc loc) {
  const IrValue& held = *cache.field("K");
  Dim length = k->type()->dims[position_axis], room = held.value->type()->dims[position_axis];
  std::optional<bool> has_room = decide(dims(), ast::CompareOp::LessEqual, length, room, evaluator_.facts());
  if (has_room != true) {
    auto builder = session().report(diag::append_too_long, loc, length->text, room->text, cache.name());
    if (has_room == false) {
      builder.help(fmt::format("there are always more positions than it holds: give '{}' room for {}", cache.name(),
                              length->text));
    } else {
      blame().help_clause(builder, {Relation::LessEqual, length, room});
    }
    return false;
  }
  if (cache.policies().rolling_window) return true;
  // Whatever number a caller gives as the length, nothing here wraps.
  Value* held_length = cache.field("length")->value;
  Value* zero = graph::dim(builder_, dims().constant(0));
  Value* most = graph::dim(builder_, dims().sub(room, length));
  Value* is_length = graph::elementwise(builder_, ElementwiseKind::Le, {zero, held_length});
  Value* is_free = graph::elementwise(builder_, ElementwiseKind::Le, {held_length, most});
  Value* fits = graph::elementwise(builder_, ElementwiseKind::And, {is_length, is_free});
  builder_.op(
      graph::info(graph::OpKind::Check), {{fits}}, {},
      {graph::attr::Check::message(
          context(), fmt::format("{}.length + {} <= {} does not hold: the cache is full, or its "
                                 "length is below 0",
                                 cache.name(), length->text, room->text))});
  return true;
}

/// The positions after those that are there; with a rolling window over the oldest.
Datum GraphBuilder::append(const Datum& datum, const std::vector<CallArgument>& arguments, Loc loc) {
  const auto& cache = *datum.object_as<StateValue>();
  Value* parts[2] = {nullptr, nullptr};
  std::string_view names[2] = {"k", "v"};
  for (size_t i = 0; i < 2; ++i) {
    const CallArgument* argument = given(arguments, i, names[i]);
    if (!argument) {
      report(diag::missing_argument, loc, names[i], "append");
      return Datum::poison();
    }
    auto part = expect_tensor(argument->value, argument->loc, fmt::format("argument '{}'", names[i]));
    parts[i] = part ? appended_part(cache, *part, fmt::format("argument '{}'", names[i]), argument->loc) : nullptr;
    if (!parts[i]) return Datum::poison();
  }
  builder_.set_loc(loc);
  Dim length = parts[0]->type()->dims[position_axis];
  if (parts[1]->type()->dims[position_axis] != length) {
    report_unequal(blame(), loc, {length, loc, dimension_of(position_axis, "'k'")},
                   {parts[1]->type()->dims[position_axis], loc, dimension_of(position_axis, "'v'")});
    return Datum::poison();
  }
  if (!check_append(cache, parts[0], loc)) return Datum::poison();
  StateValue::Fields fields = cache.fields();
  Value* start = cache.field("length")->value;
  for (size_t i = 0; i < 2; ++i) {
    fields[i].second.value = graph::update_slice(builder_, fields[i].second.value, parts[i], start, position_axis,
                                                 cache.policies().rolling_window);
  }
  fields[2].second.value = graph::add(builder_, start, graph::dim(builder_, length));
  return updated(datum, std::move(fields), loc);
}

/// A number of positions in the source that a cache cannot keep.
bool GraphBuilder::check_kept(const StateValue& cache, const CallArgument& kept) {
  if (!kept.value.is(DatumKind::Int)) return true;
  int64_t count = kept.value.as_int();
  Dim capacity = cache.field("K")->value->type()->dims[position_axis];
  if (count >= 0 && (!capacity->constant() || count <= *capacity->constant())) return true;
  std::string most = fmt::format("a number of positions up to {}, the capacity of '{}',", capacity->text, cache.name());
  report(diag::wrong_kind, kept.loc, "the argument of 'prune'", fmt::format("{}", count),
         count < 0 ? "a number of positions from 0 up" : most);
  return false;
}

/// The first `n` positions alone.
Datum GraphBuilder::prune(const Datum& datum, const std::vector<CallArgument>& arguments, Loc loc) {
  const auto& cache = *datum.object_as<StateValue>();
  if (cache.policies().rolling_window) {
    return evaluator_.unsupported(loc, "'prune' of a cache with @rolling_window, whose first positions may be gone,");
  }
  if (!check_kept(cache, arguments[0])) return Datum::poison();
  builder_.set_loc(loc);
  Value* kept = operand(arguments[0].value, DType::I64, {}, arguments[0].loc);
  if (!kept) return Datum::poison();
  StateValue::Fields fields = cache.fields();
  Value* least = graph::elementwise(builder_, ElementwiseKind::Min, {fields[2].second.value, kept});
  Value* zero = graph::scalar(builder_, 0, DType::I64);
  fields[2].second.value = graph::elementwise(builder_, ElementwiseKind::Max, {least, zero});
  return updated(datum, std::move(fields), loc);
}

/// Puts another tensor in the place of a field that is there; false when an error was reported.
bool GraphBuilder::replace_field(StateValue::Fields& fields, const std::string& name, const Datum& given, Loc loc) {
  IrValue& held = std::ranges::find(fields, name, &StateValue::Fields::value_type::first)->second;
  std::string what = fmt::format("field '{}'", name);
  auto value = expect_tensor(given, loc, what);
  if (!value) return false;
  if (value->value->type()->dims != held.value->type()->dims) {
    if (may_fit(Datum::ir(held), given, what, loc)) return false;
    report(diag::wrong_kind, loc, what, with_article(value->value->type()), with_article(held.value->type()));
    return false;
  }
  if (!widens_to(value->storage, held.storage) && !(value->weak && is_float(held.storage))) {
    auto builder = report(diag::narrowing, loc, what, to_string(value->storage), to_string(held.storage));
    blame().help_conversion(builder, loc, held.storage);
    return false;
  }
  builder_.set_loc(loc);
  held.value = in_dtype(*value, held.storage);
  return true;
}

/// The object with some tensors, or trees of them, replaced by others of their types.
Datum GraphBuilder::replace(const Datum& datum, const std::vector<CallArgument>& arguments, Loc loc) {
  const auto& state = *datum.object_as<StateValue>();
  StateValue::Fields fields = state.fields();
  for (const CallArgument& argument : arguments) {
    bool is_tree = !state.form().is_none() && state_tree(state, argument.name);
    if (!state.field(argument.name) && !is_tree) {
      report(diag::unknown_keyword, argument.loc, "replace", argument.name.empty() ? "…" : argument.name)
          .help(argument.name == "master"
                    ? "a state has masters where the entry's type says so: OptimizerState[…] @fp32_master"
                    : "fields are given by name: state.replace(step=state.step + 1)");
      return Datum::poison();
    }
    std::vector<std::vector<Datum>> rows = {{Datum::string(""), argument.value}};
    if (is_tree) {
      rows.clear();
      if (!flatten(state.form(), {argument.value}, "", argument.loc, rows)) return Datum::poison();
    }
    for (const std::vector<Datum>& row : rows) {
      if (!replace_field(fields, joined_key(argument.name, row[0].as_string()), row[1], argument.loc))
        return Datum::poison();
    }
  }
  return updated(datum, std::move(fields), loc);
}

/// State that the entry changes and keeps to itself would be lost.
bool GraphBuilder::check_states_returned(const Function& function) {
  for (const auto& [name, held] : function_.states) {
    if (!held.updated || held.returned) continue;
    std::string_view list = std::string_view(name).substr(0, name.find('.'));
    std::string what = list == name ? fmt::format("return it with the other results: return …, {}", name)
                                    : fmt::format("return it in a list, as '{}' is one", list);
    report(diag::state_lost, *held.updated, name, function.name).help(std::move(what));
    return false;
  }
  return true;
}

}  // namespace tessera::frontend
