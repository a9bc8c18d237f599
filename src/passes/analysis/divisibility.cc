#include "passes/analysis/divisibility.h"

#include <cstdlib>
#include <numeric>

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

}  // namespace

Divisibility::Divisibility(Op* kernel) {
  Attr assume = kernel->attr("assume");
  if (!assume) return;
  for (Attr fact : assume->elements) {
    const DimTerm* term = fact->dim->terms.size() == 1 ? &fact->dim->terms[0] : nullptr;
    if (!term || term->factors.size() != 1 || term->factors[0]->kind != DimAtomKind::Mod) continue;
    Dim divided = term->factors[0]->a;
    std::optional<int64_t> by = term->factors[0]->b->constant();
    if (by && divided->terms.size() == 1 && divided->terms[0].factors.size() == 1) {
      assumed_[std::string(divided->terms[0].factors[0]->text)] = *by;
    }
  }
}

int64_t Divisibility::of(Dim dim) const {
  int64_t common = 0;
  for (const DimTerm& term : dim->terms) {
    int64_t multiple = std::abs(term.coefficient);
    for (const DimAtom* atom : term.factors) multiple = product(multiple, of(*atom));
    common = std::gcd(common, multiple);
  }
  return common;
}

int64_t Divisibility::of(const DimAtom& atom) const {
  switch (atom.kind) {
    case DimAtomKind::Symbol: {
      auto it = assumed_.find(atom.text);
      return it == assumed_.end() ? 1 : it->second;
    }
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
  if (def->is(tile::info(OpKind::Dim))) return of(def->dim_attr("value"));
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
