// Ops that move elements, and sums: linear in what they move.

#include "ir/graph/build.h"
#include "ir/graph/derive/backward.h"
#include "ir/graph/derive/term.h"
#include "ir/graph/op_facts.h"

namespace tessera::graph {

void jvp_of_first(Op* op, Forward& forward) {
  std::map<Value*, Value*> values{{op->operand(0), forward.tangent(op->operand(0))}};
  Builder& builder = forward.builder();
  Op* moved = op->module()->clone(op, values);
  builder.insert(moved);
  forward.set(op->result(), moved->result());
}

void jvp_same(Op* op, Forward& forward) { forward.set(op->result(), forward.tangent(op->operand(0))); }

void transpose_broadcast(Op* op, Backward& backward) {
  Value* a = op->in(in::Broadcast::a);
  const std::vector<Dim>& from = a->type()->dims;
  const std::vector<Dim>& to = op->result()->type()->dims;
  std::vector<int64_t> axes;
  size_t leading = to.size() - from.size();
  for (size_t axis = 0; axis < to.size(); ++axis) {
    if (axis < leading || from[axis - leading] != to[axis]) axes.push_back(int64_t(axis));
  }
  Builder& builder = backward.builder();
  backward.add(a, reshape(builder, sum(builder, backward.cotangent(op->result()), axes), from));
}

void transpose_reshape(Op* op, Backward& backward) {
  Value* a = op->in(in::Reshape::a);
  backward.add(a, reshape(backward.builder(), backward.cotangent(op->result()), a->type()->dims));
}

void transpose_transpose(Op* op, Backward& backward) {
  std::vector<int64_t> perm = op->attr(attr::Transpose::perm), inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[size_t(perm[i])] = int64_t(i);
  backward.add(op->in(in::Transpose::a), transpose(backward.builder(), backward.cotangent(op->result()), inverse));
}

namespace {

/// Whether a size has its own number in each iteration of a loop around a block.
bool is_counted(Dim size, Block* block) {
  for (Op* around = block->parent_op(); around; around = around->parent()) {
    bool is_loop = around->is(info(OpKind::For));
    if (is_loop && mentions(size, around->attr(attr::For::counter))) return true;
  }
  return false;
}

}  // namespace

// A slice that begins elsewhere in each iteration of a loop is added to its place in the sum of the iterations before,
// so that the others cost nothing.
void transpose_slice(Op* op, Backward& backward) {
  Builder& builder = backward.builder();
  Value* a = op->in(in::Slice::a);
  const std::vector<Dim>& extents = a->type()->dims;
  std::vector<Dim> starts = op->attr(attr::Slice::starts);
  std::vector<int64_t> steps = op->attr(attr::Slice::steps);
  Value* g = backward.cotangent(op->result());
  std::vector<int64_t> counted;
  for (size_t axis = 0; axis < starts.size(); ++axis) {
    bool whole = starts[axis]->is_constant(0) && steps[axis] == 1 && g->type()->dims[axis] == extents[axis];
    if (is_counted(starts[axis], builder.block())) {
      if (steps[axis] != 1) return backward.refuse(op, "with a step, of a loop's counter, is not taken backwards yet");
      counted.push_back(int64_t(axis));
    } else if (!whole) {
      g = scattered(builder, g, int64_t(axis), starts[axis], steps[axis], extents[axis]);
    }
  }
  if (counted.empty()) return backward.add(a, g);
  auto placed = [&](Value* into, int64_t axis) {
    return update_slice(builder, into, g, dim(builder, starts[size_t(axis)]), axis, false);
  };
  for (; counted.size() > 1; counted.pop_back()) {
    std::vector<Dim> dims = g->type()->dims;
    dims[size_t(counted.back())] = extents[size_t(counted.back())];
    g = placed(full(builder, 0, dims, g->type()->dtype), counted.back());
  }
  Value* sum = backward.cotangent(a);
  if (sum) {
    std::vector<Dim> from(starts.size(), builder.context().dims().constant(0));
    from[size_t(counted[0])] = starts[size_t(counted[0])];
    g = add(builder, slice(builder, sum, from, std::vector<int64_t>(from.size(), 1), g->type()->dims), g);
  }
  backward.set(a, placed(sum ? sum : full(builder, 0, extents, g->type()->dtype), counted[0]));
}

void transpose_windows(Op* op, Backward& backward) {
  Value* a = op->in(in::Windows::a);
  Builder& builder = backward.builder();
  DimTable& table = builder.context().dims();
  Value* g = backward.cotangent(op->result());
  auto size = g->type()->dims.back()->constant();
  if (!size) return backward.refuse(op, "of a symbolic size is not taken backwards");
  int64_t axis = op->attr(attr::Windows::axis), step = op->attr(attr::Windows::step);
  std::vector<Dim> starts(g->type()->rank(), table.constant(0)), single = g->type()->dims;
  std::vector<int64_t> steps(starts.size(), 1);
  single.back() = table.constant(1);
  Term all;
  for (int64_t j = 0; j < *size; ++j) {
    starts.back() = table.constant(j);
    Value* part = slice(builder, g, starts, steps, single);
    part = reshape(builder, part, {single.begin(), single.end() - 1});
    Dim start = table.constant(j * op->attr(attr::Windows::dilation));
    Term placed = wide(builder, scattered(builder, part, axis, start, step, a->type()->dims[size_t(axis)]));
    all = all ? all + placed : placed;
  }
  if (all) backward.add(a, all.in(a->type()->dtype).value);
}

void jvp_concat(Op* op, Forward& forward) {
  std::vector<Value*> parts;
  for (Value* part : op->ins(in::Concat::parts)) parts.push_back(forward.tangent_or_zero(part));
  forward.set(op->result(), concat(forward.builder(), parts, op->attr(attr::Concat::axis)));
}

void transpose_concat(Op* op, Backward& backward) {
  DimTable& table = backward.builder().context().dims();
  Value* g = backward.cotangent(op->result());
  size_t axis = size_t(op->attr(attr::Concat::axis));
  std::vector<Dim> starts(g->type()->rank(), table.constant(0));
  std::vector<int64_t> steps(starts.size(), 1);
  for (Value* part : op->ins(in::Concat::parts)) {
    const std::vector<Dim>& dims = part->type()->dims;
    if (backward.is_linear(part)) backward.add(part, slice(backward.builder(), g, starts, steps, dims));
    starts[axis] = table.add(starts[axis], dims[axis]);
  }
}

namespace {

/// By an element of a product: the product of all others. With one factor of 0, only that factor's is not 0.
Term product_slope(Term x, const std::vector<int64_t>& axes) {
  Builder& builder = *x.builder;
  const std::vector<Dim>& dims = x.value->type()->dims;
  Term zero = x.filled(0), one = x.filled(1), is_zero = x.apply(ElementwiseKind::Eq, zero);
  auto combined = [&](Term of, const char* kind) {
    return Term{&builder, spread(builder, reduce(builder, of.value, kind, axes), axes, dims)};
  };
  Term zeros = combined(where(is_zero, one, zero), "sum");
  Term product = combined(where(is_zero, one, x), "prod");
  Term at_zero = where(zeros.apply(ElementwiseKind::Eq, one), product, zero);
  Term elsewhere = where(zeros.apply(ElementwiseKind::Eq, zero), product / where(is_zero, one, x), zero);
  return where(is_zero, at_zero, elsewhere);
}

/// 1 / n for each of n equal extremes, 0 for all others.
Term extreme_slope(Term x, Term extreme, const std::vector<int64_t>& axes) {
  Builder& builder = *x.builder;
  const std::vector<Dim>& dims = x.value->type()->dims;
  Term most{&builder, spread(builder, extreme.value, axes, dims)};
  Term share = where(x.apply(ElementwiseKind::Eq, most), x.filled(1), x.filled(0));
  Term count{&builder, spread(builder, reduce(builder, share.value, "sum", axes), axes, dims)};
  return share / count;
}

}  // namespace

void jvp_reduce(Op* op, Forward& forward) {
  Builder& builder = forward.builder();
  Value* a = op->in(in::Reduce::a);
  std::vector<int64_t> axes = op->attr(attr::Reduce::axes);
  std::string_view kind = op->attr(attr::Reduce::kind);
  Term t = wide(builder, forward.tangent(a)), x = wide(builder, a);
  if (kind == "prod") t = t * product_slope(x, axes);
  if (kind == "max" || kind == "min") t = t * extreme_slope(x, wide(builder, op->result()), axes);
  Value* total = reduce(builder, t.value, "sum", axes, op->attr(attr::Reduce::keep));
  forward.set(op->result(), cast(builder, total, op->result()->type()->dtype));
}

void transpose_reduce(Op* op, Backward& backward) {
  if (op->attr(attr::Reduce::kind) != "sum") return backward.refuse(op, "is not linear");
  Value* a = op->in(in::Reduce::a);
  std::vector<int64_t> axes = op->attr(attr::Reduce::axes);
  backward.add(a, spread(backward.builder(), backward.cotangent(op->result()), axes, a->type()->dims));
}

void jvp_update_slice(Op* op, Forward& forward) {
  Value* buffer = forward.tangent_or_zero(op->in(in::UpdateSlice::buffer));
  Value* update = forward.tangent_or_zero(op->in(in::UpdateSlice::update));
  forward.set(op->result(), update_slice(forward.builder(), buffer, update, op->in(in::UpdateSlice::start),
                                         op->attr(attr::UpdateSlice::axis), op->attr(attr::UpdateSlice::wrap)));
}

// The update has the elements that took its place, which are read as rows from `start` on; the buffer has all others.
void transpose_update_slice(Op* op, Backward& backward) {
  Builder& builder = backward.builder();
  Value* buffer = op->in(in::UpdateSlice::buffer);
  Value* update = op->in(in::UpdateSlice::update);
  Value* start = op->in(in::UpdateSlice::start);
  Value* g = backward.cotangent(op->result());
  int64_t axis = op->attr(attr::UpdateSlice::axis);
  bool wraps = op->attr(attr::UpdateSlice::wrap);
  if (backward.is_linear(buffer)) {
    Value* none = full(builder, 0, update->type()->dims, g->type()->dtype);
    backward.add(buffer, update_slice(builder, g, none, start, axis, wraps));
  }
  if (!backward.is_linear(update)) return;
  DimTable& table = builder.context().dims();
  const std::vector<Dim>& dims = update->type()->dims;
  // Along other axes the update covers the first elements.
  std::vector<Dim> part = dims;
  part[size_t(axis)] = g->type()->dims[size_t(axis)];
  g = slice(builder, g, std::vector<Dim>(dims.size(), table.constant(0)), std::vector<int64_t>(dims.size(), 1), part);
  std::vector<int64_t> perm{axis};
  for (int64_t i = 0; i < int64_t(dims.size()); ++i) {
    if (i != axis) perm.push_back(i);
  }
  Dim extent = part[size_t(axis)], count = dims[size_t(axis)], width = table.constant(1);
  std::vector<Dim> moved{count};
  for (size_t i = 1; i < perm.size(); ++i) {
    moved.push_back(dims[size_t(perm[i])]);
    width = table.mul(width, moved.back());
  }
  Value* rows = reshape(builder, transpose(builder, g, perm), {extent, width});
  Term first{&builder, broadcast_to(builder, start, {count})};
  Term place = first + Term{&builder, iota(builder, 0, {count}, DType::I64)};
  Term room{&builder, broadcast_to(builder, dim(builder, extent), {count})};
  if (wraps) place = place.apply(ElementwiseKind::Mod, room);
  Value* read = embedding(builder, place.value, rows);
  if (!wraps) {
    // An update that would reach outside changed nothing, so that nothing depends on it.
    Term last = first + Term{&builder, broadcast_to(builder, dim(builder, count), {count})};
    Term inside = first.apply(ElementwiseKind::Ge, first.filled(0))
                      .apply(ElementwiseKind::And, last.apply(ElementwiseKind::Le, room));
    Value* whole = broadcast_to(builder, reshape(builder, inside.value, {count, table.constant(1)}), {count, width});
    read = where({&builder, whole}, {&builder, read}, Term{&builder, read}.filled(0)).value;
  }
  std::vector<int64_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[size_t(perm[i])] = int64_t(i);
  backward.add(update, transpose(builder, reshape(builder, read, moved), inverse));
}

}  // namespace tessera::graph
