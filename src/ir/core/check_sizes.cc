#include "ir/core/check_sizes.h"

#include <algorithm>
#include <unordered_set>

#include "ir/core/context.h"
#include "ir/core/op.h"
#include "support/diagnostic_rows.h"

namespace tessera {

namespace {

class SizeCheck {
 public:
  explicit SizeCheck(DimTable& dims) : dims_(dims) {}

  bool fits(Op* op) {
    for (const OpAttr& attribute : op->attributes()) {
      if (!fits(attribute.value)) return false;
    }
    for (unsigned i = 0; i < op->result_count(); ++i) {
      if (!fits(op->result(i)->type())) return false;
    }
    for (unsigned i = 0; i < op->operand_count(); ++i) {
      if (!fits(op->operand(i)->type())) return false;
    }
    return true;
  }

 private:
  static bool fits(Dim dim) {
    if (!dim) return true;
    if (dim->overflow) return false;
    for (const DimTerm& term : dim->terms) {
      for (const DimAtom* atom : term.factors) {
        if (!fits(atom->a) || !fits(atom->b)) return false;
      }
    }
    return true;
  }

  bool fits(Type type) {
    if (!type || !seen_.insert(type).second) return true;
    for (const std::vector<Dim>* list : {&type->dims, &type->strides}) {
      if (!std::all_of(list->begin(), list->end(), [](Dim dim) { return fits(dim); })) return false;
    }
    // The runtime counts in bits, of which a dtype may have fewer than a byte.
    Dim bits = dims_.mul(element_count(dims_, type->dims), dims_.constant(8 * int64_t(byte_size(type->dtype))));
    return fits(type->offset) && !bits->overflow;
  }

  bool fits(Attr attribute) {
    if (!attribute || !seen_.insert(attribute).second) return true;
    for (const auto& [name, entry] : attribute->entries) {
      if (!fits(entry)) return false;
    }
    bool all = std::ranges::all_of(attribute->elements, [&](Attr each) { return fits(each); });
    return all && fits(attribute->dim) && fits(attribute->type);
  }

  DimTable& dims_;
  std::unordered_set<const void*> seen_;
};

}  // namespace

Status check_sizes(Module& module, DiagnosticEngine& diagnostics) {
  SizeCheck check(module.context().dims());
  Op* wrong = nullptr;
  auto look = [&](Op* op) {
    if (!wrong && !check.fits(op)) wrong = op;
  };
  for (Op* op : *module.body()) {
    look(op);
    walk(op, look);
  }
  if (!wrong) return success;
  diagnostics.report(diag::dimension_overflow, wrong->loc(), fmt::format("a size of this {}", wrong->name()));
  return failure;
}

}  // namespace tessera
