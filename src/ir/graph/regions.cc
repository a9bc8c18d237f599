#include "ir/graph/regions.h"

#include <fmt/format.h>

#include <set>
#include <string>

#include "ir/graph/build.h"
#include "ir/text/substitute.h"

namespace tessera::graph {

Value* mapped(const Values& values, Value* value) {
  auto found = values.find(value);
  return found == values.end() ? value : found->second;
}

Type plain(Builder& builder, Type type) { return builder.context().tensor(type->dims, type->dtype); }

void yield(Builder& builder, std::vector<Value*> values) {
  builder.op(info(OpKind::Yield), {std::move(values)}, {});
}

std::vector<Value*> yielded(Block* block) { return block->terminator()->ins(in::Yield::values); }

namespace {

std::string unused_counter(std::string_view like, Block* block) {
  Op* function = block->parent_op();
  while (function->parent()) function = function->parent();
  std::set<std::string, std::less<>> used;
  walk(function, [&](Op* op) {
    if (op->is(info(OpKind::For))) used.emplace(op->attr(attr::For::counter));
  });
  std::string base(like.substr(0, like.rfind("_r")));
  for (unsigned i = 1;; ++i) {
    std::string name = fmt::format("{}_r{}", base, i);
    if (!used.count(name)) return name;
  }
}

}  // namespace

std::vector<Value*> captured_values(Op* op) {
  std::vector<Value*> captured;
  std::set<Block*> inside;
  std::set<Value*> seen;
  for (unsigned r = 0; r < op->region_count(); ++r) inside.insert(op->region(r)->front());
  walk(op, [&](Op* inner) {
    for (unsigned r = 0; r < inner->region_count(); ++r) inside.insert(inner->region(r)->front());
    for (unsigned i = 0; i < inner->operand_count(); ++i) {
      Value* value = inner->operand(i);
      if (!inside.count(value->parent_block()) && seen.insert(value).second) captured.push_back(value);
    }
  });
  return captured;
}

Op* copied(Op* op, Builder& builder, Values& values) {
  Op* copy = op->module()->clone(op, values);
  builder.insert(copy);
  auto rename = [](Op* loop) {
    if (!loop->is(info(OpKind::For))) return;
    std::string before(loop->attr(attr::For::counter)), after = unused_counter(before, loop->block());
    loop->set(attr::For::counter, after);
    substitute_dims(loop, {{before, loop->module()->context().dims().symbol(after)}});
  };
  rename(copy);
  walk(copy, rename);
  return copy;
}

std::vector<Op*> copied(Block* block, Builder& builder, Values& values) {
  std::vector<Op*> copies;
  for (Op* op : *block) {
    if (!op->is_terminator()) copies.push_back(copied(op, builder, values));
  }
  return copies;
}

Op* make_loop(Builder& builder, Dim count, std::string_view counter, const std::vector<Value*>& inits) {
  std::vector<Type> types;
  for (Value* init : inits) types.push_back(plain(builder, init->type()));
  Op* made = builder.op(info(OpKind::For), {inits}, types,
                        {attr::For::count(builder.context(), count),
                         attr::For::counter(builder.context(), unused_counter(counter, builder.block()))});
  Block* block = made->region(at::For::body)->add_block();
  for (Type type : types) block->add_arg(type, {});
  return made;
}

Op* loop_like(Op* loop, Builder& builder, const std::vector<Value*>& inits) {
  return make_loop(builder, loop->attr(attr::For::count), loop->attr(attr::For::counter), inits);
}

Dim counter_of(Op* loop) { return loop->module()->context().dims().symbol(loop->attr(attr::For::counter)); }

Value* element(Builder& builder, Value* stack, Dim at) {
  DimTable& table = builder.context().dims();
  std::vector<Dim> dims = stack->type()->dims, starts(dims.size(), table.constant(0));
  starts[0] = at;
  std::vector<Dim> single = dims;
  single[0] = table.constant(1);
  Value* part = slice(builder, stack, starts, std::vector<int64_t>(dims.size(), 1), single);
  return reshape(builder, part, {dims.begin() + 1, dims.end()});
}

Value* with_element(Builder& builder, Value* stack, Dim at, Value* value) {
  std::vector<Dim> single = value->type()->dims;
  single.insert(single.begin(), builder.context().dims().constant(1));
  return update_slice(builder, stack, reshape(builder, value, single), dim(builder, at), 0, false);
}

}  // namespace tessera::graph
