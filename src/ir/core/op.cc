#include "ir/core/op.h"

#include <algorithm>

#include "ir/core/common_attributes.h"
#include "ir/core/module.h"
#include "support/check.h"

namespace tessera {

unsigned Use::index() const { return unsigned(this - owner_->operands_); }

void Use::set(Value* value) {
  if (link_) {
    *link_ = next_;
    if (next_) next_->link_ = link_;
  }
  value_ = value;
  next_ = nullptr;
  link_ = nullptr;
  if (!value) return;
  next_ = value->uses_;
  if (next_) next_->link_ = &next_;
  link_ = &value->uses_;
  value->uses_ = this;
}

size_t Value::count_uses() const {
  size_t n = 0;
  for (Use* use = uses_; use; use = use->next()) ++n;
  return n;
}

void Value::replace_all_uses(Value* with) {
  TSR_CHECK(with != this, "a value was replaced by itself");
  while (uses_) uses_->set(with);
}

Block* Value::parent_block() const { return def_ ? def_->block() : block_; }

Op* Op::parent() const { return block_ && block_->region() ? block_->region()->parent() : nullptr; }

namespace {

/// By its row, as it calls what prints, or as it has barriers: where threads share a tile, those that exchange its
/// elements wait for each other.
bool has_effect(const Op* op) {
  bool waits = op->info().has(Exchanges) && !op->operand(0)->type()->layout.empty();
  return waits || op->info().effects != 0 || op->attr(common::Call::prints);
}

}  // namespace

bool Op::is_pure() const {
  if (!info_->has(Pure) || has_effect(this)) return false;
  bool pure = true;
  for (unsigned r = 0; r < region_count_; ++r) {
    walk(region(r), [&](Op* inner) { pure = pure && !has_effect(inner); });
  }
  return pure;
}

Value* Op::in(unsigned slot) const {
  if (slot_size(slot) == 0) return nullptr;
  return operand(slot_begin(slot));
}

std::vector<Value*> Op::ins(unsigned slot) const {
  std::vector<Value*> values;
  for (unsigned i = 0; i < slot_size(slot); ++i) values.push_back(in(slot, i));
  return values;
}

std::vector<Value*> Op::ins(ValueClass cls) const {
  std::vector<Value*> values;
  for (unsigned slot = 0; slot < slot_count(); ++slot) {
    if (info_->slot(SlotKind::Operand, slot).value != cls) continue;
    for (unsigned i = 0; i < slot_size(slot); ++i) values.push_back(in(slot, i));
  }
  return values;
}

std::vector<Value*> Op::successor_args(unsigned n) const {
  std::vector<Value*> values;
  const Successor& successor = successors_[n];
  for (unsigned i = 0; i < successor.count; ++i) values.push_back(operand(successor.first + i));
  return values;
}

void Op::set_slot(unsigned slot, std::span<Value* const> values) {
  std::vector<Value*> all;
  for (unsigned i = 0; i < slot_begin(slot); ++i) all.push_back(operand(i));
  all.insert(all.end(), values.begin(), values.end());
  for (unsigned i = slot_begins_[slot + 1]; i < operand_count_; ++i) all.push_back(operand(i));
  int change = int(values.size()) - int(slot_size(slot));
  drop_uses();
  if (change > 0) operands_ = module_->arena().make_array<Use>(all.size()).data();
  for (unsigned s = slot + 1; s <= slot_count_; ++s) slot_begins_[s] = uint32_t(int(slot_begins_[s]) + change);
  for (Successor& successor : successors()) successor.first = unsigned(int(successor.first) + change);
  operand_count_ = uint32_t(all.size());
  for (unsigned i = 0; i < all.size(); ++i) {
    operands_[i].owner_ = this;
    operands_[i].set(all[i]);
  }
}

Attr Op::find(std::string_view name) const {
  for (const OpAttr& a : attributes()) {
    if (a.name == name) return a.value;
  }
  return nullptr;
}

void Op::put(std::string_view name, Attr value) {
  std::vector<OpAttr> all(attributes().begin(), attributes().end());
  std::erase_if(all, [&](const OpAttr& a) { return a.name == name; });
  if (value) all.push_back(OpAttr(module_->intern(name), value));
  std::sort(all.begin(), all.end(), [](const OpAttr& a, const OpAttr& b) { return a.name < b.name; });
  if (all.size() > attribute_count_) attributes_ = module_->arena().make_array<OpAttr>(all.size()).data();
  std::copy(all.begin(), all.end(), attributes_);
  attribute_count_ = uint32_t(all.size());
}

Context& Op::context() const { return module_->context(); }

Attr Op::required_node(std::string_view name) const {
  Attr value = find(name);
  TSR_CHECK(value, std::string(this->name()) + " has no attribute " + std::string(name));
  return value;
}

Region* Op::region(unsigned i) const { return &regions_[i]; }

void Op::unlink() {
  if (!block_) return;
  (prev_ ? prev_->next_ : block_->first_) = next_;
  (next_ ? next_->prev_ : block_->last_) = prev_;
  prev_ = next_ = nullptr;
  block_ = nullptr;
}

void Op::move_before(Op* other) {
  if (other == this) return;  // it stands there
  unlink();
  other->block_->insert(this, other);
}

void Op::move_to_end(Block* block) {
  unlink();
  block->insert(this, nullptr);
}

bool Op::is_before(const Op* other) const {
  for (const Op* op = next_; op; op = op->next_) {
    if (op == other) return true;
  }
  return false;
}

void Op::drop_uses() {
  for (unsigned i = 0; i < operand_count_; ++i) operands_[i].set(nullptr);
}

void Op::erase() {
  walk(this, [](Op* inner) { inner->drop_uses(); });
  drop_uses();
  for (unsigned i = 0; i < result_count_; ++i) {
    TSR_CHECK(results_[i].unused(), "an op was erased whose result is used: " + std::string(name()));
  }
  unlink();
}

Op* Block::parent_op() const { return region_ ? region_->parent() : nullptr; }

Op* Block::terminator() const { return last_ && last_->is_terminator() ? last_ : nullptr; }

void Block::insert(Op* op, Op* before) {
  TSR_CHECK(!op->block_, "an op is in a block already");
  op->block_ = this;
  op->next_ = before;
  op->prev_ = before ? before->prev_ : last_;
  (op->prev_ ? op->prev_->next_ : first_) = op;
  (before ? before->prev_ : last_) = op;
}

Value* Block::add_arg(Type type, std::string_view name) {
  if (arg_count_ == arg_capacity_) {
    arg_capacity_ = std::max(4u, arg_capacity_ * 2);
    Value** grown = module_->arena().make_array<Value*>(arg_capacity_).data();
    std::copy(args_, args_ + arg_count_, grown);
    args_ = grown;
  }
  Value* value = module_->arena().make<Value>();
  module_->init_value(value, type, arg_count_);
  value->block_ = this;
  value->name_ = module_->intern(name);
  args_[arg_count_++] = value;
  return value;
}

void Block::erase_arg(unsigned i) {
  TSR_CHECK(args_[i]->unused(), "a block argument was erased that is used");
  std::copy(args_ + i + 1, args_ + arg_count_, args_ + i);
  --arg_count_;
  for (unsigned j = i; j < arg_count_; ++j) args_[j]->index_ = j;
}

void Region::link_last(Block* block) {
  block->region_ = this;
  block->prev_ = last_;
  block->next_ = nullptr;
  (last_ ? last_->next_ : first_) = block;
  last_ = block;
}

void Region::unlink(Block* block) {
  (block->prev_ ? block->prev_->next_ : first_) = block->next_;
  (block->next_ ? block->next_->prev_ : last_) = block->prev_;
  block->region_ = nullptr;
}

Block* Region::add_block() {
  Block* block = module_->arena().make<Block>();
  block->module_ = module_;
  block->id_ = module_->next_block_++;
  link_last(block);
  return block;
}

void Region::erase_block(Block* block) {
  while (block->back()) block->back()->erase();
  unlink(block);
}

void Region::move_to_end(Block* block) {
  unlink(block);
  link_last(block);
}

size_t Region::block_count() const {
  size_t n = 0;
  for (Block* block = first_; block; block = block->next()) ++n;
  return n;
}

}  // namespace tessera
