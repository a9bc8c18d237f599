#pragma once
// The IR: values, operations, blocks, regions. All live in the arena of a Module and are referred to by
// pointer; erased ones are unlinked and their memory goes with the module. IR pointers are not const:
// a graph of mutable nodes has no use for it.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ir/core/op_info.h"
#include "support/source.h"

namespace tessera {

class Op;
class Block;
class Region;
class Module;
class Value;

/// One operand of one op, linked into the value's use list.
class Use {
 public:
  Op* owner() const { return owner_; }
  Value* value() const { return value_; }
  Use* next() const { return next_; }
  /// Position among the owner's operands.
  unsigned index() const;
  void set(Value* value);

 private:
  friend class Op;
  friend class Module;
  Op* owner_ = nullptr;
  Value* value_ = nullptr;
  Use* next_ = nullptr;
  Use** link_ = nullptr;
};

/// A result of an op or an argument of a block.
class Value {
 public:
  Type type() const { return type_; }
  void set_type(Type type) { type_ = type; }
  /// The op that defines it; null for a block argument.
  Op* def() const { return def_; }
  /// The block whose argument it is; null for a result.
  Block* block() const { return block_; }
  /// Position among the results or arguments.
  unsigned index() const { return index_; }
  /// Dense number within the module, for side tables.
  uint32_t id() const { return id_; }
  /// A name for the reader; may be empty.
  std::string_view name() const { return name_; }
  void set_name(std::string_view interned) { name_ = interned; }

  Use* first_use() const { return uses_; }
  bool unused() const { return uses_ == nullptr; }
  bool has_one_use() const { return uses_ != nullptr && uses_->next() == nullptr; }
  size_t count_uses() const;
  void replace_all_uses(Value* with);
  /// The block in which it becomes available.
  Block* parent_block() const;

 private:
  friend class Use;
  friend class Block;
  friend class Module;
  Type type_ = nullptr;
  Op* def_ = nullptr;
  Block* block_ = nullptr;
  Use* uses_ = nullptr;
  std::string_view name_;
  uint32_t index_ = 0;
  uint32_t id_ = 0;
};

/// A successor block with the range of operands passed to its arguments.
struct Successor {
  Block* block;
  unsigned first;
  unsigned count;
};

class Op {
 public:
  const OpInfo& info() const { return *info_; }
  std::string_view name() const { return info_->name; }
  bool is(const OpInfo* info) const { return info_ == info; }
  Module* module() const { return module_; }
  Block* block() const { return block_; }
  Op* next() const { return next_; }
  Op* prev() const { return prev_; }
  /// The op whose region holds this op; null at top level.
  Op* parent() const;
  Loc loc() const { return loc_; }
  void set_loc(Loc loc) { loc_ = loc; }
  uint32_t id() const { return id_; }

  // Operands. A slot is a row of the op's table; slots of several values make positions differ.
  unsigned operand_count() const { return operand_count_; }
  Value* operand(unsigned position) const { return operands_[position].value(); }
  Use* use(unsigned position) const { return &operands_[position]; }
  void set_operand(unsigned position, Value* value) { operands_[position].set(value); }
  /// Replaces the values of one operand slot; the number may change for a slot of many.
  void set_slot(unsigned slot, std::span<Value* const> values);
  /// Number of values in operand slot `slot`, and the position of its first.
  unsigned slot_size(unsigned slot) const { return slot_begins_[slot + 1] - slot_begins_[slot]; }
  unsigned slot_begin(unsigned slot) const { return slot_begins_[slot]; }
  unsigned slot_count() const { return slot_count_; }
  /// The one value of an operand slot; null for an empty optional slot.
  Value* in(unsigned slot) const;
  /// Value `i` of a slot of many.
  Value* in(unsigned slot, unsigned i) const { return operand(slot_begin(slot) + i); }
  std::vector<Value*> ins(unsigned slot) const;
  /// The operands in slots of a class.
  std::vector<Value*> ins(ValueClass cls) const;
  /// Arguments passed to the nth successor.
  std::vector<Value*> successor_args(unsigned n) const;

  // Results.
  unsigned result_count() const { return result_count_; }
  Value* result(unsigned i = 0) const { return &results_[i]; }

  // Attributes, sorted by name.
  std::span<const OpAttr> attributes() const { return {attributes_, attribute_count_}; }
  /// The value of an attribute by its key: attr(attr::Wgmma::m). One that the row demands is there once the verifier
  /// has seen the op.
  template <AttrType type, Arity arity>
  typename AttrKey<type, arity>::Read attr(AttrKey<type, arity> key) const {
    return key.read(arity == Arity::One ? required_node(key.name) : find(key.name));
  }
  /// The value of an optional attribute that is known to be there.
  template <AttrType type>
  AttrValue<type> required(AttrKey<type, Arity::Optional> key) const {
    return AttrAccess<type>::read(required_node(key.name));
  }
  /// The attribute itself; null if there is none.
  template <AttrType type, Arity arity>
  Attr node(AttrKey<type, arity> key) const {
    return find(key.name);
  }
  template <AttrType type, Arity arity>
  bool has(AttrKey<type, arity> key) const {
    return find(key.name) != nullptr;
  }
  /// Sets or replaces.
  template <AttrType type, Arity arity, typename T>
  void set(AttrKey<type, arity> key, T&& value) {
    put(key.name, key.make(context(), std::forward<T>(value)));
  }
  /// Sets or replaces by an attribute that is there already, as that of another op; null removes.
  template <AttrType type, Arity arity>
  void set_node(AttrKey<type, arity> key, Attr value) {
    put(key.name, value);
  }
  void set(const OpAttr& attribute) { put(attribute.name, attribute.value); }
  template <AttrType type>
  void remove(AttrKey<type, Arity::Optional> key) {
    put(key.name, nullptr);
  }

  unsigned region_count() const { return region_count_; }
  Region* region(unsigned i = 0) const;
  std::span<Successor> successors() const { return {successors_, successor_count_}; }

  bool is_terminator() const { return info_->has(Terminator); }
  /// No effect, neither its own nor of an op in its regions.
  bool is_pure() const;

  // Position.
  void move_before(Op* other);
  void move_to_end(Block* block);
  bool is_before(const Op* other) const;  ///< both in one block
  /// Unlinks and drops the op and all inside it; its results must be unused.
  void erase();
  /// Only unlinks it from its block.
  void unlink();
  void drop_uses();

 private:
  friend class Block;
  friend class Module;
  friend class Use;
  friend struct AttributeText;
  Context& context() const;
  Attr find(std::string_view name) const;
  Attr required_node(std::string_view name) const;
  void put(std::string_view name, Attr value);
  const OpInfo* info_ = nullptr;
  Module* module_ = nullptr;
  Block* block_ = nullptr;
  Op* prev_ = nullptr;
  Op* next_ = nullptr;
  Loc loc_;
  uint32_t id_ = 0;
  uint32_t operand_count_ = 0;
  uint32_t result_count_ = 0;
  uint32_t attribute_count_ = 0;
  uint32_t region_count_ = 0;
  uint32_t successor_count_ = 0;
  uint32_t slot_count_ = 0;
  Use* operands_ = nullptr;
  uint32_t* slot_begins_ = nullptr;  ///< slot_count_ + 1 positions; successor arguments follow
  Value* results_ = nullptr;
  OpAttr* attributes_ = nullptr;
  Region* regions_ = nullptr;
  Successor* successors_ = nullptr;
};

class Block {
 public:
  Region* region() const { return region_; }
  Block* next() const { return next_; }
  Block* prev() const { return prev_; }
  Op* parent_op() const;
  uint32_t id() const { return id_; }

  unsigned arg_count() const { return arg_count_; }
  Value* arg(unsigned i) const { return args_[i]; }
  Value* add_arg(Type type, std::string_view name = {});
  void erase_arg(unsigned i);

  Op* front() const { return first_; }
  Op* back() const { return last_; }
  bool empty() const { return first_ == nullptr; }
  /// The last op if it is a terminator, else null.
  Op* terminator() const;

  /// Iterates over the ops; the op at hand may be erased or moved away meanwhile.
  class Iterator {
   public:
    explicit Iterator(Op* op) : op_(op), next_(op ? op->next() : nullptr) {}
    Op* operator*() const { return op_; }
    Iterator& operator++() {
      op_ = next_;
      next_ = op_ ? op_->next() : nullptr;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return op_ != other.op_; }

   private:
    Op* op_;
    Op* next_;
  };
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(nullptr); }

 private:
  friend class Op;
  friend class Region;
  friend class Module;
  void insert(Op* op, Op* before);
  Region* region_ = nullptr;
  Module* module_ = nullptr;
  Block* prev_ = nullptr;
  Block* next_ = nullptr;
  Op* first_ = nullptr;
  Op* last_ = nullptr;
  Value** args_ = nullptr;
  uint32_t arg_count_ = 0;
  uint32_t arg_capacity_ = 0;
  uint32_t id_ = 0;
};

class Region {
 public:
  Op* parent() const { return parent_; }
  Block* front() const { return first_; }
  Block* back() const { return last_; }
  bool empty() const { return first_ == nullptr; }
  /// Appends a new block.
  Block* add_block();
  void erase_block(Block* block);
  /// Makes it the last block; only the first block's place has a meaning.
  void move_to_end(Block* block);
  size_t block_count() const;

 private:
  friend class Module;
  friend class Op;
  Op* parent_ = nullptr;
  Module* module_ = nullptr;
  void link_last(Block* block);
  void unlink(Block* block);
  Block* first_ = nullptr;
  Block* last_ = nullptr;
};

/// Calls `visit` for every op below `root` (root excluded), parents before children, in order.
template <typename F>
void walk(Region* region, F&& visit) {
  for (Block* block = region->front(); block; block = block->next()) {
    for (Op* op : *block) {
      visit(op);
      for (unsigned r = 0; r < op->region_count(); ++r) walk(op->region(r), visit);
    }
  }
}
template <typename F>
void walk(Op* root, F&& visit) {
  for (unsigned r = 0; r < root->region_count(); ++r) walk(root->region(r), visit);
}

}  // namespace tessera
