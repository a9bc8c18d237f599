#include "ir/core/module.h"

#include <algorithm>

#include "ir/core/common_attributes.h"
#include "support/check.h"

namespace tessera {

Module::Module(Context& context, SourceManager& sources, std::string name, Level level)
    : context_(&context), sources_(&sources), name_(std::move(name)), level_(level) {
  root_ = arena_.make<Region>();
  root_->module_ = this;
  body_ = root_->add_block();
}

Attr Module::find_attribute(std::string_view name) const {
  auto it = attributes_.find(name);
  return it == attributes_.end() ? nullptr : it->second;
}

void Module::put_attribute(std::string_view name, Attr value) {
  if (value) {
    attributes_[std::string(name)] = value;
  } else {
    attributes_.erase(std::string(name));
  }
}

Op* Module::find(std::string_view symbol) const {
  for (Op* op : *body_) {
    if (symbol_name(op) == symbol) return op;
  }
  return nullptr;
}

std::string Module::unique_symbol(std::string_view base) const {
  std::string name(base);
  for (int n = 1; find(name); ++n) name = std::string(base) + "." + std::to_string(n);
  return name;
}

void Module::init_value(Value* value, Type type, uint32_t index) {
  value->type_ = type;
  value->index_ = index;
  value->id_ = next_value_++;
}

Op* Module::create(const OpState& state) {
  const OpInfo& info = *state.info;
  Op* op = arena_.make<Op>();
  op->info_ = state.info;
  op->module_ = this;
  op->loc_ = state.loc;
  op->id_ = next_op_++;

  unsigned slots = unsigned(info.count(SlotKind::Operand));
  TSR_CHECK(state.operands.size() == slots, info.name + " was built with the wrong number of slots");
  unsigned operands = 0;
  for (const auto& slot : state.operands) operands += unsigned(slot.size());
  unsigned total = operands;
  for (const auto& target : state.successors) total += unsigned(target.arguments.size());
  op->slot_count_ = slots;
  op->slot_begins_ = arena_.make_array<uint32_t>(slots + 1).data();
  op->operands_ = arena_.make_array<Use>(total).data();
  op->operand_count_ = total;
  unsigned next = 0;
  auto append = [&](Value* value) {
    op->operands_[next].owner_ = op;
    op->operands_[next++].set(value);
  };
  for (unsigned s = 0; s < slots; ++s) {
    op->slot_begins_[s] = next;
    for (Value* value : state.operands[s]) append(value);
  }
  op->slot_begins_[slots] = next;

  op->successor_count_ = uint32_t(state.successors.size());
  op->successors_ = arena_.make_array<Successor>(state.successors.size()).data();
  for (size_t i = 0; i < state.successors.size(); ++i) {
    const OpState::Target& target = state.successors[i];
    op->successors_[i] = {target.block, next, unsigned(target.arguments.size())};
    for (Value* value : target.arguments) append(value);
  }

  op->result_count_ = uint32_t(state.results.size());
  op->results_ = arena_.make_array<Value>(state.results.size()).data();
  for (uint32_t i = 0; i < op->result_count_; ++i) {
    init_value(&op->results_[i], state.results[i], i);
    op->results_[i].def_ = op;
  }

  op->region_count_ = state.regions ? state.regions : uint32_t(info.count(SlotKind::Region));
  op->regions_ = arena_.make_array<Region>(op->region_count_).data();
  for (unsigned i = 0; i < op->region_count_; ++i) {
    op->regions_[i].parent_ = op;
    op->regions_[i].module_ = this;
  }
  for (const OpAttr& attribute : state.attributes) {
    if (attribute.value) op->set(attribute);
  }
  return op;
}

void Module::clone_into(Region* from, Region* to, std::map<Value*, Value*>& values) {
  std::map<Block*, Block*> blocks;
  for (Block* block = from->front(); block; block = block->next()) {
    Block* copy = to->add_block();
    blocks[block] = copy;
    for (unsigned i = 0; i < block->arg_count(); ++i) {
      values[block->arg(i)] = copy->add_arg(block->arg(i)->type(), block->arg(i)->name());
    }
  }
  for (Block* block = from->front(); block; block = block->next()) {
    for (Op* op : *block) {
      Op* copy = clone(op, values);
      for (Successor& successor : copy->successors()) successor.block = blocks.at(successor.block);
      blocks[block]->insert(copy, nullptr);
    }
  }
}

Op* Module::clone(Op* op, std::map<Value*, Value*>& values) {
  auto mapped = [&](Value* value) {
    auto it = values.find(value);
    return it == values.end() ? value : it->second;
  };
  OpState state;
  state.info = &op->info();
  state.loc = op->loc();
  for (unsigned s = 0; s < op->slot_count(); ++s) {
    state.operands.emplace_back();
    for (Value* value : op->ins(s)) state.operands.back().push_back(mapped(value));
  }
  for (unsigned i = 0; i < op->result_count(); ++i) state.results.push_back(op->result(i)->type());
  state.attributes.assign(op->attributes().begin(), op->attributes().end());
  state.regions = op->region_count();
  for (unsigned i = 0; i < op->successors().size(); ++i) {
    OpState::Target target{op->successors()[i].block, {}};
    for (Value* value : op->successor_args(i)) target.arguments.push_back(mapped(value));
    state.successors.push_back(std::move(target));
  }
  Op* copy = create(state);
  for (unsigned i = 0; i < op->result_count(); ++i) {
    values[op->result(i)] = copy->result(i);
    copy->result(i)->set_name(op->result(i)->name());
  }
  for (unsigned i = 0; i < op->region_count(); ++i) clone_into(op->region(i), copy->region(i), values);
  return copy;
}

std::string_view symbol_name(Op* op) {
  Attr name = op->node(common::Function::symbol);
  return name ? std::string_view(name->string) : std::string_view();
}

void set_symbol_name(Op* op, std::string_view name) {
  op->set(common::Function::symbol, name);
}

}  // namespace tessera
