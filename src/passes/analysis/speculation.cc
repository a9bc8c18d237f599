#include "passes/analysis/speculation.h"

#include <algorithm>

#include "ir/core/context.h"
#include "ir/core/module.h"
#include "ir/graph/op_facts.h"

namespace tessera {

namespace {

/// Questions about sizes under facts.
class Sizes {
 public:
  Sizes(DimTable& table, std::span<const DimFact> facts) : table_(table), facts_(facts) {}

  bool is_at_least(Dim a, int64_t b) const {
    return decide(table_, {Relation::LessEqual, table_.constant(b), a}, facts_) == true;
  }

  /// Whether the dim has a value: no divisor in it may be 0.
  bool has_value(Dim dim) const {
    return std::all_of(dim->terms.begin(), dim->terms.end(), [&](const DimTerm& term) {
      return std::all_of(term.factors.begin(), term.factors.end(), [&](const DimAtom* atom) {
        if (atom->kind == DimAtomKind::Symbol) return true;
        bool divides = atom->kind == DimAtomKind::FloorDiv || atom->kind == DimAtomKind::Mod;
        return has_value(atom->a) && has_value(atom->b) && (!divides || is_at_least(atom->b, 1));
      });
    });
  }

 private:
  DimTable& table_;
  std::span<const DimFact> facts_;
};

DimTable& dims_of(Op* op) { return op->module()->context().dims(); }

bool has_values(const Sizes& sizes, Attr attribute) {
  if (attribute->is(AttrKind::Dim)) return sizes.has_value(attribute->dim);
  return std::all_of(attribute->elements.begin(), attribute->elements.end(),
                     [&](Attr element) { return has_values(sizes, element); });
}

}  // namespace

bool is_total(Op* op, std::span<const DimFact> facts) {
  Sizes sizes(dims_of(op), facts);
  for (unsigned r = 0; r < op->result_count(); ++r) {
    for (Dim extent : op->result(r)->type()->dims) {
      if (!sizes.has_value(extent) || !sizes.is_at_least(extent, 0)) return false;
    }
  }
  for (const OpAttr& attribute : op->attributes()) {
    if (!has_values(sizes, attribute.value)) return false;
  }
  auto rule = graph::facts(op).total;  // what a user's kernel relies on is its own: it has none
  return rule && rule(op, facts);
}

}  // namespace tessera
