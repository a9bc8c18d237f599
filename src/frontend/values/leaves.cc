#include "frontend/values/leaves.h"

#include <algorithm>

#include "frontend/values/modules.h"
#include "frontend/values/state.h"

namespace tessera::frontend {

namespace {

void collect_leaves(const Datum& value, std::vector<Leaf>& leaves) {
  if (value.is_ir()) leaves.push_back({value.as_ir(), false});
  if (const auto* state = value.object_as<StateValue>()) {
    for (const auto& [name, field] : state->fields()) leaves.push_back({field, true});
  }
  if (const auto* tree = value.object_as<Tree>()) {
    for (const auto& [name, member] : tree->members().entries) collect_leaves(member, leaves);
  }
  if (!value.is_sequence()) return;
  for (const Datum& element : value.elements()) collect_leaves(element, leaves);
}

}  // namespace

std::vector<Leaf> leaves_of(const Datum& value) {
  std::vector<Leaf> leaves;
  collect_leaves(value, leaves);
  return leaves;
}

Datum with_leaves(const Datum& value, const std::vector<Value*>& leaves, size_t& next) {
  if (value.is_ir()) {
    IrValue other = value.as_ir();
    other.value = leaves[next++];
    return Datum::ir(other);
  }
  if (const auto* state = value.object_as<StateValue>()) {
    StateValue::Fields fields = state->fields();
    for (auto& [name, field] : fields) field.value = leaves[next++];
    return state->with(std::move(fields));
  }
  if (const auto* tree = value.object_as<Tree>()) {
    return tree->replaced([&](const Datum& member) { return with_leaves(member, leaves, next); });
  }
  if (!value.is_sequence()) return value;
  std::vector<Datum> elements;
  for (const Datum& element : value.elements()) elements.push_back(with_leaves(element, leaves, next));
  return value.is(DatumKind::Tuple) ? Datum::tuple(std::move(elements)) : Datum::list(std::move(elements));
}

const Datum* hiding_tensors(const Datum& value) {
  auto first_of = [](auto begin, auto end, auto&& part) -> const Datum* {
    for (; begin != end; ++begin) {
      if (const Datum* found = hiding_tensors(part(*begin))) return found;
    }
    return nullptr;
  };
  if (value.is_sequence()) {
    const auto& elements = value.elements();
    return first_of(elements.begin(), elements.end(), [](const Datum& each) -> const Datum& { return each; });
  }
  if (const auto* tree = value.object_as<Tree>()) {
    const auto& members = tree->members().entries;
    return first_of(members.begin(), members.end(), [](const auto& each) -> const Datum& { return each.second; });
  }
  bool is_known = value.object_as<StateValue>() || value.object_as<ModuleInstance>();
  bool hides = value.is(DatumKind::Dict) || value.is(DatumKind::Function) || value.is(DatumKind::Object);
  return hides && !is_known ? &value : nullptr;
}

namespace {

bool same_forms(const Tree& a, const Tree& b) {
  const auto& first = a.members().entries;
  const auto& second = b.members().entries;
  return std::ranges::equal(first, second, [](const auto& one, const auto& other) {
    return one.first == other.first && same_form(one.second, other.second);
  });
}

}  // namespace

bool same_form(const Datum& a, const Datum& b) {
  if (a.is_ir() || b.is_ir()) return a.is_ir() && b.is_ir();
  const auto* first = a.object_as<StateValue>();
  const auto* second = b.object_as<StateValue>();
  if (first || second) return first && second && first->name() == second->name();
  const auto* tree = a.object_as<Tree>();
  const auto* other_tree = b.object_as<Tree>();
  if (tree || other_tree) return tree && other_tree && same_forms(*tree, *other_tree);
  if (a.is_sequence() && b.is_sequence() && a.kind() == b.kind()) {
    if (a.elements().size() != b.elements().size()) return false;
    for (size_t i = 0; i < a.elements().size(); ++i) {
      if (!same_form(a.elements()[i], b.elements()[i])) return false;
    }
    return true;
  }
  return equal(a, b);
}

}  // namespace tessera::frontend
