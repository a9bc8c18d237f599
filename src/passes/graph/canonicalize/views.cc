// Views: ops that give the same elements under other dims. A chain becomes one op where one op can
// say it, and what moves no element becomes a reshape, the simplest of them. A matmul reads an
// operand whose last two axes were exchanged by its own flag.

#include <algorithm>
#include <numeric>

#include "ir/graph/build.h"
#include "ir/graph/op_facts.h"
#include "passes/analysis/graph_reads.h"
#include "passes/graph/canonicalize/patterns.h"

namespace tessera::canonical {

namespace {

using graph::OpKind;
using Axes = std::vector<int64_t>;

bool is(Op* op, OpKind kind) {
  return graph::kind_of(op) == kind;
}

bool replace_with_reshape(Op* op, Value* value, Rewriter& rewriter) {
  Value* same = rewriter.value(graph::info(OpKind::Reshape), {{value}}, op->result()->type());
  rewriter.replace(op, same);
  return true;
}

/// A reshape or broadcast to the dims that are there.
bool same_shape(Op* op, Rewriter& rewriter) {
  if (!is(op, OpKind::Reshape) && !is(op, OpKind::Broadcast)) return false;
  if (!same_dims(op->operand(0)->type(), op->result()->type())) return false;
  return replace_by(op, op->operand(0), rewriter);
}

/// A reshape of a reshape, a broadcast of a broadcast.
bool view_of_same_kind(Op* op, Rewriter& rewriter) {
  if (!is(op, OpKind::Reshape) && !is(op, OpKind::Broadcast)) return false;
  Op* inner = def_of(op->operand(0), graph::kind_of(op));
  if (!inner) return false;
  rewriter.set_operand(op, 0, inner->operand(0));
  return true;
}

/// A broadcast that only adds leading axes of extent 1.
bool broadcast_to_ones(Op* op, Rewriter& rewriter) {
  if (!is(op, OpKind::Broadcast)) return false;
  const std::vector<Dim>& from = op->operand(0)->type()->dims;
  const std::vector<Dim>& to = op->result()->type()->dims;
  size_t added = to.size() - from.size();
  for (size_t i = 0; i < to.size(); ++i) {
    if (i < added ? !to[i]->is_constant(1) : to[i] != from[i - added]) return false;
  }
  return replace_with_reshape(op, op->operand(0), rewriter);
}

/// A broadcast of what was given leading axes of extent 1: they would be added anyway.
bool broadcast_of_ones(Op* op, Rewriter& rewriter) {
  if (!is(op, OpKind::Broadcast)) return false;
  Op* inner = def_of(op->operand(0), OpKind::Reshape);
  if (!inner) return false;
  const std::vector<Dim>& from = inner->operand(0)->type()->dims;
  const std::vector<Dim>& to = inner->result()->type()->dims;
  if (from.size() > to.size()) return false;
  auto rest = to.end() - std::ptrdiff_t(from.size());
  bool ones = std::all_of(to.begin(), rest, [](Dim d) { return d->is_constant(1); });
  if (!ones || !std::equal(rest, to.end(), from.begin())) return false;
  rewriter.set_operand(op, 0, inner->operand(0));
  return true;
}

/// A transpose of a transpose.
bool transpose_of_transpose(Op* op, Rewriter& rewriter) {
  if (!is(op, OpKind::Transpose)) return false;
  Op* inner = def_of(op->operand(0), OpKind::Transpose);
  if (!inner) return false;
  Axes outer_axes = op->attr(graph::attr::Transpose::perm),
       inner_axes = inner->attr(graph::attr::Transpose::perm);
  for (int64_t& axis : outer_axes) axis = inner_axes[size_t(axis)];
  op->set(graph::attr::Transpose::perm, outer_axes);
  rewriter.set_operand(op, 0, inner->operand(0));
  return true;
}

/// A transpose that keeps the order of all axes but those of extent 1.
bool transpose_of_ones(Op* op, Rewriter& rewriter) {
  if (!is(op, OpKind::Transpose)) return false;
  const std::vector<Dim>& from = op->operand(0)->type()->dims;
  int64_t last = -1;
  for (int64_t axis : op->attr(graph::attr::Transpose::perm)) {
    if (from[size_t(axis)]->is_constant(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return replace_with_reshape(op, op->operand(0), rewriter);
}

/// True if a slice takes everything.
bool takes_all(Op* slice) {
  if (!same_dims(slice->operand(0)->type(), slice->result()->type())) return false;
  std::vector<Dim> starts = slice->attr(graph::attr::Slice::starts);
  Axes steps = slice->attr(graph::attr::Slice::steps);
  return std::all_of(starts.begin(), starts.end(), [](Dim d) { return d->is_constant(0); }) &&
         std::all_of(steps.begin(), steps.end(), [](int64_t step) { return step == 1; });
}

bool whole_slice(Op* op, Rewriter& rewriter) {
  return is(op, OpKind::Slice) && takes_all(op) && replace_by(op, op->operand(0), rewriter);
}

/// Element j of the outer slice is element s + j*t of the inner one, which is element
/// s' + (s + j*t)*t' of its operand. One that might leave the inner slice stays: merged, it could
/// read what lies beside that instead of being refused.
bool slice_of_slice(Op* op, Rewriter& rewriter) {
  if (!is(op, OpKind::Slice)) return false;
  Op* inner = def_of(op->operand(0), OpKind::Slice);
  if (!inner) return false;
  Context& context = rewriter.context();
  DimTable& table = context.dims();
  if (!graph::slice_stays_inside(op, {})) return false;
  std::vector<Dim> starts = op->attr(graph::attr::Slice::starts),
                   inner_starts = inner->attr(graph::attr::Slice::starts);
  Axes steps = op->attr(graph::attr::Slice::steps),
       inner_steps = inner->attr(graph::attr::Slice::steps);
  for (size_t i = 0; i < starts.size(); ++i) {
    Dim scaled = table.mul(starts[i], table.constant(inner_steps[i]));
    starts[i] = table.add(inner_starts[i], scaled);
    if (starts[i]->overflow) return false;
    if (__builtin_mul_overflow(steps[i], inner_steps[i], &steps[i])) return false;
  }
  op->set(graph::attr::Slice::starts, starts);
  op->set(graph::attr::Slice::steps, steps);
  rewriter.set_operand(op, 0, inner->operand(0));
  return true;
}

/// A concatenation of one part.
bool single_part(Op* op, Rewriter& rewriter) {
  if (!is(op, OpKind::Concat) || op->operand_count() != 1) return false;
  return replace_by(op, op->operand(0), rewriter);
}

/// A concatenation of concatenations along the same axis, each of which nobody else reads.
bool concat_of_concat(Op* op, Rewriter& rewriter) {
  if (!is(op, OpKind::Concat)) return false;
  std::vector<Value*> parts;
  for (Value* part : op->ins(graph::in::Concat::parts)) {
    Op* inner = def_of(part, OpKind::Concat);
    bool same = inner &&
                inner->attr(graph::attr::Concat::axis) == op->attr(graph::attr::Concat::axis) &&
                part->has_one_use();
    if (!same) {
      parts.push_back(part);
      continue;
    }
    std::vector<Value*> inner_parts = inner->ins(graph::in::Concat::parts);
    parts.insert(parts.end(), inner_parts.begin(), inner_parts.end());
  }
  if (parts.size() == op->operand_count()) return false;
  rewriter.replace(
      op, rewriter.value(graph::info(OpKind::Concat), {parts}, op->result()->type(),
                         {graph::attr::Concat::axis(op->node(graph::attr::Concat::axis))}));
  return true;
}

/// A slice that is shown to lie in one part of a concatenation is one of that part.
bool slice_of_concat(Op* op, Rewriter& rewriter) {
  if (!is(op, OpKind::Slice)) return false;
  Op* inner = def_of(op->operand(0), OpKind::Concat);
  if (!inner) return false;
  Context& context = rewriter.context();
  DimTable& table = context.dims();
  size_t axis = size_t(inner->attr(graph::attr::Concat::axis));
  std::vector<Dim> starts = op->attr(graph::attr::Slice::starts);
  Dim taken = table.sub(op->result()->type()->dims[axis], table.constant(1));
  Dim last = table.add(starts[axis],
                       table.mul(taken, table.constant(op->attr(graph::attr::Slice::steps)[axis])));
  Dim begin = table.constant(0);
  for (Value* part : inner->ins(graph::in::Concat::parts)) {
    Dim end = table.add(begin, part->type()->dims[axis]);
    bool inside = proves_le(table, begin, starts[axis]) && proves_le(table, table.add(last, table.constant(1)), end);
    if (inside) {
      starts[axis] = table.sub(starts[axis], begin);
      op->set(graph::attr::Slice::starts, starts);
      rewriter.set_operand(op, 0, part);
      return true;
    }
    begin = end;
  }
  return false;
}

/// True if a transpose exchanges the last two axes and moves no other.
bool exchanges_last_two(Op* transpose) {
  Axes perm = transpose->attr(graph::attr::Transpose::perm);
  if (perm.size() < 2) return false;
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != int64_t(i)) return false;
  }
  return true;
}

/// A matmul of a transposed operand reads it transposed.
bool product_of_transpose(Op* op, Rewriter& rewriter) {
  if (!is(op, OpKind::Gemm)) return false;
  for (unsigned i = 0; i < 2; ++i) {
    Op* transpose = def_of(op->operand(i), OpKind::Transpose);
    if (!transpose || !exchanges_last_two(transpose)) continue;
    auto flag = i == 0 ? graph::attr::Gemm::transpose_a : graph::attr::Gemm::transpose_b;
    op->set(flag, !op->attr(flag));
    rewriter.set_operand(op, i, transpose->operand(0));
    return true;
  }
  return false;
}

/// A flag that is false is the same as none.
bool false_flag(Op* op, Rewriter& rewriter) {
  bool changed = false;
  for (auto flag : {graph::attr::Gemm::transpose_a, graph::attr::Gemm::transpose_b,
                    graph::attr::Reduce::keep}) {
    if (!op->has(flag) || op->attr(flag)) continue;
    op->remove(flag);
    changed = true;
  }
  if (changed) rewriter.changed(op);
  return changed;
}

/// A barrier of what is made where it is read: that of what it reads, if anything.
bool barrier_of_view(Op* op, Rewriter& rewriter) {
  if (!is(op, OpKind::Barrier)) return false;
  Op* made = op->operand(0)->def();
  if (!made) return false;
  GraphRole role = graph_role(made);
  if (role == GraphRole::Source || role == GraphRole::Constant) return replace_by(op, op->operand(0), rewriter);
  if (!is_made_where_read(made)) return false;
  Value* from = made->operand(0);
  Value* behind = rewriter.value(graph::info(OpKind::Barrier), {{from}, op->ins(graph::in::Barrier::after)},
                                 rewriter.context().tensor(from->type()->dims, from->type()->dtype));
  rewriter.replace(op, rewriter.value(&made->info(), {{behind}}, op->result()->type(),
                                      {made->attributes().begin(), made->attributes().end()}));
  return true;
}

}  // namespace

std::span<const Pattern> view_patterns() {
  static constexpr Pattern patterns[] = {
      {"same_shape", same_shape},
      {"view_of_same_kind", view_of_same_kind},
      {"broadcast_to_ones", broadcast_to_ones},
      {"broadcast_of_ones", broadcast_of_ones},
      {"transpose_of_transpose", transpose_of_transpose},
      {"transpose_of_ones", transpose_of_ones},
      {"whole_slice", whole_slice},
      {"slice_of_slice", slice_of_slice},
      {"single_part", single_part},
      {"concat_of_concat", concat_of_concat},
      {"slice_of_concat", slice_of_concat},
      {"product_of_transpose", product_of_transpose},
      {"false_flag", false_flag},
      {"barrier_of_view", barrier_of_view},
  };
  return patterns;
}

}  // namespace tessera::canonical
