// Loops and branches of many examples, and the loop over examples that serves any op.

#include <set>

#include "ir/graph/build.h"
#include "ir/graph/op_facts.h"
#include "ir/graph/regions.h"
#include "ir/graph/vmap/batch.h"
#include "ir/text/substitute.h"

namespace tessera::graph {

namespace {

/// Which values of a block differ between examples, of those that it yields, where these arguments of it do.
std::vector<bool> differing(Block* block, const std::vector<bool>& arguments, const Batch& batch) {
  std::set<const Value*> known;
  for (unsigned i = 0; i < arguments.size(); ++i) {
    if (arguments[i]) known.insert(block->arg(i));
  }
  for (Op* op : *block) {
    bool depends = batch.depends(op);
    for_each_operand(op, [&](Value* value) { depends = depends || known.count(value); });
    for (unsigned i = 0; depends && i < op->result_count(); ++i) known.insert(op->result(i));
  }
  std::vector<bool> differ;
  for (Value* value : yielded(block)) differ.push_back(batch.differs(value) || known.count(value));
  return differ;
}

/// Which loop-carried values differ: those that begin so, and what an iteration makes of them.
std::vector<bool> carried_differing(Block* body, const std::vector<Value*>& inits, const Batch& batch) {
  std::vector<bool> differ;
  for (Value* init : inits) differ.push_back(batch.differs(init));
  for (bool changed = true; changed;) {
    std::vector<bool> after = differing(body, differ, batch);
    changed = false;
    for (size_t i = 0; i < differ.size(); ++i) {
      changed = changed || (after[i] && !differ[i]);
      differ[i] = differ[i] || after[i];
    }
  }
  return differ;
}

Value* given(Value* value, bool differs, Batch& batch) { return differs ? batch.of_all(value) : batch.now(value); }

std::vector<Value*> given(const std::vector<Value*>& values, const std::vector<bool>& differ, Batch& batch) {
  std::vector<Value*> all;
  for (size_t i = 0; i < values.size(); ++i) all.push_back(given(values[i], differ[i], batch));
  return all;
}

void define(Value* value, Value* with, bool differs, Batch& batch) {
  if (differs) batch.set(value, with);
  if (!differs) batch.set_same(value, with);
}

/// A region of `made` that does what one of `op` does, for all examples.
void fill(Block* from, Block* block, const std::vector<bool>& arguments, const std::vector<bool>& results,
          Batch& batch) {
  Inside inside(batch.builder(), block);
  for (unsigned i = 0; i < from->arg_count(); ++i) define(from->arg(i), block->arg(i), arguments[i], batch);
  batch.copy(from);
  yield(batch.builder(), given(yielded(from), results, batch));
}

void define_results(Op* op, Op* made, const std::vector<bool>& differ, Batch& batch) {
  for (unsigned i = 0; i < op->result_count(); ++i) define(op->result(i), made->result(i), differ[i], batch);
}

std::vector<Type> types_of_results(Op* op, const std::vector<bool>& differ, Batch& batch) {
  std::vector<Type> types;
  for (unsigned i = 0; i < op->result_count(); ++i) {
    Value* result = op->result(i);
    std::vector<Dim> dims = differ[i] ? batch.leading(result) : result->type()->dims;
    types.push_back(batch.builder().context().tensor(std::move(dims), result->type()->dtype));
  }
  return types;
}

std::vector<Type> plain_types(const std::vector<Value*>& values, Builder& builder) {
  std::vector<Type> types;
  for (Value* value : values) types.push_back(plain(builder, value->type()));
  return types;
}

}  // namespace

void vmap_loop(Op* op, Batch& batch) {
  Builder& builder = batch.builder();
  std::vector<Value*> stacks;
  for (unsigned i = 0; i < op->result_count(); ++i) {
    stacks.push_back(full(builder, 0, batch.leading(op->result(i)), op->result(i)->type()->dtype));
  }
  if (batch.count()->is_constant(0)) {
    for (unsigned i = 0; i < op->result_count(); ++i) batch.set(op->result(i), stacks[i]);
    return;
  }
  Op* loop = make_loop(builder, batch.count(), "example", stacks);
  {
    Block* body = only_block(loop, at::For::body);
    Inside inside(builder, body);
    Values values;
    for_each_operand(op, [&](Value* value) {
      Value* here = batch.now(value);
      if (here == value || values.count(value)) return;
      values[value] = batch.differs(value) ? element(builder, here, counter_of(loop)) : here;
    });
    Op* made = copied(op, builder, values);
    std::vector<Value*> filled;
    for (unsigned i = 0; i < op->result_count(); ++i) {
      filled.push_back(with_element(builder, body->arg(i), counter_of(loop), made->result(i)));
    }
    yield(builder, std::move(filled));
  }
  for (unsigned i = 0; i < op->result_count(); ++i) batch.set(op->result(i), loop->result(i));
}

void vmap_for(Op* op, Batch& batch) {
  Builder& builder = batch.builder();
  Block* from = only_block(op, at::For::body);
  std::vector<Value*> inits = op->ins(in::For::inits);
  std::vector<bool> differ = carried_differing(from, inits, batch);
  Op* loop = loop_like(op, builder, given(inits, differ, batch));
  Block* body = only_block(loop, at::For::body);
  fill(from, body, differ, differ, batch);
  for (Op* inner : *body) {
    substitute_dims(inner, {{std::string(op->attr(attr::For::counter)), counter_of(loop)}});
  }
  define_results(op, loop, differ, batch);
}

// Where examples do not go on together, each runs its own loop.
void vmap_while(Op* op, Batch& batch) {
  Builder& builder = batch.builder();
  Block* condition = only_block(op, at::While::condition);
  Block* body = only_block(op, at::While::body);
  std::vector<Value*> inits = op->ins(in::While::inits);
  std::vector<bool> differ = carried_differing(body, inits, batch);
  if (differing(condition, differ, batch)[0]) return vmap_loop(op, batch);
  std::vector<Value*> begin = given(inits, differ, batch);
  Op* loop = builder.op(info(OpKind::While), {begin}, plain_types(begin, builder), {});
  for (unsigned region : {at::While::condition, at::While::body}) {
    Block* block = loop->region(region)->add_block();
    for (Value* value : begin) block->add_arg(plain(builder, value->type()), {});
    fill(only_block(op, region), block, differ, region == at::While::body ? differ : std::vector<bool>{false}, batch);
  }
  define_results(op, loop, differ, batch);
}

// Where examples do not choose alike, each takes its own branch.
void vmap_cond(Op* op, Batch& batch) {
  for (Value* condition : op->ins(in::Cond::condition)) {
    if (batch.differs(condition)) return vmap_loop(op, batch);
  }
  std::vector<bool> differ(op->result_count(), false);
  for (unsigned region : {at::Cond::then, at::Cond::otherwise}) {
    std::vector<bool> here = differing(only_block(op, region), {}, batch);
    for (size_t i = 0; i < differ.size(); ++i) differ[i] = differ[i] || here[i];
  }
  std::vector<Value*> condition;
  for (Value* value : op->ins(in::Cond::condition)) condition.push_back(batch.now(value));
  std::vector<OpAttr> attributes(op->attributes().begin(), op->attributes().end());
  Op* made = batch.builder().op(info(OpKind::Cond), {condition}, types_of_results(op, differ, batch),
                                std::move(attributes));
  for (unsigned region : {at::Cond::then, at::Cond::otherwise}) {
    fill(only_block(op, region), made->region(region)->add_block(), {}, differ, batch);
  }
  define_results(op, made, differ, batch);
}

// What all examples share is shared behind the barrier.
void vmap_barrier(Op* op, Batch& batch) {
  Value* a = op->in(in::Barrier::a);
  std::vector<Value*> after;
  for (Value* value : op->ins(in::Barrier::after)) after.push_back(batch.now(value));
  Value* made = batch.builder().value(info(OpKind::Barrier), {{batch.now(a)}, after},
                                      plain(batch.builder(), batch.now(a)->type()));
  define(op->result(), made, batch.differs(a), batch);
}

void vmap_checkpoint(Op* op, Batch& batch) {
  Block* body = only_block(op, at::Checkpoint::body);
  std::vector<bool> differ = differing(body, {}, batch);
  Op* made = batch.builder().op(info(OpKind::Checkpoint), {{}}, types_of_results(op, differ, batch),
                                {op->attributes().begin(), op->attributes().end()});
  fill(body, made->region(at::Checkpoint::body)->add_block(), {}, differ, batch);
  made->set_slot(in::Checkpoint::inputs, captured_values(made));
  define_results(op, made, differ, batch);
}

}  // namespace tessera::graph
