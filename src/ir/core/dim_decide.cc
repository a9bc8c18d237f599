// Whether a relation between sizes follows from facts, in three steps, each exact or sound:
// equalities rewrite it (dim_rules.h); where divisions by constants are left, each remainder that the sizes may leave
// is looked at by itself, since with H = 6*h + 2 the dims H//2, H//3 and H % 6 are polynomials; and polynomials are
// compared by the inequalities among the facts (dim_prover.h). Every step has a bound, beyond which the answer is open.

#include <algorithm>
#include <map>
#include <numeric>

#include "ir/core/dim_facts.h"
#include "ir/core/dim_rules.h"
#include "ir/dim/dim_prover.h"
#include "ir/dim/dim_terms.h"
#include "support/check.h"

namespace tessera {

namespace {

constexpr size_t max_facts = 32;
constexpr int64_t max_cases = 48;
constexpr size_t max_text = 512;

using Truth = std::optional<bool>;

/// "difference <relation> 0".
struct Comparison {
  Relation relation;
  Dim difference;
};

/// As far as bounds of the difference say.
Truth compare_interval(const DimInterval& difference, Relation relation) {
  auto at = [&](int64_t end) { return holds(end, relation, 0); };
  bool ordered = relation != Relation::Equal && relation != Relation::NotEqual;
  bool bounded = ordered && difference.low && difference.high;
  if (bounded && at(*difference.low) == at(*difference.high)) return at(*difference.low);
  bool above = difference.low && *difference.low > 0, below = difference.high && *difference.high < 0;
  if (above || below) return at(above ? 1 : -1);
  bool at_least = ordered && difference.low && *difference.low == 0;
  bool at_most = ordered && difference.high && *difference.high == 0;
  if (at_least && at(0) == at(1)) return at(0);
  if (at_most && at(0) == at(-1)) return at(0);
  return std::nullopt;
}

Truth compare_constant(int64_t difference, Relation relation) { return holds(difference, relation, 0); }

/// Facts as the prover takes them. False when one of them does not hold, so that nothing has to be proved.
class Premises {
 public:
  Premises(DimTable& dims, std::span<const Comparison> facts) {
    Dim one = dims.constant(1), minus = dims.constant(-1);
    for (const Comparison& fact : facts) {
      Dim f = fact.difference, negative = dims.mul(minus, f);
      if (f->overflow) continue;
      if (auto constant = f->constant()) {
        consistent_ = consistent_ && compare_constant(*constant, fact.relation) == true;
        continue;
      }
      switch (fact.relation) {
        case Relation::Equal:
          non_negative_.push_back(f);
          non_negative_.push_back(negative);
          break;
        case Relation::NotEqual: non_zero_.push_back(f); break;
        case Relation::Less: non_negative_.push_back(dims.sub(negative, one)); break;
        case Relation::LessEqual: non_negative_.push_back(negative); break;
        case Relation::Greater: non_negative_.push_back(dims.sub(f, one)); break;
        case Relation::GreaterEqual: non_negative_.push_back(f); break;
      }
    }
  }

  bool consistent() const { return consistent_; }
  const std::vector<Dim>& non_negative() const { return non_negative_; }
  const std::vector<Dim>& non_zero() const { return non_zero_; }

 private:
  std::vector<Dim> non_negative_, non_zero_;
  bool consistent_ = true;
};

/// Whether a number divides all terms but the constant, so that their sum is never 0.
bool leaves_remainder(Dim dim) {
  int64_t common = 0, constant = 0;
  for (const DimTerm& term : dim->terms) {
    if (term.coefficient == INT64_MIN) return false;
    if (term.factors.empty()) constant = term.coefficient;
    else common = std::gcd(common, term.coefficient);
  }
  return common > 1 && constant % common != 0;
}

Truth equals_zero(DimTable& dims, DimProver& prover, Dim difference, std::span<const Dim> non_zero) {
  Dim negative = dims.mul(dims.constant(-1), difference);
  auto excluded = [&](Dim each) { return each == difference || each == negative; };
  if (std::ranges::any_of(non_zero, excluded) || leaves_remainder(difference)) return false;
  if (prover.above_zero(difference) || prover.above_zero(negative)) return false;
  if (prover.at_least_zero(difference) && prover.at_least_zero(negative)) return true;
  return std::nullopt;
}

Truth negation(Truth truth) { return truth ? Truth(!*truth) : truth; }

/// Without a look at remainders. The prover has the premises.
Truth decide_polynomial(DimTable& dims, const Comparison& asked, const Premises& premises, DimProver& prover) {
  Dim difference = asked.difference;
  if (difference->overflow) return std::nullopt;
  if (auto constant = difference->constant()) return compare_constant(*constant, asked.relation);
  Dim negative = dims.mul(dims.constant(-1), difference);
  // a < b and a > b are each other's, and so are a <= b and a > b.
  auto below = [&](Dim sign, Dim opposite) -> Truth {
    if (prover.above_zero(opposite)) return true;
    if (prover.at_least_zero(sign)) return false;
    return std::nullopt;
  };
  switch (asked.relation) {
    case Relation::Equal: return equals_zero(dims, prover, difference, premises.non_zero());
    case Relation::NotEqual: return negation(equals_zero(dims, prover, difference, premises.non_zero()));
    case Relation::Less: return below(difference, negative);
    case Relation::GreaterEqual: return negation(below(difference, negative));
    case Relation::Greater: return below(negative, difference);
    case Relation::LessEqual: return negation(below(negative, difference));
  }
  TSR_UNREACHABLE("bad relation");
}

/// Every combination of remainders of the sizes, the relation in each of which is one between polynomials.
class Cases {
 public:
  Cases(const Comparison& asked, std::span<const Comparison> facts) : asked_(asked) {
    DimModuli goal = moduli_of(asked.difference, max_cases), all = goal;
    for (const Comparison& fact : facts) {
      if (fact.difference->overflow || fact.difference->text.size() > max_text) continue;
      facts_.push_back(fact);
      for (const auto& [name, modulus] : moduli_of(fact.difference, max_cases)) {
        int64_t& known = all.try_emplace(name, 1).first->second;
        known = std::min(std::lcm(known, modulus), max_cases + 1);
      }
    }
    for_each_symbol(asked.difference, [&](std::string_view name) {
      if (auto known = all.find(name); known != all.end()) moduli_.insert(*known);
    });
    if (count() > max_cases) moduli_ = goal;
    while (count() > max_cases) {
      moduli_.erase(std::ranges::max_element(moduli_, {}, [](const auto& each) { return each.second; }));
    }
    std::erase_if(moduli_, [](const auto& each) { return each.second <= 1; });
  }

  bool exist() const { return !moduli_.empty(); }

  Truth decide() const {
    Truth common;
    for (int64_t number = 0, cases = count(); number < cases; ++number) {
      ScratchDims scratch;
      DimTable& dims = scratch.table;
      std::vector<Comparison> facts;
      for (const Comparison& fact : facts_) facts.push_back({fact.relation, moved(dims, fact.difference, number)});
      Premises premises(dims, facts);
      if (!premises.consistent()) continue;
      DimProver prover(dims, premises.non_negative(), premises.non_zero());
      Comparison asked{asked_.relation, moved(dims, asked_.difference, number)};
      Truth truth = decide_polynomial(dims, asked, premises, prover);
      if (!truth || (common && common != truth)) return std::nullopt;
      common = truth;
    }
    return common;
  }

 private:
  int64_t count() const {
    int64_t cases = 1;
    for (const auto& [name, modulus] : moduli_) {
      if (__builtin_mul_overflow(cases, modulus, &cases)) return INT64_MAX;
    }
    return cases;
  }

  Dim moved(DimTable& dims, Dim dim, int64_t number) const {
    std::map<std::string, Dim, std::less<>> remainders;
    for (const auto& [name, modulus] : moduli_) {
      Dim multiple = dims.mul(dims.constant(modulus), dims.symbol(name));
      remainders[name] = dims.add(multiple, dims.constant(number % modulus));
      number /= modulus;
    }
    // No node of the other table is taken over: every symbol is replaced.
    return dims.substitute(dim, [&](std::string_view name) {
      auto known = remainders.find(name);
      return known == remainders.end() ? dims.symbol(name) : known->second;
    });
  }

  const Comparison& asked_;
  std::vector<Comparison> facts_;
  DimModuli moduli_;
};

}  // namespace

/// What is made of facts, once for all questions.
struct DimDecider::Knowledge {
  Knowledge(DimTable& dims, std::span<const DimFact> facts)
      : rules(dims, facts),
        known(comparisons(dims, facts, rules)),
        premises(dims, known),
        prover(dims, premises.non_negative(), premises.non_zero()) {}

  static std::vector<Comparison> comparisons(DimTable& dims, std::span<const DimFact> facts, const DimRules& rules) {
    std::vector<Comparison> known;
    for (const DimFact& fact : facts.first(std::min(facts.size(), max_facts))) {
      Dim difference = dims.sub(fact.left, fact.right), reduced = rules.reduced(difference);
      // An equality that rewrites what it is of says of the rest that it is no less than what is gone.
      bool is_gone = fact.relation == Relation::Equal && reduced->is_constant(0);
      bool rewrites = is_gone && !as_multiple(fact.left, fact.right);
      known.push_back({fact.relation, rewrites ? difference : reduced});
    }
    return known;
  }

  DimRules rules;
  std::vector<Comparison> known;
  Premises premises;
  DimProver prover;
};

DimDecider::DimDecider(DimTable& dims, std::span<const DimFact> facts)
    : dims_(dims), facts_(facts.begin(), facts.end()) {}

DimDecider::~DimDecider() = default;

Truth decide_at_once(DimTable& dims, const DimFact& asked) {
  if (asked.left->overflow || asked.right->overflow) return std::nullopt;
  Dim difference = dims.sub(asked.left, asked.right);
  if (auto constant = difference->constant()) return compare_constant(*constant, asked.relation);
  return compare_interval(interval(difference), asked.relation);
}

Truth DimDecider::decide(const DimFact& asked) {
  if (Truth sure = decide_at_once(dims_, asked)) return sure;
  if (asked.left->overflow || asked.right->overflow) return std::nullopt;
  if (!knowledge_) knowledge_ = std::make_unique<Knowledge>(dims_, facts_);
  Dim plain = dims_.sub(asked.left, asked.right);
  Comparison goal{asked.relation, knowledge_->rules.reduced(plain)};
  if (goal.difference->overflow) goal.difference = plain;
  if (Truth truth = decide_polynomial(dims_, goal, knowledge_->premises, knowledge_->prover)) return truth;
  if (goal.difference->overflow || goal.difference->text.size() > max_text) return std::nullopt;
  Cases cases(goal, knowledge_->known);
  return cases.exist() ? cases.decide() : std::nullopt;
}

Truth decide(DimTable& dims, const DimFact& asked, std::span<const DimFact> facts) {
  return DimDecider(dims, facts).decide(asked);
}

Dim one_form(DimTable& dims, Dim dim, std::span<const DimFact> facts) {
  bool equal = std::ranges::any_of(facts, [](const DimFact& fact) { return fact.relation == Relation::Equal; });
  bool is_it = dim->constant() || (!equal && !DimRules::has_division_by_sizes(dim));
  return is_it ? dim : DimRules(dims, facts).canonical(dim);
}

}  // namespace tessera
