#include "ir/core/dim_facts.h"

#include <algorithm>
#include <map>

#include "ir/core/context.h"
#include "support/check.h"

namespace tessera {

namespace {

constexpr std::string_view spellings[] = {"==", "!=", "<", "<=", ">", ">="};

/// Truth of "a value in `range`, compared with 0".
std::optional<bool> decide_sign(Relation relation, const DimInterval& range) {
  bool below = range.high && *range.high < 0;
  bool above = range.low && *range.low > 0;
  bool at_most = range.high && *range.high <= 0;
  bool at_least = range.low && *range.low >= 0;
  auto either = [](bool yes, bool no) -> std::optional<bool> {
    if (yes) return true;
    if (no) return false;
    return std::nullopt;
  };
  switch (relation) {
    case Relation::Equal:
      return either(at_most && at_least, below || above);
    case Relation::NotEqual:
      return either(below || above, at_most && at_least);
    case Relation::Less:
      return either(below, at_least);
    case Relation::LessEqual:
      return either(at_most, above);
    case Relation::Greater:
      return either(above, at_most);
    case Relation::GreaterEqual:
      return either(at_least, below);
  }
  TSR_UNREACHABLE("bad relation");
}

/// "a <relation> b" as "difference >= 0" for the orderings; null for other relations.
Dim non_negative_form(DimTable& dims, const DimFact& fact) {
  Dim one = dims.constant(1);
  switch (fact.relation) {
    case Relation::Less:
      return dims.sub(dims.sub(fact.right, fact.left), one);
    case Relation::LessEqual:
      return dims.sub(fact.right, fact.left);
    case Relation::Greater:
      return dims.sub(dims.sub(fact.left, fact.right), one);
    case Relation::GreaterEqual:
      return dims.sub(fact.left, fact.right);
    default:
      return nullptr;
  }
}

/// The relation that holds exactly when `relation` does not.
std::optional<Relation> negated(Relation relation) {
  switch (relation) {
    case Relation::Less:
      return Relation::GreaterEqual;
    case Relation::LessEqual:
      return Relation::Greater;
    case Relation::Greater:
      return Relation::LessEqual;
    case Relation::GreaterEqual:
      return Relation::Less;
    default:
      return std::nullopt;
  }
}

/// Lower bounds of single symbols that the facts state: S >= 16.
std::map<std::string, int64_t, std::less<>> symbol_bounds(DimTable& dims,
                                                          std::span<const DimFact> facts) {
  std::map<std::string, int64_t, std::less<>> bounds;
  for (const DimFact& fact : facts) {
    Dim form = non_negative_form(dims, fact);
    if (form == nullptr || form->overflow) continue;
    for_each_symbol(form, [&](std::string_view name) {
      std::optional<int64_t> bound = dims.sub(dims.symbol(name), form)->constant();
      if (!bound || *bound <= 0) return;
      int64_t& known = bounds[std::string(name)];
      known = std::max(known, *bound);
    });
  }
  return bounds;
}

/// Expressions that are at most a positive multiple of `sum`, in each of which one atom has given way to a bound of
/// it: x//k to x/k or (x - k + 1)/k, after a product with k, and min(a, b) and max(a, b) to a and to b. `sum` is >= 0
/// if one of them is.
std::vector<Dim> bounded_by_atoms(DimTable& dims, Dim sum) {
  std::vector<Dim> found;
  for (const DimTerm& term : sum->terms) {
    if (term.factors.size() != 1 || term.factors[0]->kind == DimAtomKind::Symbol) continue;
    const DimAtom& atom = *term.factors[0];
    Dim coefficient = dims.constant(term.coefficient);
    Dim of_atom = dims.parse(atom.text);
    if (!of_atom) continue;
    Dim rest = dims.sub(sum, dims.mul(coefficient, of_atom));
    bool positive = term.coefficient > 0;
    std::optional<int64_t> k = atom.b->constant();
    if (atom.kind == DimAtomKind::FloorDiv && k && *k > 0) {
      Dim whole = positive ? dims.sub(atom.a, dims.constant(*k - 1)) : atom.a;
      found.push_back(dims.add(dims.mul(rest, atom.b), dims.mul(coefficient, whole)));
    } else if (atom.kind == (positive ? DimAtomKind::Max : DimAtomKind::Min)) {
      for (Dim side : {atom.a, atom.b}) found.push_back(dims.add(rest, dims.mul(coefficient, side)));
    } else if (atom.kind == DimAtomKind::Mod && k && *k > 0 && !positive) {
      // x % k is at most x where x is at least 0.
      if (interval(atom.a).low.value_or(-1) >= 0) found.push_back(dims.add(rest, dims.mul(coefficient, atom.a)));
    }
  }
  return found;
}

bool is_non_negative(DimTable& dims, Dim dim, int depth = 3) {
  DimInterval range = interval(dim);
  if (range.low && *range.low >= 0) return true;
  if (depth == 0 || dim->overflow || dim->terms.size() > 16) return false;
  std::vector<Dim> smaller = bounded_by_atoms(dims, dim);
  return std::any_of(smaller.begin(), smaller.end(),
                     [&](Dim bound) { return !bound->overflow && is_non_negative(dims, bound, depth - 1); });
}

/// True if `difference` >= 0 follows from the facts. Each fact states that some f >= 0, so
/// difference - f >= 0 suffices; where S >= 16 is known, S is written as S + 16, which again is an
/// expression over symbols that are at least 0.
bool follows(DimTable& dims, Dim difference, std::span<const DimFact> facts) {
  std::map<std::string, int64_t, std::less<>> bounds = symbol_bounds(dims, facts);
  auto raised = [&](Dim dim) {
    return dims.substitute(dim, [&](std::string_view name) -> Dim {
      auto it = bounds.find(name);
      if (it == bounds.end()) return nullptr;
      return dims.add(dims.symbol(name), dims.constant(it->second));
    });
  };
  if (is_non_negative(dims, difference) || is_non_negative(dims, raised(difference))) return true;
  for (const DimFact& fact : facts) {
    Dim form = non_negative_form(dims, fact);
    if (form && is_non_negative(dims, raised(dims.sub(difference, form)))) return true;
  }
  return false;
}

}  // namespace

std::string_view spelling(Relation relation) { return spellings[size_t(relation)]; }

std::optional<Relation> parse_relation(std::string_view text) {
  const std::string_view* found = std::ranges::find(spellings, text);
  if (found == std::end(spellings)) return std::nullopt;
  return Relation(found - spellings);
}

bool holds(int64_t left, Relation relation, int64_t right) {
  int64_t order = left < right ? -1 : left > right;
  return *decide_sign(relation, {order, order});
}

std::string DimFact::text() const { return left->text + " " + std::string(spelling(relation)) + " " + right->text; }

std::optional<bool> decide(DimTable& dims, const DimFact& asked, std::span<const DimFact> facts) {
  if (asked.left->overflow || asked.right->overflow) return std::nullopt;
  std::vector<DimMultiple> known = multiples(facts);
  DimFact fact{asked.relation, apply_multiples(dims, asked.left, known), apply_multiples(dims, asked.right, known)};
  Dim difference = dims.sub(fact.left, fact.right);
  if (std::optional<bool> sure = decide_sign(fact.relation, interval(difference))) return sure;
  for (const DimFact& other : facts) {
    if (other.relation == fact.relation && other.left == fact.left && other.right == fact.right) return true;
  }
  if (Dim form = non_negative_form(dims, fact); form && follows(dims, form, facts)) return true;
  if (std::optional<Relation> opposite = negated(fact.relation)) {
    Dim form = non_negative_form(dims, {*opposite, fact.left, fact.right});
    if (form && follows(dims, form, facts)) return false;
  }
  return std::nullopt;
}

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

std::vector<DimFact> read_facts(Attr list) {
  std::vector<DimFact> facts;
  for (Attr element : list ? list->elements : std::vector<Attr>()) {
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
