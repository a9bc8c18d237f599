// Ops of many examples. A rule makes what an op gives for each of them, to the bit.

#include "ir/graph/build.h"
#include "ir/graph/op_facts.h"
#include "ir/graph/regions.h"
#include "ir/graph/vmap/batch.h"

namespace tessera::graph {

namespace {

/// The op on other operands, whose results have the axis of examples.
Op* with_operands(Op* op, Batch& batch, Values values) {
  Op* made = copied(op, batch.builder(), values);
  Context& context = batch.builder().context();
  for (unsigned i = 0; i < op->result_count(); ++i) {
    Type type = op->result(i)->type();
    made->result(i)->set_type(context.tensor(batch.leading(op->result(i)), type->dtype, type->policies));
    batch.set(op->result(i), made->result(i));
  }
  return made;
}

/// The same, all of whose operands have the axis of examples.
Op* of_all(Op* op, Batch& batch) {
  Values values;
  for (unsigned i = 0; i < op->operand_count(); ++i) values[op->operand(i)] = batch.of_all(op->operand(i));
  return with_operands(op, batch, std::move(values));
}

std::vector<int64_t> moved(std::vector<int64_t> axes) {
  for (int64_t& axis : axes) ++axis;
  return axes;
}

/// The dims with ones behind the first, so that `rank` dims follow it.
std::vector<Dim> padded(Batch& batch, Value* value, size_t rank) {
  std::vector<Dim> dims = batch.leading(value);
  size_t missing = rank + 1 - dims.size();
  dims.insert(dims.begin() + 1, missing, batch.builder().context().dims().constant(1));
  return dims;
}

}  // namespace

void vmap_leading(Op* op, Batch& batch) { of_all(op, batch); }

void vmap_broadcast(Op* op, Batch& batch) {
  Value* a = op->in(in::Broadcast::a);
  Value* aligned = reshape(batch.builder(), batch.of_all(a), padded(batch, a, op->result()->type()->rank()));
  with_operands(op, batch, {{a, aligned}});
}

void vmap_transpose(Op* op, Batch& batch) {
  std::vector<int64_t> perm = moved(op->attr(attr::Transpose::perm));
  perm.insert(perm.begin(), 0);
  of_all(op, batch)->set(attr::Transpose::perm, std::move(perm));
}

void vmap_slice(Op* op, Batch& batch) {
  std::vector<Dim> starts = op->attr(attr::Slice::starts);
  std::vector<int64_t> steps = op->attr(attr::Slice::steps);
  starts.insert(starts.begin(), batch.builder().context().dims().constant(0));
  steps.insert(steps.begin(), 1);
  Op* made = of_all(op, batch);
  made->set(attr::Slice::starts, std::move(starts));
  made->set(attr::Slice::steps, std::move(steps));
}

void vmap_windows(Op* op, Batch& batch) {
  of_all(op, batch)->set(attr::Windows::axis, op->attr(attr::Windows::axis) + 1);
}

void vmap_concat(Op* op, Batch& batch) {
  of_all(op, batch)->set(attr::Concat::axis, op->attr(attr::Concat::axis) + 1);
}

void vmap_reduce(Op* op, Batch& batch) {
  of_all(op, batch)->set(attr::Reduce::axes, moved(op->attr(attr::Reduce::axes)));
}

void vmap_gemm(Op* op, Batch& batch) {
  Builder& builder = batch.builder();
  Value* a = op->in(in::Gemm::a);
  Value* b = op->in(in::Gemm::b);
  size_t rank = a->type()->rank();
  bool is_one_matrix = b->type()->rank() == 2;
  if (is_one_matrix && !batch.differs(b)) {
    with_operands(op, batch, {{a, batch.now(a)}, {b, batch.now(b)}});
    return;
  }
  Value* matrices = batch.of_all(b);
  if (is_one_matrix && rank > 2) {
    std::vector<Dim> dims = batch.leading(a);
    std::copy_n(b->type()->dims.begin(), 2, dims.end() - 2);
    matrices = broadcast_to(builder, reshape(builder, matrices, padded(batch, b, rank)), std::move(dims));
  }
  with_operands(op, batch, {{a, batch.of_all(a)}, {b, matrices}});
}

// A batch of batches is one: its heads do not know of each other.
void vmap_flash_attention(Op* op, Batch& batch) {
  Builder& builder = batch.builder();
  DimTable& table = builder.context().dims();
  std::vector<Value*> lengths = op->ins(in::FlashAttention::length), seeds = op->ins(in::FlashAttention::seed);
  bool is_one_call = seeds.empty() && (lengths.empty() || !batch.differs(lengths[0]));
  if (!is_one_call) return vmap_loop(op, batch);
  auto folded = [&](std::vector<Dim> dims) {
    dims[1] = table.mul(dims[0], dims[1]);
    dims.erase(dims.begin());
    return dims;
  };
  Values values;
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    Value* operand = op->operand(i);
    bool is_length = operand->type()->rank() == 0;
    values[operand] = is_length ? batch.now(operand)
                                : reshape(builder, batch.of_all(operand), folded(batch.leading(operand)));
  }
  Op* made = copied(op, builder, values);
  for (unsigned i = 0; i < op->result_count(); ++i) {
    Value* result = op->result(i);
    Type type = result->type();
    made->result(i)->set_type(builder.context().tensor(folded(batch.leading(result)), type->dtype, type->policies));
    batch.set(result, reshape(builder, made->result(i), batch.leading(result)));
  }
}

// Tables one under the other are one, in which an example's rows begin at its number times their count.
void vmap_embedding(Op* op, Batch& batch) {
  Builder& builder = batch.builder();
  DimTable& table = builder.context().dims();
  Value* ids = op->in(in::Embedding::ids);
  Value* rows = op->in(in::Embedding::table);
  if (!batch.differs(rows)) {
    with_operands(op, batch, {{ids, batch.now(ids)}, {rows, batch.now(rows)}});
    return;
  }
  std::vector<Dim> dims = batch.leading(ids);
  Value* names = cast(builder, batch.of_all(ids), DType::I64);
  auto everywhere = [&](Value* value) { return broadcast_to(builder, value, dims); };
  Value* count = everywhere(dim(builder, rows->type()->dims[0]));
  Value* first = mul(builder, iota(builder, 0, dims, DType::I64), count);
  Value* zero = everywhere(scalar(builder, 0, DType::I64));
  Value* is_there = elementwise(builder, ElementwiseKind::And,
                                {elementwise(builder, ElementwiseKind::Le, {zero, names}),
                                 elementwise(builder, ElementwiseKind::Lt, {names, count})});
  Value* none = everywhere(scalar(builder, -1, DType::I64));
  Value* all = reshape(builder, batch.now(rows),
                       {table.mul(batch.count(), rows->type()->dims[0]), rows->type()->dims[1]});
  with_operands(op, batch, {{ids, select(builder, is_there, add(builder, names, first), none)}, {rows, all}});
}

void vmap_update_slice(Op* op, Batch& batch) {
  Value* start = op->in(in::UpdateSlice::start);
  if (batch.differs(start)) return vmap_loop(op, batch);
  Value* buffer = op->in(in::UpdateSlice::buffer);
  Value* update = op->in(in::UpdateSlice::update);
  Values values{{buffer, batch.of_all(buffer)}, {update, batch.of_all(update)}, {start, batch.now(start)}};
  with_operands(op, batch, std::move(values))->set(attr::UpdateSlice::axis, op->attr(attr::UpdateSlice::axis) + 1);
}

void vmap_check(Op* op, Batch& batch) {
  Builder& builder = batch.builder();
  Value* each = cast(builder, batch.of_all(op->in(in::Check::condition)), DType::I32);
  Value* least = reduce(builder, each, "min", {0});
  Value* all = elementwise(builder, ElementwiseKind::Ne, {least, scalar(builder, 0, DType::I32)});
  builder.op(info(OpKind::Check), {{all}}, {}, std::vector<OpAttr>(op->attributes().begin(), op->attributes().end()));
}

}  // namespace tessera::graph
