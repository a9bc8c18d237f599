#include "frontend/index/collector.h"

#include <algorithm>
#include <utility>

#include "frontend/evaluate/session.h"
#include "frontend/index/facts.h"
#include "frontend/values/modules.h"
#include "ir/core/op.h"

namespace tessera::frontend {

namespace {

/// The function that a call runs; null for what is built in, and for modules, which it makes an
/// instance of.
const ast::Def* called_function(const Datum& callee) {
  if (callee.is(DatumKind::Function)) return callee.as_function().def;
  const auto* instance = callee.object_as<ModuleInstance>();
  return instance ? instance->module().method("__call__") : nullptr;
}

/// Of a map by place.
template <typename Map>
std::vector<PlaceFacts> listed(Map&& all) {
  std::vector<PlaceFacts> facts;
  facts.reserve(all.size());
  for (auto& [place, values] : all) facts.push_back(std::move(values.facts));
  return facts;
}

}  // namespace

SemanticIndex IndexCollector::take() {
  SemanticIndex index;
  index.bindings = listed(std::exchange(bindings_, {}));
  index.expressions = listed(std::exchange(expressions_, {}));
  for (auto& [place, returned] : std::exchange(returned_, {})) {
    index.functions.push_back(
        {returned.loc, returned.results, {returned.effects.begin(), returned.effects.end()}});
  }
  for (const auto& [places, call] : std::exchange(calls_, {})) index.calls.push_back(call);
  return index;
}

/// The standard library's own values are nobody's business.
bool IndexCollector::wants(Loc loc) {
  if (!loc.known()) return false;
  auto [it, fresh] = wanted_.try_emplace(loc.file);
  if (fresh) it->second = !session_->is_builtin(loc);
  return it->second;
}

void IndexCollector::keep(Values& values, Loc loc, const Datum& value) {
  values.facts.loc = loc;
  if (values.facts.more) return;
  if (value.is_ir()) {
    const IrValue& ir = value.as_ir();
    const void* type = ir.value->type();
    bool same = type == values.last_type && ir.storage == values.last_storage &&
                ir.policies == values.last_policies && device_ == values.last_device;
    if (same) return;
    values.last_type = type;
    values.last_storage = ir.storage;
    values.last_policies = ir.policies;
    values.last_device = device_;
  }
  ValueFacts facts = facts_of(value);
  if (value.is_ir()) facts.device = device_;
  auto& kept = values.facts.values;
  if (std::find(kept.begin(), kept.end(), facts) != kept.end()) return;
  values.facts.more = kept.size() >= options_.values;
  if (!values.facts.more) kept.push_back(std::move(facts));
}

void IndexCollector::bound(std::string_view name, Loc loc, const Datum& value) {
  if (!wants(loc)) return;
  Values& values = bindings_[{loc.file, loc.line, loc.column, 0}];
  if (values.facts.name.empty()) values.facts.name = name;
  keep(values, loc, value);
}

void IndexCollector::evaluated(const ast::Expr& expr, const Datum& value) {
  Loc loc = expr.loc;
  if (options_.names_only) {
    const auto* attribute = ast::as<ast::Attribute>(&expr);
    if (!attribute && expr.kind != ast::NodeKind::Name) return;
    if (attribute) loc = attribute->name.loc;
  }
  if (wants(loc)) keep(expressions_[place_of(loc)], loc, value);
}

void IndexCollector::called(const ast::Call& call, const Datum& callee) {
  const ast::Def* def = called_function(callee);
  if (!def || !wants(call.loc)) return;
  calls_.try_emplace({place_of(call.loc), place_of(def->loc)}, CallSite{call.loc, def->loc});
}

void IndexCollector::returned(const Function& function, const Datum& result,
                              const std::set<std::string>& effects) {
  if (!function.def || !wants(function.loc)) return;
  Returned& returned = returned_[place_of(function.loc)];
  returned.loc = function.loc;
  returned.effects.insert(effects.begin(), effects.end());
  if (result.is_poison() || returned.results.size() >= options_.values) return;
  ValueFacts facts = facts_of(result);
  auto& known = returned.results;
  if (std::find(known.begin(), known.end(), facts) == known.end()) known.push_back(std::move(facts));
}

}  // namespace tessera::frontend
