// A fact is a number that is above 0 where it holds, so that the least of several numbers says that all of their facts
// hold, and the greatest that one does. Sizes are integers: a <= b is b - a + 1 > 0.

#include "ir/text/dim_conditions.h"

#include "ir/core/context.h"
#include "support/check.h"

namespace tessera {

namespace {

Relation inverse(Relation relation) {
  switch (relation) {
    case Relation::Equal:
      return Relation::NotEqual;
    case Relation::NotEqual:
      return Relation::Equal;
    case Relation::Less:
      return Relation::GreaterEqual;
    case Relation::LessEqual:
      return Relation::Greater;
    case Relation::Greater:
      return Relation::LessEqual;
    case Relation::GreaterEqual:
      return Relation::Less;
  }
  TSR_UNREACHABLE("bad relation");
}

/// A number that is above 0 where the fact holds, and at most 0 where it does not.
Dim margin(DimTable& dims, const DimFact& fact) {
  Dim over = dims.sub(fact.left, fact.right), under = dims.sub(fact.right, fact.left), one = dims.constant(1);
  switch (fact.relation) {
    case Relation::Equal:
      return dims.min(dims.add(over, one), dims.add(under, one));
    case Relation::NotEqual:
      return dims.max(over, under);
    case Relation::Less:
      return under;
    case Relation::LessEqual:
      return dims.add(under, one);
    case Relation::Greater:
      return over;
    case Relation::GreaterEqual:
      return dims.add(over, one);
  }
  TSR_UNREACHABLE("bad relation");
}

/// The same of all facts together.
Dim least_margin(DimTable& dims, std::span<const DimFact> facts) {
  Dim least = nullptr;
  for (const DimFact& fact : facts) {
    Dim own = margin(dims, fact);
    least = least ? dims.min(least, own) : own;
  }
  return least ? least : dims.constant(1);
}

}  // namespace

DimFact negated(DimTable& dims, std::span<const DimFact> facts) {
  if (facts.size() == 1) return {inverse(facts[0].relation), facts[0].left, facts[0].right};
  return {Relation::LessEqual, least_margin(dims, facts), dims.constant(0)};
}

DimFact any_of(DimTable& dims, std::span<const DimFact> first, std::span<const DimFact> other) {
  return {Relation::Greater, dims.max(least_margin(dims, first), least_margin(dims, other)), dims.constant(0)};
}

std::vector<DimFact> facts_of_branch(DimTable& dims, std::span<const DimFact> when, bool is_taken) {
  if (is_taken) return {when.begin(), when.end()};
  return {negated(dims, when)};
}

std::vector<Attr> fact_attrs(Context& context, std::span<const DimFact> facts) {
  std::vector<Attr> list;
  for (const DimFact& fact : facts) list.push_back(fact_attr(context, fact));
  return list;
}

}  // namespace tessera
