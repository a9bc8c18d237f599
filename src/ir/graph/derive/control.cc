// Loops and branches. What a region computes is computed again where its tangents are made, so that tangents have a
// region of their own, whose ops are linear in tangents or do not depend on them. Its transpose computes the latter
// again, and takes the linear ops backwards.
//
// Of a loop whose tangents are taken backwards, what each iteration begins with is kept: the loop is replaced by one
// that also fills a stack for each loop-carried value. The loop of the tangents reads them, and so does the loop that
// runs backwards, from the last iteration to the first.

#include <algorithm>

#include "ir/graph/build.h"
#include "ir/graph/derive/backward.h"
#include "ir/graph/derive/term.h"
#include "ir/graph/op_facts.h"
#include "ir/graph/regions.h"
#include "ir/text/substitute.h"

namespace tessera::graph {

namespace {

std::vector<Type> types_of(const std::vector<Value*>& values) {
  std::vector<Type> types;
  for (Value* value : values) types.push_back(value->type());
  return types;
}

bool is_float(Value* value) {
  return tessera::is_float(value->type()->dtype);
}

Value* zeros_like(Builder& builder, Value* value) {
  return full(builder, 0, value->type()->dims, value->type()->dtype);
}

/// The linear values around an op that its regions use.
std::vector<Value*> captured(Op* op, const Backward& backward) {
  std::vector<Value*> values;
  walk(op, [&](Op* inner) {
    for (unsigned i = 0; i < inner->operand_count(); ++i) {
      Value* value = inner->operand(i);
      bool is_new = std::find(values.begin(), values.end(), value) == values.end();
      if (backward.is_linear(value) && is_new) values.push_back(value);
    }
  });
  return values;
}

/// Adds the tangents of the floats that a loop begins with to what is carried; gives their numbers.
std::vector<unsigned> add_tangents(const std::vector<Value*>& inits, Forward& forward, std::vector<Value*>& carried) {
  std::vector<unsigned> floats;
  for (unsigned i = 0; i < inits.size(); ++i) {
    if (!is_float(inits[i])) continue;
    floats.push_back(i);
    carried.push_back(forward.tangent_or_zero(inits[i]));
  }
  return floats;
}

/// The ops of iteration number `iteration` of a loop, at the builder's point.
std::vector<Op*> iteration(Op* loop, Dim number, Builder& builder, Values& values) {
  std::vector<Op*> ops = copied(only_block(loop, at::For::body), builder, values);
  for (Op* op : ops) substitute_dims(op, {{std::string(loop->attr(attr::For::counter)), number}});
  return ops;
}

}  // namespace

void jvp_cond(Op* op, Forward& forward) {
  Builder& builder = forward.builder();
  std::vector<unsigned> floats;
  std::vector<Type> types;
  for (unsigned i = 0; i < op->result_count(); ++i) {
    if (!is_float(op->result(i))) continue;
    floats.push_back(i);
    types.push_back(plain(builder, op->result(i)->type()));
  }
  std::vector<OpAttr> attributes(op->attributes().begin(), op->attributes().end());
  Op* tangents = builder.op(info(OpKind::Cond), {op->ins(in::Cond::condition)}, types, std::move(attributes));
  for (unsigned region : {at::Cond::then, at::Cond::otherwise}) {
    Inside inside(builder, tangents->region(region)->add_block());
    Values values;
    if (!forward.push(copied(only_block(op, region), builder, values))) return;
    std::vector<Value*> results = yielded(only_block(op, region)), given;
    for (unsigned i : floats) given.push_back(forward.tangent_or_zero(mapped(values, results[i])));
    yield(builder, std::move(given));
  }
  for (size_t k = 0; k < floats.size(); ++k) forward.set(op->result(floats[k]), tangents->result(unsigned(k)));
}

void transpose_cond(Op* op, Backward& backward) {
  Builder& builder = backward.builder();
  std::vector<Value*> inputs = captured(op, backward);
  std::vector<OpAttr> attributes(op->attributes().begin(), op->attributes().end());
  Op* made = builder.op(info(OpKind::Cond), {op->ins(in::Cond::condition)}, types_of(inputs), std::move(attributes));
  for (unsigned region : {at::Cond::then, at::Cond::otherwise}) {
    Inside inside(builder, made->region(region)->add_block());
    Values values;
    std::vector<Op*> ops = copied(only_block(op, region), builder, values);
    Backward inner(builder, backward.library());
    std::vector<Value*> results = yielded(only_block(op, region)), given;
    for (unsigned i = 0; i < op->result_count(); ++i) {
      if (Value* g = backward.cotangent(op->result(i))) inner.seed(mapped(values, results[i]), g);
    }
    if (!inner.pull(ops, inputs)) return backward.refuse(inner.refused().op, inner.refused().why);
    for (Value* input : inputs) {
      Value* g = inner.cotangent(input);
      given.push_back(g ? g : zeros_like(builder, input));
    }
    yield(builder, std::move(given));
  }
  for (unsigned i = 0; i < inputs.size(); ++i) backward.add(inputs[i], made->result(i));
}

namespace {

/// Carries the tangents of floats beside the values.
void push_along(Op* op, Forward& forward) {
  Builder& builder = forward.builder();
  std::vector<Value*> inits = op->ins(in::For::inits), carried = inits;
  std::vector<unsigned> floats = add_tangents(inits, forward, carried);
  Op* loop = loop_like(op, builder, carried);
  {
    Block* from = only_block(op, at::For::body);
    Block* body = only_block(loop, at::For::body);
    Inside inside(builder, body);
    Values values;
    for (unsigned i = 0; i < inits.size(); ++i) values[from->arg(i)] = body->arg(i);
    for (size_t k = 0; k < floats.size(); ++k) forward.set(body->arg(floats[k]), body->arg(unsigned(inits.size() + k)));
    if (!forward.push(iteration(op, counter_of(loop), builder, values))) return;
    std::vector<Value*> given;
    for (Value* value : yielded(from)) given.push_back(mapped(values, value));
    for (unsigned i : floats) given.push_back(forward.tangent_or_zero(given[i]));
    yield(builder, std::move(given));
  }
  for (size_t k = 0; k < floats.size(); ++k) {
    forward.set(op->result(floats[k]), loop->result(unsigned(inits.size() + k)));
  }
}

/// In the place of a loop: one that also gives the stack of what each iteration begins with, for each loop-carried
/// value that the body reads; null for the others.
struct StackedLoop {
  Op* loop;
  std::vector<Value*> stacks;
};

StackedLoop with_stacks(Op* op, Forward& forward) {
  Builder builder(*op->module());
  builder.set_before(op);
  builder.set_loc(op->loc());
  Block* from = only_block(op, at::For::body);
  std::vector<Value*> inits = op->ins(in::For::inits), carried = inits;
  std::vector<unsigned> kept;
  for (unsigned i = 0; i < inits.size(); ++i) {
    if (from->arg(i)->unused()) continue;
    kept.push_back(i);
    std::vector<Dim> dims = inits[i]->type()->dims;
    dims.insert(dims.begin(), op->attr(attr::For::count));
    carried.push_back(full(builder, 0, dims, inits[i]->type()->dtype));
  }
  StackedLoop made{loop_like(op, builder, carried), std::vector<Value*>(inits.size(), nullptr)};
  Block* body = only_block(made.loop, at::For::body);
  {
    Inside inside(builder, body);
    Values values;
    for (unsigned i = 0; i < inits.size(); ++i) values[from->arg(i)] = body->arg(i);
    std::vector<Value*> stacks;
    for (size_t k = 0; k < kept.size(); ++k) {
      Value* stack = body->arg(unsigned(inits.size() + k));
      stacks.push_back(with_element(builder, stack, counter_of(made.loop), body->arg(kept[k])));
    }
    iteration(op, counter_of(made.loop), builder, values);
    std::vector<Value*> given;
    for (Value* value : yielded(from)) given.push_back(mapped(values, value));
    given.insert(given.end(), stacks.begin(), stacks.end());
    yield(builder, std::move(given));
  }
  for (unsigned i = 0; i < inits.size(); ++i) {
    made.loop->result(i)->set_name(op->result(i)->name());
    forward.replace(op->result(i), made.loop->result(i));
  }
  for (size_t k = 0; k < kept.size(); ++k) made.stacks[kept[k]] = made.loop->result(unsigned(inits.size() + k));
  return made;
}

/// Carries the tangents of floats, and reads the values that it needs from stacks.
void push_to_transpose(Op* op, Forward& forward) {
  Builder& builder = forward.builder();
  StackedLoop values_loop = with_stacks(op, forward);
  Block* from = only_block(op, at::For::body);
  std::vector<Value*> inits = op->ins(in::For::inits), carried;
  std::vector<unsigned> floats = add_tangents(inits, forward, carried);
  Op* loop = loop_like(op, builder, carried);
  {
    Block* body = only_block(loop, at::For::body);
    Inside inside(builder, body);
    Values values;
    for (unsigned i = 0; i < inits.size(); ++i) {
      if (values_loop.stacks[i]) values[from->arg(i)] = element(builder, values_loop.stacks[i], counter_of(loop));
    }
    for (size_t k = 0; k < floats.size(); ++k) {
      forward.set(mapped(values, from->arg(floats[k])), body->arg(unsigned(k)));
    }
    if (!forward.push(iteration(op, counter_of(loop), builder, values))) return;
    std::vector<Value*> results = yielded(from), given;
    for (unsigned i : floats) given.push_back(forward.tangent_or_zero(mapped(values, results[i])));
    yield(builder, std::move(given));
  }
  for (size_t k = 0; k < floats.size(); ++k) {
    forward.set(values_loop.loop->result(floats[k]), loop->result(unsigned(k)));
  }
}

}  // namespace

void jvp_for(Op* op, Forward& forward) {
  if (forward.purpose() == Forward::Purpose::Along) return push_along(op, forward);
  push_to_transpose(op, forward);
}

// The iterations from last to first. Cotangents of values around the loop are summed over them, in derivative_dtype.
void transpose_for(Op* op, Backward& backward) {
  Builder& builder = backward.builder();
  DimTable& table = builder.context().dims();
  Block* from = only_block(op, at::For::body);
  std::vector<Value*> inputs = captured(op, backward), inits = op->ins(in::For::inits), carried;
  for (unsigned i = 0; i < op->result_count(); ++i) {
    Value* g = backward.cotangent(op->result(i));
    carried.push_back(g ? g : zeros_like(builder, op->result(i)));
  }
  for (Value* input : inputs) {
    carried.push_back(full(builder, 0, input->type()->dims, derivative_dtype(input->type()->dtype)));
  }
  Op* loop = loop_like(op, builder, carried);
  {
    Block* body = only_block(loop, at::For::body);
    Inside inside(builder, body);
    Values values;
    std::vector<Value*> linear = inputs;
    for (unsigned i = 0; i < inits.size(); ++i) {
      values[from->arg(i)] = zeros_like(builder, from->arg(i));  // stands for any tangent
      linear.push_back(values[from->arg(i)]);
    }
    Dim last = table.sub(op->attr(attr::For::count), table.constant(1));
    std::vector<Op*> ops = iteration(op, table.sub(last, counter_of(loop)), builder, values);
    Backward inner(builder, backward.library());
    std::vector<Value*> results = yielded(from), given;
    for (unsigned i = 0; i < results.size(); ++i) inner.seed(mapped(values, results[i]), body->arg(i));
    auto sum = [&](size_t k) { return body->arg(unsigned(inits.size() + k)); };
    auto is_summed_inside = [&](size_t k) { return sum(k)->type()->dtype == inputs[k]->type()->dtype; };
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (is_summed_inside(k)) inner.seed(inputs[k], sum(k));
    }
    if (!inner.pull(ops, linear)) return backward.refuse(inner.refused().op, inner.refused().why);
    for (unsigned i = 0; i < inits.size(); ++i) {
      Value* g = inner.cotangent(values[from->arg(i)]);
      given.push_back(g ? g : zeros_like(builder, from->arg(i)));
    }
    for (size_t k = 0; k < inputs.size(); ++k) {
      Value* g = inner.cotangent(inputs[k]);
      if (g && !is_summed_inside(k)) g = add(builder, sum(k), wide(builder, g).value);
      given.push_back(g ? g : sum(k));
    }
    yield(builder, std::move(given));
  }
  for (unsigned i = 0; i < inits.size(); ++i) backward.add(inits[i], loop->result(i));
  for (size_t k = 0; k < inputs.size(); ++k) {
    Value* sum = loop->result(unsigned(inits.size() + k));
    backward.add(inputs[k], cast(builder, sum, inputs[k]->type()->dtype));
  }
}

void jvp_while(Op* op, Forward& forward) {
  if (forward.purpose() == Forward::Purpose::Transposed) {
    return forward.refuse(op,
                          "runs as often as values say, and is not differentiated backwards: 'for i in range(n)' "
                          "runs as often as sizes say");
  }
  Builder& builder = forward.builder();
  std::vector<Value*> inits = op->ins(in::While::inits), carried = inits;
  std::vector<unsigned> floats = add_tangents(inits, forward, carried);
  std::vector<Type> types;
  for (Value* value : carried) types.push_back(plain(builder, value->type()));
  Op* loop = builder.op(info(OpKind::While), {carried}, types, {});
  for (unsigned region : {at::While::condition, at::While::body}) {
    Block* from = only_block(op, region);
    Block* block = loop->region(region)->add_block();
    for (Type type : types) block->add_arg(type, {});
    Inside inside(builder, block);
    Values values;
    for (unsigned i = 0; i < inits.size(); ++i) values[from->arg(i)] = block->arg(i);
    for (size_t k = 0; k < floats.size(); ++k)
      forward.set(block->arg(floats[k]), block->arg(unsigned(inits.size() + k)));
    std::vector<Op*> ops = copied(from, builder, values);
    if (region == at::While::body && !forward.push(ops)) return;
    std::vector<Value*> given;
    for (Value* value : yielded(from)) given.push_back(mapped(values, value));
    if (region == at::While::body) {
      for (unsigned i : floats) given.push_back(forward.tangent_or_zero(given[i]));
    }
    yield(builder, std::move(given));
  }
  for (size_t k = 0; k < floats.size(); ++k) {
    forward.set(op->result(floats[k]), loop->result(unsigned(inits.size() + k)));
  }
}

}  // namespace tessera::graph
