// A launch gives the kernel's dims as sizes of the entry: d2 = <i>, d1 = <S>. To state facts of the
// entry for the kernel, these equations are solved for the entry's symbols, where each is a sum
// with the symbol in it once. Equations that cannot be solved give no facts.

#include "codegen/plan/launch_facts.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/core/common_attributes.h"
#include "ir/core/context.h"
#include "ir/host/ops.h"
#include "ir/target/ops.h"

namespace tessera::codegen {

namespace {

using Solutions = std::map<std::string, Dim, std::less<>>;

/// Dims of parameters that have elements, whatever their sizes.
std::set<std::string, std::less<>> extent_symbols(Op* kernel) {
  std::set<std::string, std::less<>> symbols;
  for (Type param : kernel->attr(target::attr::Func::params)) {
    const std::vector<Dim>& dims = param->dims;
    if (std::ranges::any_of(dims, [](Dim extent) { return extent->is_constant(0); })) continue;
    for (Dim extent : dims) for_each_symbol(extent, [&](std::string_view name) { symbols.emplace(name); });
  }
  return symbols;
}

bool is_known(Dim dim, const Solutions& known) {
  bool all = true;
  for_each_symbol(dim, [&](std::string_view name) { all &= known.contains(name); });
  return all;
}

/// The symbols of `value` that are solved when it is the kernel's `own` dim.
bool solve(DimTable& table, Dim value, Dim own, Solutions& known) {
  for (const DimTerm& term : value->terms) {
    bool is_symbol = term.factors.size() == 1 && term.factors[0]->kind == DimAtomKind::Symbol &&
                     (term.coefficient == 1 || term.coefficient == -1);
    if (!is_symbol || known.contains(term.factors[0]->text)) continue;
    const std::string& name = term.factors[0]->text;
    Dim sign = table.constant(term.coefficient);
    Dim rest = table.sub(value, table.mul(sign, table.symbol(name)));
    if (mentions(rest, name) || !is_known(rest, known)) continue;
    known[name] = table.mul(sign, table.sub(own, table.substitute(rest, known)));
    return true;
  }
  return false;
}

/// The entry's symbols in the dims of the kernel.
Solutions solve_binding(Op* launch) {
  DimTable& table = launch->module()->context().dims();
  const auto& binding = launch->attr(host::attr::Launch::dims)->entries;
  Solutions known;
  for (const auto& [name, value] : binding) {
    std::string symbol(value->dim->symbol());
    if (!symbol.empty()) known.emplace(symbol, table.symbol(name));
  }
  for (bool more = true; more;) {
    more = false;
    for (const auto& [name, value] : binding) more |= solve(table, value->dim, table.symbol(name), known);
  }
  return known;
}

/// Those of one launch that are facts on the kernel's places, by text.
std::map<std::string, DimFact> facts_of(Op* launch, const std::set<std::string, std::less<>>& extents) {
  DimTable& table = launch->module()->context().dims();
  Solutions known = solve_binding(launch);
  std::map<std::string, DimFact> facts;
  for (DimFact fact : host::facts_around(launch)) {
    if (!is_known(fact.left, known) || !is_known(fact.right, known)) continue;
    fact.left = table.substitute(fact.left, known);
    fact.right = table.substitute(fact.right, known);
    bool says_more = false;
    for (Dim side : {fact.left, fact.right}) {
      for_each_symbol(side, [&](std::string_view name) { says_more |= !extents.contains(name); });
    }
    if (says_more && decide(table, fact) != true) facts.emplace(fact.text(), fact);
  }
  return facts;
}

}  // namespace

std::vector<DimFact> facts_of_places(Op* kernel) {
  std::set<std::string, std::less<>> extents = extent_symbols(kernel);
  std::optional<std::map<std::string, DimFact>> common;
  for (Op* function : *kernel->module()->body()) {
    if (!function->is(host::info(host::OpKind::Func))) continue;
    walk(function, [&](Op* op) {
      if (!op->is(host::info(host::OpKind::Launch)) || !host::may_run(op, kernel)) return;
      std::map<std::string, DimFact> here = facts_of(op, extents);
      if (!common) common = here;
      std::erase_if(*common, [&](const auto& fact) { return !here.contains(fact.first); });
    });
  }
  std::vector<DimFact> facts;
  if (common) {
    for (const auto& [text, fact] : *common) facts.push_back(fact);
  }
  return facts;
}

}  // namespace tessera::codegen
