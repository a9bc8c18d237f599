#include "lsp/fact_collector.h"

#include <algorithm>

#include "frontend/index/facts.h"
#include "frontend/session.h"
#include "ir/core/op.h"

namespace tessera::lsp {

namespace {

/// Different values of one place beyond this many are left out.
constexpr size_t kept_values = 4;

void add_once(std::vector<frontend::ValueFacts>& list, frontend::ValueFacts facts) {
  bool full = list.size() >= kept_values;
  if (!full && std::find(list.begin(), list.end(), facts) == list.end()) list.push_back(std::move(facts));
}

}  // namespace

void FactCollector::collect(DeclarationResult& result) {
  result_ = &result;
  places_.clear();
  functions_.clear();
}

void FactCollector::finish(std::set<std::pair<FileId, uint32_t>>& ran) {
  for (auto& [place, values] : places_) result_->facts[std::get<0>(place)].push_back(std::move(values.facts));
  for (auto& [place, function] : functions_) {
    ran.insert({function.loc.file, function.loc.line});
    result_->functions.push_back(std::move(function));
  }
  result_ = nullptr;
}

/// The library's own values are nobody's business.
bool FactCollector::wants(Loc loc) {
  if (!loc.known() || !result_) return false;
  auto [it, fresh] = wanted_.try_emplace(loc.file);
  if (fresh) it->second = !session_->is_builtin(loc);
  return it->second;
}

void FactCollector::keep(Loc loc, const frontend::Datum& value, bool binding) {
  Values& values = places_[{loc.file, loc.line, loc.column}];
  values.facts.loc = loc;
  values.facts.binding = values.facts.binding || binding;
  if (value.is_ir()) {
    const frontend::IrValue& ir = value.as_ir();
    const void* type = ir.value->type();
    bool same = type == values.last_type && ir.storage == values.last_storage && ir.policies == values.last_policies;
    if (same) return;
    values.last_type = type;
    values.last_storage = ir.storage;
    values.last_policies = ir.policies;
  }
  add_once(values.facts.values, frontend::facts_of(value));
}

void FactCollector::bound(std::string_view, Loc loc, const frontend::Datum& value) {
  if (wants(loc)) keep(loc, value, true);
}

void FactCollector::evaluated(const ast::Expr& expr, const frontend::Datum& value) {
  if (!wants(expr.loc)) return;
  if (expr.kind == ast::NodeKind::Name) keep(expr.loc, value, false);
  const auto* attribute = ast::as<ast::Attribute>(&expr);
  if (attribute && wants(attribute->name.loc)) keep(attribute->name.loc, value, false);
}

void FactCollector::returned(const frontend::Function& function, const frontend::Datum& result,
                             const std::map<std::string, Loc>& effects) {
  Loc loc = function.loc;
  if (!function.def || !wants(loc)) return;
  FunctionFacts& facts = functions_[{loc.file, loc.line, loc.column}];
  facts.loc = loc;
  for (const auto& [effect, place] : effects) {
    bool known = std::find(facts.effects.begin(), facts.effects.end(), effect) != facts.effects.end();
    if (!known) facts.effects.push_back(effect);
  }
  if (!result.is_poison()) add_once(facts.results, frontend::facts_of(result));
}

}  // namespace tessera::lsp
