#include "ir/dim/dim.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/dim/dim_multiples.h"
#include "ir/dim/dim_terms.h"
#include "support/check.h"
#include "support/spending.h"

namespace tessera {

namespace {

/// Larger products and longer dims count as overflow: no size is that long, and hostile text must not grow without
/// bound. What has a quotient of itself in two places grows twice as long each time.
constexpr size_t max_terms = 1024;
constexpr size_t max_text = size_t(1) << 14;

/// What is counted for dims: a term with the block of its factors, a node with its places in the table.
constexpr size_t term_bytes = sizeof(DimTerm) + 48, node_bytes = sizeof(DimNode) + 128;

int64_t floor_div(int64_t a, int64_t b) {
  int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}
int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }

/// By degree and then by text, which is made only where one text of an atom begins with another.
bool term_before(const DimTerm& a, const DimTerm& b) {
  if (a.factors.empty() != b.factors.empty()) return b.factors.empty();
  if (a.factors.size() != b.factors.size()) return a.factors.size() > b.factors.size();
  auto [x, y] = std::ranges::mismatch(a.factors, b.factors);
  if (x == a.factors.end()) return false;
  std::string_view s = (*x)->text, t = (*y)->text;
  size_t common = std::min(s.size(), t.size());
  if (int order = s.substr(0, common).compare(t.substr(0, common))) return order < 0;
  return factor_text(a) < factor_text(b);
}

std::string text_of(const std::vector<DimTerm>& terms) {
  if (terms.empty()) return "0";
  std::string text;
  for (const DimTerm& term : terms) {
    bool negative = term.coefficient < 0;
    uint64_t size = negative ? 0 - uint64_t(term.coefficient) : uint64_t(term.coefficient);
    if (text.empty()) {
      if (negative) text += '-';
    } else {
      text += negative ? " - " : " + ";
    }
    std::string factors = factor_text(term);
    if (factors.empty()) {
      text += std::to_string(size);
    } else if (size == 1) {
      text += factors;
    } else {
      text.append(std::to_string(size)).append(1, '*').append(factors);
    }
  }
  return text;
}

/// Operand text of // and %: parenthesised unless it is one symbol, constant or call.
std::string operand_text(Dim dim) {
  bool simple = dim->terms.empty() || (dim->terms.size() == 1 && !dim->symbol().empty()) ||
                (dim->constant() && *dim->constant() >= 0);
  return simple ? dim->text : "(" + dim->text + ")";
}

/// The greatest divisor of k that divides every term but the constant.
int64_t common_factor(Dim dim, int64_t k) {
  int64_t shared = k;
  for (const DimTerm& term : dim->terms) {
    if (!term.factors.empty()) shared = std::gcd(shared, term.coefficient % k);
  }
  return shared;
}

/// The terms over a common factor of all but the constant, which is rounded down.
std::vector<DimTerm> divided(Dim dim, int64_t factor) {
  std::vector<DimTerm> terms = dim->terms;
  for (DimTerm& term : terms) term.coefficient = floor_div(term.coefficient, factor);
  return terms;
}

bool has_positive_divisor(const DimAtom& atom) { return atom.b->constant().value_or(0) > 0; }

/// The x//m that is a term of its own, where m is a constant and there is one such term.
const DimAtom* only_quotient(Dim dim) {
  const DimAtom* found = nullptr;
  for (const DimTerm& term : dim->terms) {
    if (term.coefficient != 1 || term.factors.size() != 1 || term.factors[0]->kind != DimAtomKind::FloorDiv) continue;
    if (!has_positive_divisor(*term.factors[0])) continue;
    if (found) return nullptr;
    found = term.factors[0];
  }
  return found;
}

/// A term c*(x%m) that is c*x as far as remainders of k are asked for, because k divides c*m.
const DimTerm* remainder_of_multiple(Dim dim, int64_t k) {
  for (const DimTerm& term : dim->terms) {
    if (term.factors.size() != 1 || term.factors[0]->kind != DimAtomKind::Mod) continue;
    if (!has_positive_divisor(*term.factors[0])) continue;
    int64_t product;
    bool fits = !__builtin_mul_overflow(term.coefficient, *term.factors[0]->b->constant(), &product);
    if (fits && product % k == 0) return &term;
  }
  return nullptr;
}

}  // namespace

std::string factor_text(const DimTerm& term) {
  std::string text;
  for (const DimAtom* atom : term.factors) {
    if (!text.empty()) text += '*';
    text += atom->text;
  }
  return text;
}

std::optional<int64_t> DimNode::constant() const {
  if (overflow) return std::nullopt;
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms[0].factors.empty()) return terms[0].coefficient;
  return std::nullopt;
}

std::string_view DimNode::symbol() const {
  if (terms.size() != 1 || terms[0].coefficient != 1 || terms[0].factors.size() != 1) return {};
  const DimAtom* atom = terms[0].factors[0];
  return atom->kind == DimAtomKind::Symbol ? std::string_view(atom->text) : std::string_view();
}

DimTable::DimTable() {
  overflow_.overflow = true;
  overflow_.text = "overflow";
}

Dim DimTable::overflow() { return &overflow_; }

Dim DimTable::make(std::vector<DimTerm> terms) {
  std::sort(terms.begin(), terms.end(), term_before);
  std::vector<DimTerm> merged;
  for (DimTerm& term : terms) {
    if (!merged.empty() && merged.back().factors == term.factors) {
      int64_t& sum = merged.back().coefficient;
      if (__builtin_add_overflow(sum, term.coefficient, &sum)) return overflow();
    } else {
      merged.push_back(std::move(term));
    }
  }
  std::erase_if(merged, [](const DimTerm& term) { return term.coefficient == 0; });
  std::string text = text_of(merged);
  // Terms are sorted by their texts, which are made for that.
  spending().steps += merged.size() / dim_terms_of_step;
  if (text.size() > max_text) return overflow();
  auto& slot = nodes_[text];
  if (slot) return slot.get();
  spending().bytes += int64_t(node_bytes + 2 * text.size() + merged.size() * term_bytes);
  slot.reset(new DimNode{std::move(merged), text, false});
  return slot.get();
}

const DimAtom* DimTable::atom(DimAtomKind kind, std::string text, Dim a, Dim b) {
  auto& slot = atoms_[text];
  if (!slot) slot.reset(new DimAtom{kind, text, a, b});
  return slot.get();
}

Dim DimTable::of_atom(const DimAtom* atom) { return make({DimTerm{1, {atom}}}); }

Dim DimTable::constant(int64_t value) {
  if (value == 0) return make({});
  return make({DimTerm{value, {}}});
}

Dim DimTable::symbol(std::string_view name) {
  return of_atom(atom(DimAtomKind::Symbol, std::string(name), nullptr, nullptr));
}

Dim DimTable::add(Dim a, Dim b) {
  if (a->overflow || b->overflow) return overflow();
  std::vector<DimTerm> terms = a->terms;
  terms.insert(terms.end(), b->terms.begin(), b->terms.end());
  return make(std::move(terms));
}

Dim DimTable::sub(Dim a, Dim b) { return add(a, mul(constant(-1), b)); }

Dim DimTable::mul(Dim a, Dim b) {
  if (a->overflow || b->overflow) return overflow();
  if (a->terms.size() * b->terms.size() > max_terms) return overflow();
  std::vector<DimTerm> terms;
  for (const DimTerm& x : a->terms) {
    for (const DimTerm& y : b->terms) {
      DimTerm term;
      if (__builtin_mul_overflow(x.coefficient, y.coefficient, &term.coefficient)) return overflow();
      if (x.factors.size() + y.factors.size() > most_dim_factors) return overflow();
      term.factors = x.factors;
      term.factors.insert(term.factors.end(), y.factors.begin(), y.factors.end());
      std::sort(term.factors.begin(), term.factors.end(),
                [](const DimAtom* p, const DimAtom* q) { return p->text < q->text; });
      terms.push_back(std::move(term));
    }
  }
  return make(std::move(terms));
}

Dim DimTable::floordiv(Dim a, Dim b) {
  if (a->overflow || b->overflow) return overflow();
  std::optional<int64_t> k = b->constant();
  if (k && *k == 1) return a;
  if (k && *k > 0) {
    std::vector<DimTerm> whole, rest;
    for (const DimTerm& term : a->terms) {
      bool divides = term.coefficient % *k == 0;
      if (divides) {
        whole.push_back({term.coefficient / *k, term.factors});
      } else if (term.factors.empty()) {  // c = k*q + r leaves the remainder inside
        whole.push_back({floor_div(term.coefficient, *k), {}});
        rest.push_back({floor_mod(term.coefficient, *k), {}});
      } else {
        rest.push_back(term);
      }
    }
    Dim inside = make(std::move(rest));
    Dim outside = make(std::move(whole));
    std::optional<int64_t> c = inside->constant();
    if (c) return add(outside, constant(floor_div(*c, *k)));
    if (!outside->is_constant(0)) return add(outside, floordiv(inside, b));
    a = inside;
    if (int64_t shared = common_factor(a, *k); shared > 1) {
      return floordiv(make(divided(a, shared)), constant(*k / shared));
    }
    if (const DimAtom* inner = only_quotient(a)) {
      // (x//m + y)//k = (x + m*y)//(m*k): one division says both.
      Dim joined = add(inner->a, mul(sub(a, of_atom(inner)), inner->b));
      Dim by = mul(inner->b, b);
      if (!joined->overflow && !by->overflow) return floordiv(joined, by);
    }
  }
  if (a == b && interval(a).low.value_or(0) > 0) return constant(1);
  return of_atom(atom(DimAtomKind::FloorDiv, fmt::format("({}//{})", operand_text(a), operand_text(b)), a, b));
}

Dim DimTable::mod(Dim a, Dim b) {
  if (a->overflow || b->overflow) return overflow();
  std::optional<int64_t> k = b->constant();
  if (k && *k > 0) {
    std::vector<DimTerm> rest;
    for (const DimTerm& term : a->terms) {
      if (term.coefficient % *k == 0) continue;
      if (term.factors.empty()) {
        rest.push_back({floor_mod(term.coefficient, *k), {}});
      } else {
        rest.push_back(term);
      }
    }
    a = make(std::move(rest));
    if (std::optional<int64_t> c = a->constant()) return constant(floor_mod(*c, *k));
    if (const DimTerm* inner = remainder_of_multiple(a, *k)) {
      Dim factor = constant(inner->coefficient);
      Dim replaced = add(sub(a, mul(factor, of_atom(inner->factors[0]))), mul(factor, inner->factors[0]->a));
      if (!replaced->overflow) return mod(replaced, b);
    }
    if (int64_t shared = common_factor(a, *k); shared > 1) {
      int64_t odd = a->terms.back().factors.empty() ? floor_mod(a->terms.back().coefficient, shared) : 0;
      return add(mul(constant(shared), mod(make(divided(a, shared)), constant(*k / shared))), constant(odd));
    }
  }
  // Nothing is left of multiples of a size: (64*H) % H.
  if (a == b || (!k && exact_quotient(*this, a, b))) return constant(0);
  return of_atom(atom(DimAtomKind::Mod, fmt::format("({}%{})", operand_text(a), operand_text(b)), a, b));
}

Dim DimTable::min(Dim a, Dim b) {
  if (a->overflow || b->overflow) return overflow();
  if (proves_le(*this, a, b)) return a;
  if (proves_le(*this, b, a)) return b;
  if (b->text < a->text) std::swap(a, b);
  return of_atom(atom(DimAtomKind::Min, fmt::format("min({}, {})", a->text, b->text), a, b));
}

Dim DimTable::max(Dim a, Dim b) {
  if (a->overflow || b->overflow) return overflow();
  if (proves_le(*this, a, b)) return b;
  if (proves_le(*this, b, a)) return a;
  if (b->text < a->text) std::swap(a, b);
  return of_atom(atom(DimAtomKind::Max, fmt::format("max({}, {})", a->text, b->text), a, b));
}

Dim DimTable::ceildiv(Dim a, Dim b) {
  std::optional<int64_t> x = a->constant(), y = b->constant();
  if (x && y && *x > 0 && *y > 0) return constant((*x - 1) / *y + 1);  // also where their sum does not fit
  return floordiv(sub(add(a, b), constant(1)), b);
}

Dim DimTable::fold(DimAtomKind kind, Dim a, Dim b) {
  switch (kind) {
    case DimAtomKind::FloorDiv: return floordiv(a, b);
    case DimAtomKind::Mod: return mod(a, b);
    case DimAtomKind::Min: return min(a, b);
    case DimAtomKind::Max: return max(a, b);
    case DimAtomKind::Symbol: break;
  }
  TSR_UNREACHABLE("a symbol has no operands");
}

Dim DimTable::substitute(Dim dim, const std::function<Dim(std::string_view)>& replace) {
  if (dim->overflow) return dim;
  Dim sum = constant(0);
  for (const DimTerm& term : dim->terms) {
    Dim product = constant(term.coefficient);
    for (const DimAtom* atom : term.factors) {
      Dim factor = nullptr;
      if (atom->kind == DimAtomKind::Symbol) {
        factor = replace(atom->text);
        if (!factor) factor = of_atom(atom);
      } else {
        factor = fold(atom->kind, substitute(atom->a, replace), substitute(atom->b, replace));
      }
      product = mul(product, factor);
    }
    sum = add(sum, product);
  }
  return sum;
}

Dim DimTable::substitute(Dim dim, const std::map<std::string, Dim, std::less<>>& replacements) {
  return substitute(dim, [&](std::string_view name) -> Dim {
    auto it = replacements.find(name);
    return it == replacements.end() ? nullptr : it->second;
  });
}

std::optional<int64_t> evaluate(
    Dim dim, const std::function<std::optional<int64_t>(std::string_view)>& env) {
  if (dim->overflow) return std::nullopt;
  int64_t sum = 0;
  for (const DimTerm& term : dim->terms) {
    int64_t product = term.coefficient;
    for (const DimAtom* atom : term.factors) {
      std::optional<int64_t> value;
      if (atom->kind == DimAtomKind::Symbol) {
        value = env(atom->text);
      } else {
        std::optional<int64_t> a = evaluate(atom->a, env), b = evaluate(atom->b, env);
        if (!a || !b) return std::nullopt;
        bool divides = atom->kind == DimAtomKind::FloorDiv || atom->kind == DimAtomKind::Mod;
        if (divides && (*b == 0 || (*a == INT64_MIN && *b == -1))) return std::nullopt;
        switch (atom->kind) {
          case DimAtomKind::FloorDiv: value = floor_div(*a, *b); break;
          case DimAtomKind::Mod: value = floor_mod(*a, *b); break;
          case DimAtomKind::Min: value = std::min(*a, *b); break;
          case DimAtomKind::Max: value = std::max(*a, *b); break;
          case DimAtomKind::Symbol: break;
        }
      }
      if (!value || __builtin_mul_overflow(product, *value, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

void for_each_symbol(Dim dim, const std::function<void(std::string_view)>& visit) {
  for (const DimTerm& term : dim->terms) {
    for (const DimAtom* atom : term.factors) {
      if (atom->kind == DimAtomKind::Symbol) {
        visit(atom->text);
      } else {
        for_each_symbol(atom->a, visit);
        for_each_symbol(atom->b, visit);
      }
    }
  }
}

std::optional<int64_t> evaluate(Dim dim, const DimValues& values) {
  return evaluate(dim, [&](std::string_view name) -> std::optional<int64_t> {
    auto it = values.find(name);
    return it == values.end() ? std::nullopt : std::optional(it->second);
  });
}

std::optional<std::vector<int64_t>> evaluate(std::span<const Dim> dims, const DimValues& values) {
  std::vector<int64_t> extents;
  for (Dim dim : dims) {
    std::optional<int64_t> extent = evaluate(dim, values);
    if (!extent) return std::nullopt;
    extents.push_back(*extent);
  }
  return extents;
}

std::string to_text(std::span<const Dim> dims) {
  std::string text = "[";
  for (Dim dim : dims) {
    if (text.size() > 1) text += ", ";
    text += dim->text;
  }
  return text + "]";
}

Dim element_count(DimTable& table, std::span<const Dim> dims) {
  Dim count = table.constant(1);
  for (Dim dim : dims) count = table.mul(count, dim);
  return count;
}

}  // namespace tessera
