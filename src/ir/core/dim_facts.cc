#include "ir/core/dim_facts.h"

#include <algorithm>

#include "ir/core/context.h"
#include "support/check.h"

namespace tessera {

namespace {

constexpr std::string_view spellings[] = {"==", "!=", "<", "<=", ">", ">="};

}  // namespace

std::string_view spelling(Relation relation) { return spellings[size_t(relation)]; }

std::optional<Relation> parse_relation(std::string_view text) {
  const std::string_view* found = std::ranges::find(spellings, text);
  if (found == std::end(spellings)) return std::nullopt;
  return Relation(found - spellings);
}

bool holds(int64_t left, Relation relation, int64_t right) {
  switch (relation) {
    case Relation::Equal:
      return left == right;
    case Relation::NotEqual:
      return left != right;
    case Relation::Less:
      return left < right;
    case Relation::LessEqual:
      return left <= right;
    case Relation::Greater:
      return left > right;
    case Relation::GreaterEqual:
      return left >= right;
  }
  TSR_UNREACHABLE("bad relation");
}

std::string DimFact::text() const { return left->text + " " + std::string(spelling(relation)) + " " + right->text; }

std::vector<DimMultiple> multiples(std::span<const DimFact> facts) {
  std::vector<DimMultiple> known;
  for (const DimFact& fact : facts) {
    if (fact.relation != Relation::Equal) continue;
    if (auto multiple = as_multiple(fact.left, fact.right)) known.push_back(*multiple);
  }
  return known;
}

Attr fact_attr(Context& context, const DimFact& fact) {
  return context.dict({{"left", context.dim(fact.left)},
                       {"relation", context.string(std::string(spelling(fact.relation)))},
                       {"right", context.dim(fact.right)}});
}

std::optional<DimFact> read_fact(Attr attribute) {
  if (!attribute->is(AttrKind::Dict)) return std::nullopt;
  Attr left = attribute->get("left"), relation = attribute->get("relation"), right = attribute->get("right");
  if (!left || !relation || !right || !left->dim || !right->dim) return std::nullopt;
  std::optional<Relation> known = parse_relation(relation->string);
  if (!known) return std::nullopt;
  return DimFact{*known, left->dim, right->dim};
}

std::vector<DimFact> read_facts(const std::vector<Attr>& list) {
  std::vector<DimFact> facts;
  for (Attr element : list) {
    if (std::optional<DimFact> fact = read_fact(element)) facts.push_back(*fact);
  }
  return facts;
}

bool mentions(Dim dim, std::string_view symbol) {
  bool found = false;
  for_each_symbol(dim, [&](std::string_view name) { found = found || name == symbol; });
  return found;
}

}  // namespace tessera
