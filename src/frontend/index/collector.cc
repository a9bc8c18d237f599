#include "frontend/index/collector.h"

#include <algorithm>

#include "frontend/index/facts.h"
#include "frontend/index/names.h"
#include "ir/core/op.h"

namespace tessera::frontend {

namespace {

/// Different values of one place beyond this many are left out.
constexpr size_t kept_values = 16;

/// The place of what a call runs; unknown for what is built in.
Loc callee_place(const Datum& callee) {
  if (callee.is(DatumKind::Function)) return callee.as_function().loc;
  if (const auto* module = callee.object_as<ModuleReference>()) return module->stmt().name.loc;
  const auto* instance = callee.object_as<ModuleInstance>();
  const ast::Def* def = instance ? instance->module().method("__call__") : nullptr;
  return def ? def->name.loc : Loc{};
}

/// Of a map of values by place.
template <typename Map>
std::vector<PlaceFacts> listed(const Map& all, const SourceManager& sources) {
  std::vector<PlaceFacts> facts;
  facts.reserve(all.size());
  for (const auto& [place, values] : all) {
    facts.push_back({extent_of(sources, values.loc), values.facts, values.more});
  }
  return facts;
}

template <typename List>
void add_once(List& list, ValueFacts facts) {
  if (std::find(list.begin(), list.end(), facts) == list.end()) list.push_back(std::move(facts));
}

}  // namespace

void IndexCollector::started(Session& session) {
  session_ = &session;
}

/// The standard library's own values are nobody's business.
bool IndexCollector::wants(Loc loc) {
  if (!loc.known()) return false;
  auto [it, fresh] = wanted_.try_emplace(loc.file);
  if (fresh) it->second = !session_->is_builtin(loc);
  return it->second;
}

void IndexCollector::keep(Values& values, Loc loc, const Datum& value) {
  values.loc = loc;
  if (values.more) return;
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
  auto& kept = values.facts;
  if (std::find(kept.begin(), kept.end(), facts) != kept.end()) return;
  values.more = kept.size() == kept_values;
  if (!values.more) kept.push_back(std::move(facts));
}

void IndexCollector::bound(std::string_view, Loc loc, const Datum& value) {
  if (wants(loc)) keep(bindings_[{loc.file, loc.line, loc.column, 0}], loc, value);
}

void IndexCollector::evaluated(const ast::Expr& expr, const Datum& value) {
  Loc loc = expr.loc;
  if (wants(loc)) keep(expressions_[{loc.file, loc.line, loc.column, ~loc.length}], loc, value);
}

void IndexCollector::used(Loc use, Loc definition) {
  if (wants(use)) uses_.try_emplace({use.file, use.line, use.column}, use, definition);
}

void IndexCollector::called(const ast::Call& call, const Datum& callee) {
  Loc definition = callee_place(callee);
  if (!definition.known() || !wants(call.loc)) return;
  // A call of a call begins at the same place, so that the place of the arguments tells it.
  Loc key = call.loc;
  auto [it, fresh] = calls_.try_emplace({key.file, key.line, key.column + key.length});
  if (!fresh) return;
  it->second = {call.loc, definition, {}};
  for (const ast::Argument& argument : call.arguments) {
    if (argument.name.text.empty()) continue;
    it->second.keywords.emplace_back(argument.name.text, argument.name.loc);
  }
}

void IndexCollector::returned(const Function& function, const Datum& result,
                              const std::map<std::string, Loc>& effects) {
  if (!function.def || !wants(function.loc)) return;
  Loc loc = function.loc;
  Returned& returned = returned_[{loc.file, loc.line, loc.column}];
  for (const auto& [effect, place] : effects) returned.effects.insert(effect);
  if (!result.is_poison() && returned.results.size() < kept_values) {
    add_once(returned.results, facts_of(result));
  }
}

void IndexCollector::finished(Session& session) {
  NameIndexer names(session, index_);
  names.run();
  const SourceManager& sources = session.sources();
  index_.bindings = listed(bindings_, sources);
  index_.expressions = listed(expressions_, sources);
  for (const auto& [place, returned] : returned_) {
    auto symbol = names.defined_at({std::get<0>(place), std::get<1>(place), std::get<2>(place), 0});
    if (!symbol) continue;
    index_.symbols[*symbol].results = returned.results;
    index_.symbols[*symbol].effects.assign(returned.effects.begin(), returned.effects.end());
  }
  join_uses(names);
  join_calls(names, sources);
  sort_index(index_);
}

/// Members that only the evaluation knows.
void IndexCollector::join_uses(const NameIndexer& names) {
  for (const auto& [place, use] : uses_) {
    auto symbol = names.defined_at(use.second);
    if (symbol) index_.references.push_back({use.first, *symbol, ReferenceRole::Read});
  }
}

void IndexCollector::join_calls(const NameIndexer& names, const SourceManager& sources) {
  auto key = [](const Extent& extent) {
    return std::make_tuple(extent.file, extent.line, extent.column, extent.end_line, extent.end_column);
  };
  std::set<decltype(key(Extent{}))> known;
  for (const CallSite& call : index_.calls) known.insert(key(call.extent));
  for (const auto& [place, call] : calls_) {
    auto callee = names.defined_at(call.definition);
    if (!callee) continue;
    for (const auto& [name, loc] : call.keywords) {
      auto parameter = names.parameter_of(*callee, name);
      if (parameter) index_.references.push_back({loc, *parameter, ReferenceRole::Keyword});
    }
    Extent extent = extent_of(sources, call.call);
    if (known.count(key(extent))) continue;
    index_.calls.push_back({extent, index_.enclosing(call.call), *callee});
  }
}

void sort_index(SemanticIndex& index) {
  auto begin = [](const auto& at) { return std::tie(at.file, at.line, at.column); };
  std::vector<SymbolId> order(index.symbols.size());
  for (SymbolId id = 0; id < order.size(); ++id) order[id] = id;
  std::stable_sort(order.begin(), order.end(), [&](SymbolId a, SymbolId b) {
    return begin(index.symbols[a].loc) < begin(index.symbols[b].loc);
  });
  std::vector<SymbolId> now(order.size());
  std::vector<Symbol> sorted;
  for (SymbolId id = 0; id < order.size(); ++id) {
    now[order[id]] = id;
    sorted.push_back(std::move(index.symbols[order[id]]));
  }
  index.symbols = std::move(sorted);
  for (Symbol& symbol : index.symbols) {
    if (symbol.container) symbol.container = now[*symbol.container];
    if (symbol.target) symbol.target = now[*symbol.target];
    for (SymbolId& parameter : symbol.parameters) parameter = now[parameter];
  }
  for (Reference& reference : index.references) reference.symbol = now[reference.symbol];
  for (CallSite& call : index.calls) {
    if (call.caller) call.caller = now[*call.caller];
    call.callee = now[call.callee];
  }
  for (auto& [file, symbol] : index.imported) symbol = now[symbol];
  std::stable_sort(index.references.begin(), index.references.end(),
                   [&](const Reference& a, const Reference& b) { return begin(a.loc) < begin(b.loc); });
  auto same = [&](const Reference& a, const Reference& b) { return begin(a.loc) == begin(b.loc); };
  index.references.erase(std::unique(index.references.begin(), index.references.end(), same),
                         index.references.end());
  std::stable_sort(index.calls.begin(), index.calls.end(), [&](const CallSite& a, const CallSite& b) {
    return begin(a.extent) < begin(b.extent);
  });
}

}  // namespace tessera::frontend
