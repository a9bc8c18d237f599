#include "passes/tile/common/sizes.h"

#include "support/check.h"

namespace tessera {

using Kind = ElementwiseKind;

Value* Sizes::of(Dim dim) {
  if (std::optional<int64_t> known = dim->constant()) return b_.index(*known);
  if (auto it = made_.find(dim); it != made_.end()) return it->second;
  Builder at = b_.at();
  if (place_) b_.at().set_before(place_);
  Value* value = make(dim);
  b_.at() = at;
  return made_[dim] = value;
}

Value* Sizes::make(Dim dim) {
  Value* sum = b_.index(0);
  for (const DimTerm& term : dim->terms) {
    Value* product = b_.index(term.coefficient);
    for (const DimAtom* atom : term.factors) product = b_.mul(product, make_atom(*atom));
    sum = b_.add(sum, product);
  }
  return sum;
}

Value* Sizes::make_atom(const DimAtom& atom) {
  switch (atom.kind) {
    case DimAtomKind::Symbol: {
      auto it = symbols_.find(atom.text);
      TSR_CHECK(it != symbols_.end(), "a kernel uses the dim " + atom.text + ", which is none of its free dims");
      return it->second;
    }
    case DimAtomKind::FloorDiv: return b_.op(Kind::FloorDiv, of(atom.a), of(atom.b));
    case DimAtomKind::Mod: return b_.op(Kind::Mod, of(atom.a), of(atom.b));
    case DimAtomKind::Min: return b_.min(of(atom.a), of(atom.b));
    case DimAtomKind::Max: return b_.max(of(atom.a), of(atom.b));
  }
  TSR_UNREACHABLE("unknown kind of dim atom");
}

std::vector<Value*> decode_program(TargetBuilder& builder, Sizes& sizes,
                                   const std::vector<Dim>& grid, Value* program) {
  std::vector<Value*> indices(grid.size());
  Value* rest = program;
  for (size_t i = grid.size(); i-- > 1;) {
    Value* extent = sizes.of(grid[i]);
    indices[i] = builder.op(Kind::Mod, rest, extent);
    rest = builder.op(Kind::FloorDiv, rest, extent);
  }
  if (!grid.empty()) indices[0] = rest;
  return indices;
}

}  // namespace tessera
