#include "passes/analysis/divisibility.h"

#include <cstdlib>
#include <numeric>

#include "ir/core/common_attributes.h"
#include "ir/core/dim_facts.h"
#include "ir/tile/build.h"

namespace tessera {

using tile::OpKind;
using Kind = ElementwiseKind;

namespace {

/// Products of what is known stay small: nobody asks beyond this.
constexpr int64_t enough = 4096;

int64_t product(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  return std::gcd(a, enough) * std::gcd(b, enough);
}

/// A term without its coefficient.
std::string product_text(const DimTerm& term) {
  std::string text;
  for (const DimAtom* atom : term.factors) text += (text.empty() ? "" : "*") + atom->text;
  return text;
}

}  // namespace

Divisibility::Divisibility(Op* kernel) {
  for (const DimMultiple& known : multiples(read_facts(kernel->attr(common::Kernel::assume)))) {
    std::optional<int64_t> by = known.by->constant();
    if (!by || known.of->terms.size() != 1) continue;
    const DimTerm& term = known.of->terms[0];
    int64_t& multiple = assumed_.try_emplace(product_text(term), 1).first->second;
    multiple = std::lcm(multiple, std::gcd(*by / std::gcd(*by, term.coefficient), enough));
  }
}

int64_t Divisibility::of(Dim dim) const {
  int64_t common = 0;
  for (const DimTerm& term : dim->terms) {
    int64_t multiple = std::abs(term.coefficient);
    if (!term.factors.empty()) multiple = product(multiple, of_product(term));
    common = std::gcd(common, multiple);
  }
  return common;
}

/// Of a term without its coefficient.
int64_t Divisibility::of_product(const DimTerm& term) const {
  int64_t multiple = 1;
  for (const DimAtom* atom : term.factors) multiple = product(multiple, of(*atom));
  auto assumed = assumed_.find(product_text(term));
  return assumed == assumed_.end() || multiple == 0 ? multiple : std::lcm(multiple, assumed->second);
}

int64_t Divisibility::of(const DimAtom& atom) const {
  switch (atom.kind) {
    case DimAtomKind::Symbol:  // what is assumed of it, its term knows
    case DimAtomKind::FloorDiv: return 1;
    case DimAtomKind::Mod:
    case DimAtomKind::Min:
    case DimAtomKind::Max: return std::gcd(of(atom.a), of(atom.b));
  }
  return 1;
}

int64_t Divisibility::of(Value* index) {
  auto [it, inserted] = known_.try_emplace(index, 1);
  if (!inserted) return it->second;
  int64_t found = compute(index);
  return known_[index] = found;
}

int64_t Divisibility::compute(Value* index) {
  Op* def = index->def();
  if (!def) {
    Op* loop = index->block()->parent_op();
    if (index->index() != 0 || !loop->is(tile::info(OpKind::For))) return 1;
    return std::gcd(of(loop->in(tile::in::For::lo)), of(loop->in(tile::in::For::step)));
  }
  if (std::optional<int64_t> known = tile::known_index(index)) return std::abs(*known);
  if (def->is(tile::info(OpKind::Dim))) return of(def->attr(common::Size::value));
  switch (def->info().elementwise) {
    case Kind::Mul: return product(of(def->operand(0)), of(def->operand(1)));
    case Kind::Add:
    case Kind::Sub:
    case Kind::Min:
    case Kind::Max:
    case Kind::Mod: return std::gcd(of(def->operand(0)), of(def->operand(1)));
    default: return 1;
  }
}

}  // namespace tessera
