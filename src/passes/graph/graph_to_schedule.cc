// Graph IR to kernels and a host program.
//
// The entry's ops are grouped (analysis/fusion_groups.h); each group becomes one kernel and one
// launch, in the order of their dependences. An anchor's kernel comes from the library, all others
// are generated. Kernels have dims of their own, bound by the launch, so that equal computations in
// different places are one kernel; only one of equal kernels is kept. Other functions of the module
// are dropped: below Graph level there is a module per entry.

#include "ir/graph/ops.h"
#include "passes/graph/to_schedule/lowering.h"

namespace tessera {

namespace {

/// A product of stacked rows with one matrix takes the rows as one axis; a transposed operand must
/// first be put in order for that, since its rows do not follow one another.
void untranspose_stacked(Op* gemm) {
  Value* a = gemm->in(graph::in::Gemm::a);
  size_t rank = a->type()->rank();
  bool stacked = rank > 2 && gemm->in(graph::in::Gemm::b)->type()->rank() == 2;
  if (!stacked || !gemm->flag("transpose_a")) return;
  Context& context = gemm->module()->context();
  std::vector<Dim> dims = a->type()->dims;
  std::vector<int64_t> perm;
  for (size_t i = 0; i < rank; ++i) perm.push_back(int64_t(i));
  std::swap(dims[rank - 1], dims[rank - 2]);
  std::swap(perm[rank - 1], perm[rank - 2]);
  Builder builder(*gemm->module());
  builder.set_before(gemm);
  builder.set_loc(gemm->loc());
  Value* ordered =
      builder.value(graph::info(graph::OpKind::Transpose), {{a}},
                    context.tensor(dims, a->type()->dtype), {{"perm", context.integers(perm)}});
  gemm->set_operand(0, ordered);
  gemm->set_attr("transpose_a", nullptr);
}

/// The function to lower: the one named, or the only one.
Op* find_entry(Module& module, const PassContext& context) {
  if (!context.entry.empty()) {
    Op* function = module.find(context.entry);
    return function && function->is(graph::info(graph::OpKind::Func)) ? function : nullptr;
  }
  Op* only = module.body()->front();
  return only && !only->next() && only->is(graph::info(graph::OpKind::Func)) ? only : nullptr;
}

}  // namespace

Status graph_to_schedule(Module& module, PassContext& context) {
  Op* function = find_entry(module, context);
  if (!function) {
    context.diagnostics.report(diag::unknown_entry, Loc(), context.entry);
    return failure;
  }
  for (Op* op : *function->region()->front()) {
    if (graph::kind_of(op) == graph::OpKind::Gemm) untranspose_stacked(op);
  }
  std::string entry(symbol_name(function));
  module.set_level(Level::Schedule);
  module.set_attr("entry", module.context().string(entry));
  if (context.machine) module.set_attr("target", module.context().string(context.machine->name));
  if (!GraphLowering(module, context, function).run()) return failure;
  for (Op* op : *module.body()) {
    if (op->is(graph::info(graph::OpKind::Func))) op->erase();
  }
  return success;
}

}  // namespace tessera
