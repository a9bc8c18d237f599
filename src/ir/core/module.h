#pragma once
// A module: one program at one level, the owner of all its IR.

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/context.h"
#include "ir/core/op.h"
#include "support/arena.h"
#include "support/source.h"

namespace tessera {

/// The parts of a new op.
struct OpState {
  const OpInfo* info = nullptr;
  Loc loc;
  /// One entry per operand slot of the table; slots of one value hold one, optional ones none or one.
  std::vector<std::vector<Value*>> operands;
  std::vector<Type> results;
  std::vector<OpAttr> attributes;
  unsigned regions = 0;  ///< set by Module::create from the table when 0
  struct Target {
    Block* block;
    std::vector<Value*> arguments;
  };
  std::vector<Target> successors;
};

class Module {
 public:
  Module(Context& context, SourceManager& sources, std::string name, Level level);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  Context& context() const { return *context_; }
  SourceManager& sources() const { return *sources_; }
  const std::string& name() const { return name_; }
  Level level() const { return level_; }
  /// Only a lowering that has rewritten the whole module says so.
  void set_level(Level level) { level_ = level; }

  /// Facts that a dump carries: target, entry, options. Sorted by name.
  const std::map<std::string, Attr, std::less<>>& attributes() const { return attributes_; }
  template <AttrType type, Arity arity>
  typename AttrKey<type, arity>::Read attr(AttrKey<type, arity> key) const {
    return key.read(find_attribute(key.name));
  }
  template <AttrType type, Arity arity>
  Attr node(AttrKey<type, arity> key) const {
    return find_attribute(key.name);
  }
  template <AttrType type, Arity arity, typename T>
  void set(AttrKey<type, arity> key, T&& value) {
    put_attribute(key.name, key.make(*context_, std::forward<T>(value)));
  }
  /// Sets an attribute that is there already, as that of another module; null removes.
  template <AttrType type, Arity arity>
  void set_node(AttrKey<type, arity> key, Attr value) {
    put_attribute(key.name, value);
  }

  /// The block of top-level ops (functions and kernels).
  Block* body() const { return body_; }
  /// The top-level op with that symbol, or null.
  Op* find(std::string_view symbol) const;
  /// `base`, or `base.N` with the smallest N that no symbol has.
  std::string unique_symbol(std::string_view base) const;

  /// Makes an op that is in no block yet. Slots must be complete; types are the verifier's matter.
  Op* create(const OpState& state);
  /// A deep copy; operands and blocks outside are mapped through `values` when they are there.
  Op* clone(Op* op, std::map<Value*, Value*>& values);
  std::string_view intern(std::string_view text) { return context_->intern(text); }

  uint32_t value_count() const { return next_value_; }
  uint32_t op_count() const { return next_op_; }
  uint32_t block_count() const { return next_block_; }
  Arena& arena() { return arena_; }

 private:
  friend class Op;
  friend class Block;
  friend class Region;
  friend struct AttributeText;
  Attr find_attribute(std::string_view name) const;
  void put_attribute(std::string_view name, Attr value);
  void init_value(Value* value, Type type, uint32_t index);
  void clone_into(Region* from, Region* to, std::map<Value*, Value*>& values);

  Context* context_;
  SourceManager* sources_;
  std::string name_;
  Level level_;
  Arena arena_;
  std::map<std::string, Attr, std::less<>> attributes_;
  Region* root_ = nullptr;
  Block* body_ = nullptr;
  uint32_t next_value_ = 0;
  uint32_t next_op_ = 0;
  uint32_t next_block_ = 0;
};

/// The symbol of a function-like op, without the @.
std::string_view symbol_name(Op* op);
void set_symbol_name(Op* op, std::string_view name);

}  // namespace tessera
