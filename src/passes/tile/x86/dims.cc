// Sizes: dimension expressions become scalar arithmetic in the entry block, each once.

#include "passes/tile/x86/kernel_lowering.h"
#include "support/check.h"

namespace tessera {

using Kind = ElementwiseKind;

Value* KernelLowering::dim(Dim dim) {
  if (std::optional<int64_t> known = dim->constant()) return b_.index(*known);
  Value*& slot = dims_[dim];
  if (slot) return slot;
  Builder at = b_.at();
  if (entry_end_) {
    b_.at().set_before(entry_end_);
  } else {
    b_.at().set_end(func_->region()->front());
  }
  Value* made = make_dim(dim);
  b_.at() = at;
  dims_[dim] = made;
  return made;
}

Value* KernelLowering::make_dim(Dim dim) {
  Value* sum = b_.index(0);
  for (const DimTerm& term : dim->terms) {
    Value* product = b_.index(term.coefficient);
    for (const DimAtom* atom : term.factors) product = b_.mul(product, make_atom(*atom));
    sum = b_.add(sum, product);
  }
  return sum;
}

Value* KernelLowering::make_atom(const DimAtom& atom) {
  switch (atom.kind) {
    case DimAtomKind::Symbol: {
      auto it = symbols_.find(atom.text);
      TSR_CHECK(it != symbols_.end(), "a kernel uses the dim " + atom.text + ", which is none of its free dims");
      return it->second;
    }
    case DimAtomKind::FloorDiv: return b_.op(Kind::FloorDiv, dim(atom.a), dim(atom.b));
    case DimAtomKind::Mod: return b_.op(Kind::Mod, dim(atom.a), dim(atom.b));
    case DimAtomKind::Min: return b_.min(dim(atom.a), dim(atom.b));
    case DimAtomKind::Max: return b_.max(dim(atom.a), dim(atom.b));
  }
  TSR_UNREACHABLE("unknown kind of dim atom");
}

}  // namespace tessera
