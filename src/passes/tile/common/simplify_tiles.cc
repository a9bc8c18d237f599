// Cleans up after the passes of this level, so that dumps are short and equal values are one value.
//
// Arithmetic on indices is folded (constants, and sums and products of dims into one dim
// expression), equal pure ops become one where one dominates the other, pure ops leave the loops
// that they do not depend on, and unused ops are dropped. Nothing here changes a result: a
// value of tiles is only moved or merged.

#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/tile/build.h"
#include "passes/pass.h"

namespace tessera {

namespace {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

class KernelSimplification {
 public:
  explicit KernelSimplification(Op* kernel)
      : kernel_(kernel), builder_(*kernel->module()), dims_(kernel->module()->context().dims()) {}

  void run() {
    Block* body = kernel_->region()->front();
    merge(body);
    hoist(body);
    known_.clear();
    merge(body);
    while (drop(body)) {
    }
  }

 private:
  // Folding.

  /// The dim expression that an index is known to be.
  Dim known_dim(Value* value) {
    Op* def = value->def();
    if (!def || value->type()->kind != TypeKind::Scalar) return nullptr;
    if (def->is(tile::info(OpKind::Dim))) return def->attr(attr::Dim::value);
    std::optional<int64_t> constant = tile::known_index(value);
    return constant ? dims_.constant(*constant) : nullptr;
  }

  Dim folded_dim(ElementwiseKind kind, Dim a, Dim b) {
    std::optional<int64_t> divisor = b->constant();
    bool divides = divisor && *divisor > 0;
    switch (kind) {
      case ElementwiseKind::Add:
        return dims_.add(a, b);
      case ElementwiseKind::Sub:
        return dims_.sub(a, b);
      case ElementwiseKind::Mul:
        return dims_.mul(a, b);
      case ElementwiseKind::Min:
        return dims_.min(a, b);
      case ElementwiseKind::Max:
        return dims_.max(a, b);
      case ElementwiseKind::FloorDiv:
        return divides ? dims_.floordiv(a, b) : nullptr;
      case ElementwiseKind::Mod:
        return divides ? dims_.mod(a, b) : nullptr;
      default:
        return nullptr;
    }
  }

  /// A simpler value that equals the op's result; null if there is none.
  Value* folded(Op* op) {
    if (op->is(tile::info(OpKind::ProgramId))) {
      Dim extent = kernel_->attr(attr::Kernel::grid)[size_t(op->attr(attr::ProgramId::axis))];
      return extent->is_constant(1) ? tile::index(builder_, 0) : nullptr;
    }
    bool index = op->result_count() == 1 && op->result()->type()->is(TypeKind::Scalar) &&
                 op->result()->type()->dtype == DType::I64;
    if (!index || op->operand_count() != 2 || op->info().elementwise == ElementwiseKind::None)
      return nullptr;
    Value* a = op->operand(0);
    Value* b = op->operand(1);
    if (a->type() != op->result()->type()) return nullptr;
    Dim x = known_dim(a), y = known_dim(b);
    if (x && y) {
      Dim dim = folded_dim(op->info().elementwise, x, y);
      return dim && !dim->overflow ? tile::dim(builder_, dim) : nullptr;
    }
    switch (op->info().elementwise) {
      case ElementwiseKind::Add:
        return is(x, 0) ? b : is(y, 0) ? a : nullptr;
      case ElementwiseKind::Sub:
        return is(y, 0) ? a : a == b ? tile::index(builder_, 0) : nullptr;
      case ElementwiseKind::Mul:
        if (is(x, 0) || is(y, 0)) return tile::index(builder_, 0);
        return is(x, 1) ? b : is(y, 1) ? a : nullptr;
      case ElementwiseKind::Min:
      case ElementwiseKind::Max:
        return a == b ? a : nullptr;
      default:
        return nullptr;
    }
  }
  static bool is(Dim dim, int64_t value) { return dim && dim->is_constant(value); }

  // Merging.

  using Attributes = std::vector<std::pair<std::string_view, Attr>>;
  using Key = std::tuple<const OpInfo*, std::vector<uint32_t>, Attributes, Type>;

  static Key key_of(Op* op) {
    std::vector<uint32_t> operands;
    for (unsigned s = 0; s < op->slot_count(); ++s) {
      operands.push_back(op->slot_size(s));
      for (Value* value : op->ins(s)) operands.push_back(value->id());
    }
    bool swaps =
        op->info().has(Commutative) && op->operand_count() == 2 && operands[1] > operands[3];
    if (swaps) std::swap(operands[1], operands[3]);
    Attributes attributes;
    for (const OpAttr& a : op->attributes()) attributes.emplace_back(a.name, a.value);
    return {&op->info(), std::move(operands), std::move(attributes), op->result()->type()};
  }

  /// Folds the ops of a block and merges those that are equal to an earlier one here or around.
  void merge(Block* block) {
    std::vector<Key> added;
    for (Op* op : *block) {
      for (unsigned r = 0; r < op->region_count(); ++r) merge(op->region(r)->front());
      if (!op->is_pure() || op->result_count() != 1 || op->region_count()) continue;
      builder_.set_before(op);
      builder_.set_loc(op->loc());
      Value* result = op->result();
      if (Value* simpler = folded(op)) {
        result->replace_all_uses(simpler);
        op->erase();
        // A constant or dim that was made for it takes part in merging itself.
        op = simpler->def();
        bool fresh = op && op->block() == block && !op->operand_count();
        if (!fresh) continue;
        result = simpler;
      }
      Key key = key_of(op);
      auto [it, inserted] = known_.try_emplace(key, result);
      if (inserted) {
        added.push_back(std::move(key));
      } else if (it->second != result) {
        result->replace_all_uses(it->second);
        op->erase();
      }
    }
    for (const Key& key : added) known_.erase(key);
  }

  // Hoisting.

  static bool is_inside(Value* value, Op* loop) {
    Block* block = value->parent_block();
    while (block) {
      Op* parent = block->parent_op();
      if (parent == loop) return true;
      block = parent ? parent->block() : nullptr;
    }
    return false;
  }

  void hoist(Block* block) {
    for (Op* op : *block) {
      for (unsigned r = 0; r < op->region_count(); ++r) hoist(op->region(r)->front());
      if (!op->is(tile::info(OpKind::For))) continue;
      for (Op* inner : *op->region()->front()) {
        if (!inner->is_pure() || inner->is_terminator() || inner->region_count()) continue;
        bool depends = false;
        for (unsigned i = 0; i < inner->operand_count(); ++i)
          depends |= is_inside(inner->operand(i), op);
        if (!depends) inner->move_before(op);
      }
    }
  }

  // Dropping.

  static bool writes(Op* op) {
    if (op->info().effects & ~uint32_t(Reads)) return true;
    bool found = false;
    walk(op, [&](Op* inner) { found |= (inner->info().effects & ~uint32_t(Reads)) != 0; });
    return found;
  }

  bool drop(Block* block) {
    bool changed = false;
    for (Op* op = block->back(); op;) {
      Op* before = op->prev();
      for (unsigned r = 0; r < op->region_count(); ++r) changed |= drop(op->region(r)->front());
      bool used = op->is_terminator() || writes(op);
      for (unsigned i = 0; i < op->result_count(); ++i) used |= !op->result(i)->unused();
      if (!used) {
        op->erase();
        changed = true;
      }
      op = before;
    }
    return changed;
  }

  Op* kernel_;
  Builder builder_;
  DimTable& dims_;
  std::map<Key, Value*> known_;
};

}  // namespace

Status simplify_tiles(Module& module, PassContext&) {
  for (Op* kernel : *module.body()) {
    if (kernel->is(tile::info(OpKind::Kernel))) KernelSimplification(kernel).run();
  }
  return success;
}

}  // namespace tessera
