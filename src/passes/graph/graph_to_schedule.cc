// Graph IR to kernels and a host program.
//
// The entry's ops are grouped (analysis/fusion_groups.h); each group becomes one kernel and one
// launch, in the order of their dependences. An anchor's kernel comes from the library, all others
// are generated. Kernels have dims of their own, bound by the launch, so that equal computations in
// different places are one kernel; only one of equal kernels is kept. Regions of loops and branches are
// lowered as blocks of their own; what costs nothing to read through is first brought into them, so that
// it is read through there, too. Other functions of the module
// are dropped: below Graph level there is a module per entry.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/core/common_attributes.h"
#include "ir/graph/build.h"
#include "ir/graph/ops.h"
#include "ir/numbers/mma.h"
#include "passes/graph/to_schedule/computed_rows.h"
#include "passes/graph/to_schedule/lowering.h"
#include "passes/graph/to_schedule/split_reductions.h"
#include "support/diagnostic_rows.h"

namespace tessera {

namespace {

/// The value with its last two axes exchanged.
Value* transposed(Builder& builder, Value* value) {
  Context& context = builder.context();
  std::vector<Dim> dims = value->type()->dims;
  size_t rank = dims.size();
  std::vector<int64_t> perm;
  for (size_t i = 0; i < rank; ++i) perm.push_back(int64_t(i));
  std::swap(dims[rank - 1], dims[rank - 2]);
  std::swap(perm[rank - 1], perm[rank - 2]);
  return builder.value(graph::info(graph::OpKind::Transpose), {{value}}, context.tensor(dims, value->type()->dtype),
                       {graph::attr::Transpose::perm(context, perm)});
}

/// A matmul of stacked rows with one matrix takes the rows as one axis; a transposed operand must
/// first be put in order for that, since its rows do not follow one another.
void untranspose_stacked(Op* gemm) {
  Value* a = gemm->in(graph::in::Gemm::a);
  size_t rank = a->type()->rank();
  bool stacked = rank > 2 && gemm->in(graph::in::Gemm::b)->type()->rank() == 2;
  if (!stacked || !gemm->attr(graph::attr::Gemm::transpose_a)) return;
  Builder builder(*gemm->module());
  builder.set_before(gemm);
  builder.set_loc(gemm->loc());
  gemm->set_operand(0, transposed(builder, a));
  gemm->remove(graph::attr::Gemm::transpose_a);
}

/// Where the machine's instruction reads operands along k alone, they are [.., M, K] and [.., N, K], so that one that
/// lies otherwise is put in order once, before the matmul, and not by every program that reads a part of it.
void order_along_k(Op* gemm, const Machine& machine) {
  if (!reads_along_k(machine, gemm->in(graph::in::Gemm::a)->type()->dtype)) return;
  Builder builder(*gemm->module());
  builder.set_before(gemm);
  builder.set_loc(gemm->loc());
  if (gemm->attr(graph::attr::Gemm::transpose_a)) {
    gemm->set_operand(0, transposed(builder, gemm->in(graph::in::Gemm::a)));
    gemm->remove(graph::attr::Gemm::transpose_a);
  }
  if (!gemm->attr(graph::attr::Gemm::transpose_b)) {
    gemm->set_operand(1, transposed(builder, gemm->in(graph::in::Gemm::b)));
    gemm->set(graph::attr::Gemm::transpose_b, true);
  }
}

/// A concat of more parts than a kernel stores becomes one of concats.
void cut_long(Op* concat) {
  std::vector<Value*> parts = concat->ins(graph::in::Concat::parts);
  if (parts.size() <= max_group_stores) return;
  Builder builder(*concat->module());
  builder.set_before(concat);
  builder.set_loc(concat->loc());
  while (parts.size() > max_group_stores) {
    std::vector<Value*> longer;
    for (size_t i = 0; i < parts.size(); i += max_group_stores) {
      auto begin = parts.begin() + ptrdiff_t(i);
      auto end = begin + ptrdiff_t(std::min(max_group_stores, parts.size() - i));
      longer.push_back(
          graph::concat(builder, {begin, end}, concat->attr(graph::attr::Concat::axis)));
    }
    parts = std::move(longer);
  }
  concat->set_slot(graph::in::Concat::parts, parts);
}

/// A value from outside of the region that is made where it is read; null when there is none.
Value* next_to_sink(Region* region) {
  Value* found = nullptr;
  walk(region, [&](Op* op) {
    for (unsigned i = 0; !found && i < op->operand_count(); ++i) {
      Value* value = op->operand(i);
      if (!value->def() || !is_made_where_read(value->def())) continue;
      bool outside = true;
      for (Block* block = value->parent_block(); block && outside;) {
        outside = block->region() != region;
        Op* around = block->parent_op();
        block = around ? around->block() : nullptr;
      }
      if (outside) found = value;
    }
  });
  return found;
}

void sink_into(Region* region) {
  while (Value* value = next_to_sink(region)) {
    std::map<Value*, Value*> same;
    Op* copy = region->parent()->module()->clone(value->def(), same);
    Block* block = region->front();
    copy->move_before(block->front());
    std::vector<Use*> uses;
    walk(region, [&](Op* op) {
      for (unsigned i = 0; i < op->operand_count(); ++i) {
        if (op->operand(i) == value) uses.push_back(op->use(i));
      }
    });
    for (Use* use : uses) use->set(copy->result());
  }
}

/// The functions that can be lowered.
std::vector<std::string> functions_of(Module& module) {
  std::vector<std::string> names;
  for (Op* op : *module.body()) {
    if (op->is(graph::info(graph::OpKind::Func))) names.emplace_back(symbol_name(op));
  }
  return names;
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
    std::vector<std::string> known = functions_of(module);
    if (context.entry.empty() && !known.empty()) {
      context.diagnostics.report(diag::command_line, Loc(), "--entry is missing: graph_to_schedule lowers one function")
          .help(fmt::format("--entry names one of {}", fmt::join(known, ", ")));
      return failure;
    }
    auto builder = context.diagnostics.report(diag::unknown_entry, Loc(), context.entry);
    bool is_near = builder.suggest(context.diagnostics.sources(), Loc(), context.entry, known);
    if (!is_near && !known.empty()) builder.help(fmt::format("--entry names one of {}", fmt::join(known, ", ")));
    return failure;
  }
  walk(function, [&](Op* op) {
    if (graph::kind_of(op) == graph::OpKind::Gemm) {
      untranspose_stacked(op);
      if (context.machine) order_along_k(op, *context.machine);
    }
    if (graph::kind_of(op) == graph::OpKind::Concat) cut_long(op);
    for (unsigned r = 0; r < op->region_count(); ++r) sink_into(op->region(r));
  });
  if (context.machine && context.machine->is_gpu()) {
    write_computed_rows(function);
    split_reductions(function);
  }
  std::string entry(symbol_name(function));
  module.set_level(Level::Schedule);
  module.set(common::Module::entry, entry);
  if (context.machine) module.set(common::Module::target, context.machine->name);
  LoweredFunction lowered(module, function);
  Result<std::vector<Value*>> results =
      GraphLowering(module, context, lowered, function->region()->front()).run();
  if (!results) return failure;
  lowered.host.finish(*results);
  for (Op* op : *module.body()) {
    if (op->is(graph::info(graph::OpKind::Func))) op->erase();
  }
  return success;
}

}  // namespace tessera
