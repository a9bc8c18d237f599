// Trees: values by the names of a module's params, with lists and tuples of them. tree_map goes through several at
// once, and update gives params new values.

#include <algorithm>

#include "frontend/fixes/operand_text.h"
#include "frontend/lower/graph/graph_builder.h"
#include "frontend/values/modules.h"
#include "frontend/values/state.h"
#include "frontend/values/type_text.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

/// Whether a member of a module has params: it is one, a module, or a list of modules.
bool has_params(const Datum& member) {
  if (member.object_as<ParamReference>() || member.object_as<ModuleInstance>()) return true;
  return member.is_sequence() && std::ranges::any_of(member.elements(), has_params);
}

/// The tree with other leaves, from `next` on. The form of a module is that of a tree called `what`.
Datum rebuilt(const Datum& tree, const std::vector<Datum>& leaves, size_t& next, const std::string& what) {
  auto part = [&](const Datum& of) { return rebuilt(of, leaves, next, what); };
  if (const auto* instance = tree.object_as<ModuleInstance>()) {
    Dictionary members;
    for (const auto& [name, member] : instance->members()) {
      if (has_params(member)) members.entries.emplace_back(name, part(member));
    }
    return Datum::object(std::make_shared<Tree>(what, std::move(members)));
  }
  if (const auto* named = tree.object_as<Tree>()) return named->replaced(part);
  if (tree.is_none()) return tree;
  if (!tree.is_sequence()) return leaves[next++];
  std::vector<Datum> elements;
  for (const Datum& element : tree.elements()) elements.push_back(part(element));
  return tree.is(DatumKind::Tuple) ? Datum::tuple(std::move(elements)) : Datum::list(std::move(elements));
}

}  // namespace

/// The parts of a tree by name; nullopt of a leaf.
std::optional<Dictionary> GraphBuilder::parts_of(const Datum& tree, Loc loc) {
  Dictionary parts;
  if (const auto* instance = tree.object_as<ModuleInstance>()) {
    for (const auto& [name, member] : instance->members()) {
      if (!has_params(member)) continue;
      const auto* reference = member.object_as<ParamReference>();
      std::optional<Datum> tensor = reference ? param(reference->declaration(), loc) : member;
      parts.entries.emplace_back(name, tensor.value_or(Datum::poison()));
    }
    return parts;
  }
  if (const auto* named = tree.object_as<Tree>()) return named->members();
  if (!tree.is_sequence()) return std::nullopt;
  for (const Datum& element : tree.elements()) {
    parts.entries.emplace_back(std::to_string(parts.entries.size()), element);
  }
  return parts;
}

/// Appends the leaves of `tree`, and to `others` those of trees of its form beside them; nothing for None. False when
/// an error was reported.
bool GraphBuilder::flatten(const Datum& tree, const std::vector<Datum>& beside, const std::string& path, Loc loc,
                           std::vector<std::vector<Datum>>& rows) {
  std::optional<Dictionary> parts = parts_of(tree, loc);
  if (!parts) {
    if (tree.is_poison()) return false;
    if (tree.is_none()) return true;
    rows.push_back({tree});
    rows.back().insert(rows.back().end(), beside.begin(), beside.end());
    return true;
  }
  std::vector<Dictionary> others;
  for (const Datum& other : beside) {
    std::optional<Dictionary> found = parts_of(other, loc);
    bool fits = found && found->entries.size() == parts->entries.size();
    for (size_t i = 0; fits && i < parts->entries.size(); ++i) fits = found->get(parts->entries[i].first);
    if (!fits) {
      std::string at = path.empty() ? "" : fmt::format(" at '{}'", path);
      report(diag::wrong_kind, loc, fmt::format("what stands beside {}{}", describe(tree), at), describe(other),
             "a tree of its form");
      return false;
    }
    others.push_back(std::move(*found));
  }
  for (const auto& [name, part] : parts->entries) {
    std::vector<Datum> parts_beside;
    for (const Dictionary& other : others) parts_beside.push_back(*other.get(name));
    if (!flatten(part, parts_beside, joined_key(path, name), loc, rows)) return false;
  }
  return true;
}

/// tree_map(f, tree, *others): f of each leaf with those beside it. Where f gives tuples, a tuple of trees.
Datum GraphBuilder::tree_map(const BoundArguments& arguments) {
  std::vector<std::vector<Datum>> rows;
  const Datum& tree = arguments[1];
  if (!flatten(tree, arguments[2].elements(), "", arguments.call, rows)) return Datum::poison();
  std::vector<Datum> results;
  for (std::vector<Datum>& row : rows) {
    std::vector<CallArgument> given;
    for (Datum& leaf : row) given.push_back({"", std::move(leaf), arguments.locs[1]});
    results.push_back(evaluator_.call(arguments[0], std::move(given), arguments.locs[0]));
    if (results.back().is_poison()) return Datum::poison();
  }
  auto build = [&](const std::vector<Datum>& leaves) {
    size_t next = 0;
    return rebuilt(tree, leaves, next, "what 'tree_map' gives for " + describe(tree));
  };
  auto width = [](const Datum& result) { return result.is(DatumKind::Tuple) ? result.elements().size() : 0; };
  size_t trees = results.empty() ? 0 : width(results[0]);
  if (!trees || !std::ranges::all_of(results, [&](const Datum& result) { return width(result) == trees; })) {
    return build(results);
  }
  std::vector<Datum> built;
  for (size_t i = 0; i < trees; ++i) {
    std::vector<Datum> leaves;
    for (const Datum& result : results) leaves.push_back(result.elements()[i]);
    built.push_back(build(leaves));
  }
  return Datum::tuple(std::move(built));
}

/// tree_leaves(tree): a list of the leaves, without None.
Datum GraphBuilder::tree_leaves(const BoundArguments& arguments) {
  std::vector<std::vector<Datum>> rows;
  if (!flatten(arguments[0], {}, "", arguments.call, rows)) return Datum::poison();
  std::vector<Datum> leaves;
  for (std::vector<Datum>& row : rows) leaves.push_back(std::move(row[0]));
  return Datum::list(std::move(leaves));
}

/// The param whose value now a tensor is; null where it is of none.
const ParamDeclaration* GraphBuilder::param_of(const Datum& value) const {
  if (!value.is_ir()) return nullptr;
  for (const auto& [declaration, argument] : function_.params) {
    auto current = function_.current.find(declaration);
    Value* now = current == function_.current.end() ? argument : current->second;
    if (now == value.as_ir().value) return declaration;
  }
  return nullptr;
}

/// Gives one param another value. False when an error was reported.
bool GraphBuilder::update_param(const Datum& param, const Datum& value, const BoundArguments& arguments) {
  const ParamDeclaration* declaration = param_of(param);
  if (!declaration) {
    report(diag::wrong_kind, arguments.locs[0], "what 'update' gives a new value", describe(param),
           "a param, or a tree of params")
        .help("update(w, new) is for 'param w' of the file; update(model, new) for all params of an instance");
    return false;
  }
  if (value.is_none()) return true;
  const IrValue& old = param.as_ir();
  std::string what = fmt::format("the new value of param '{}'", declaration->key);
  std::optional<IrValue> tensor = expect_tensor(value, arguments.locs[1], what);
  if (!tensor) return false;
  bool fits = tensor->value->type()->dims == old.value->type()->dims && tensor->storage == old.storage;
  if (!fits) {
    if (may_fit(param, value, what, arguments.locs[1])) return false;
    report(diag::wrong_kind, arguments.locs[1], what, describe(value), "as the param is: " + describe(param))
        .label(declaration->loc, "it is declared here");
    return false;
  }
  builder_.set_loc(arguments.call);
  function_.current[declaration] = separate(stored(*tensor), arguments.call);
  function_.updated.emplace(declaration, arguments.call);
  return true;
}

/// Whether a value is what a step of an optimiser gives, weights and state, which is then reported.
bool GraphBuilder::refuse_step(const BoundArguments& arguments) {
  const Datum& given = arguments[1];
  const auto* state = given.is(DatumKind::Tuple) && given.elements().size() == 2
                          ? given.elements()[1].object_as<StateValue>()
                          : nullptr;
  if (!state || state->kind() != StateKind::OptimizerState) return false;
  std::string param = source_text(session().sources(), arguments.locs[0]);
  std::string step = source_text(session().sources(), arguments.locs[1]);
  step = step.substr(0, step.find('('));
  report(diag::wrong_kind, arguments.locs[1], "the new value of a param", "a tuple of weights and their state",
         "one of weights")
      .help(fmt::format("the two have names: weights, {0} = {1}(…), then update({2}, weights)", state->name(),
                        step.empty() ? "adamw" : step, param.empty() ? "w" : param));
  for (const Datum& each : function_.spent) {  // what uses it further on is no error of its own
    const auto* spent = each.object_as<StateValue>();
    if (spent->name() == state->name()) spent->revive();
  }
  return true;
}

/// update(param, value): from here on the param has that value, which stays when the entry has ended.
Datum GraphBuilder::update(const BoundArguments& arguments) {
  bool is_inside = builder_.block() != function_.op->region()->front();
  if (is_inside || function_.recorded > 0 || function_.mapped > 0) {
    evaluator_.unsupported(arguments.call, is_inside ? "'update' in a run-time loop or branch"
                                                     : "'update' in a function that a transform is taken of");
    return Datum::poison();
  }
  if (refuse_step(arguments)) return Datum::poison();
  std::vector<std::vector<Datum>> rows;
  if (!flatten(arguments[0], {arguments[1]}, "", arguments.call, rows)) return Datum::poison();
  for (const std::vector<Datum>& row : rows) {
    if (!update_param(row[0], row[1], arguments)) return Datum::poison();
  }
  evaluator_.add_effect("state(params)", arguments.call);
  return Datum::none();
}

/// The form of an optimiser's state for a value: its tree with the paths of the floats as leaves, which are appended to
/// `params` with their extents. "" for a tensor.
Datum GraphBuilder::state_form(const Datum& of, const std::string& path, Loc loc,
                               std::vector<std::pair<std::string, std::vector<Dim>>>& params) {
  if (of.is_none()) return of;
  if (std::optional<Dictionary> parts = parts_of(of, loc)) {
    Dictionary members;
    for (const auto& [name, value] : parts->entries) {
      Datum part = state_form(value, joined_key(path, name), loc, params);
      if (part.is_poison()) return part;
      members.entries.emplace_back(name, std::move(part));
    }
    return Datum::object(std::make_shared<Tree>("a tree of " + describe(of), std::move(members)));
  }
  auto tensor = expect_tensor(of, loc, "the parameter of 'OptimizerState'");
  if (!tensor) return Datum::poison();
  if (!path.empty() && !is_float(tensor->storage)) return Datum::none();
  params.emplace_back(path, tensor->value->type()->dims);
  return Datum::string(path);
}

/// The tree of a state's fields whose names begin with `field`, "m"; nullopt where there are none.
std::optional<Datum> GraphBuilder::state_tree(const StateValue& state, std::string_view field) {
  std::vector<Datum> leaves;
  for (const auto& [name, value] : state.fields()) {
    bool is_inside = name.size() > field.size() && name.starts_with(field) && name[field.size()] == '.';
    if (is_inside) leaves.push_back(Datum::ir(value));
  }
  if (leaves.empty()) return std::nullopt;
  size_t next = 0;
  return rebuilt(state.form(), leaves, next, "");
}

}  // namespace tessera::frontend
