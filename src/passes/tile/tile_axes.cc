#include "passes/tile/tile_axes.h"

#include <map>

#include "ir/tile/build.h"

namespace tessera {

using tile::kind_of;
using tile::OpKind;
namespace in = tile::in;

TileAxes::TileAxes(Op* kernel) : first_(kernel->module()->value_count(), -1) {
  std::vector<Value*> tiles;
  walk(kernel, [&](Op* op) {
    for (unsigned i = 0; i < op->result_count(); ++i) tiles.push_back(op->result(i));
    for (unsigned r = 0; r < op->region_count(); ++r) {
      Block* block = op->region(r)->front();
      for (unsigned i = 0; i < block->arg_count(); ++i) tiles.push_back(block->arg(i));
    }
  });
  std::erase_if(tiles, [](Value* value) { return !value->type()->is(TypeKind::Tile); });
  for (Value* value : tiles) number(value);
  walk(kernel, [&](Op* op) { relate(op); });
  axis_.assign(parent_.size(), -1);
  for (Value* value : tiles) close(value);
}

void TileAxes::number(Value* value) {
  first_[value->id()] = int(parent_.size());
  for (size_t i = 0; i < value->type()->rank(); ++i) parent_.push_back(int(parent_.size()));
}

int TileAxes::find(int node) const {
  while (parent_[size_t(node)] != node) {
    node = parent_[size_t(node)] = parent_[size_t(parent_[size_t(node)])];
  }
  return node;
}

void TileAxes::join(Value* a, size_t i, Value* b, size_t j) {
  if (a->type()->dims[i]->is_constant(1) || b->type()->dims[j]->is_constant(1)) return;
  int x = find(first_[a->id()] + int(i)), y = find(first_[b->id()] + int(j));
  // The older node leads, so that program axes are numbered in the order of the text.
  parent_[size_t(std::max(x, y))] = std::min(x, y);
}

void TileAxes::join_all(Value* a, Value* b) {
  if (!a->type()->is(TypeKind::Tile)) return;
  for (size_t i = 0; i < a->type()->rank(); ++i) join(a, i, b, i);
}

void TileAxes::join_reshaped(Value* a, Value* b) {
  size_t j = 0;
  for (size_t i = 0; i < a->type()->rank(); ++i) {
    if (a->type()->dims[i]->is_constant(1)) continue;
    while (b->type()->dims[j]->is_constant(1)) ++j;
    join(a, i, b, j++);
  }
}

void TileAxes::relate(Op* op) {
  if (op->info().elementwise != ElementwiseKind::None) {
    for (unsigned i = 0; i < op->operand_count(); ++i) join_all(op->operand(i), op->result());
    return;
  }
  switch (kind_of(op)) {
    case OpKind::Broadcast:
      return join_all(op->operand(0), op->result());
    case OpKind::Reshape:
      return join_reshaped(op->operand(0), op->result());
    case OpKind::Transpose: {
      std::vector<int64_t> perm = op->ints_attr("perm");
      for (size_t i = 0; i < perm.size(); ++i)
        join(op->operand(0), size_t(perm[i]), op->result(), i);
      return;
    }
    case OpKind::Reduce: {
      size_t reduced = size_t(op->int_attr("axis"));
      bool keep = op->flag("keep");
      for (size_t i = 0, j = 0; i < op->operand(0)->type()->rank(); ++i) {
        if (i != reduced) join(op->operand(0), i, op->result(), j);
        j += i != reduced || keep;
      }
      return;
    }
    case OpKind::Scan:
      join_all(op->in(in::Scan::a), op->result(0));
      join_all(op->in(in::Scan::a), op->result(1));
      if (Value* before = op->in(in::Scan::before)) join_all(before, op->result(1));
      return;
    case OpKind::Merge:
      join_all(op->in(in::Merge::a), op->result());
      return join_all(op->in(in::Merge::b), op->result());
    case OpKind::Dot:
      join(op->in(in::Dot::a), 0, op->result(), 0);
      join(op->in(in::Dot::b), 1, op->result(), 1);
      join(op->in(in::Dot::a), 1, op->in(in::Dot::b), 0);
      return join_all(op->in(in::Dot::c), op->result());
    case OpKind::Mma:
      if (op->in(in::Mma::a)->type()->is(TypeKind::Tile)) join(op->in(in::Mma::a), 0, op->result(), 0);
      return join_all(op->in(in::Mma::c), op->result());
    case OpKind::MmaWait:
      for (unsigned i = 0; i < op->result_count(); ++i) join_all(op->operand(i), op->result(i));
      return;
    case OpKind::ConvertLayout:
    case OpKind::Within:
      return join_all(op->operand(0), op->result());
    case OpKind::Take:
      for (Value* index : op->ins(in::Take::index)) join_all(index, op->result());
      return;
    case OpKind::Scatter:
      for (Value* index : op->ins(in::Scatter::index)) join_all(index, op->in(in::Scatter::value));
      return;
    case OpKind::Gather:
      return join(op->in(in::Gather::rows), 0, op->result(), 0);
    case OpKind::For: {
      Block* body = op->region()->front();
      for (unsigned i = 0; i < op->result_count(); ++i) {
        join_all(op->in(in::For::inits, i), op->result(i));
        join_all(body->arg(i + 1), op->result(i));
        join_all(body->back()->operand(i), op->result(i));
      }
      return;
    }
    case OpKind::If:
      for (unsigned r = 0; r < op->region_count(); ++r) {
        Op* end = op->region(r)->front()->back();
        for (unsigned i = 0; i < op->result_count(); ++i) join_all(end->operand(i), op->result(i));
      }
      return;
    default:
      return;  // all others make their tiles from memory, scalars or nothing
  }
}

void TileAxes::close(Value* value) {
  std::set<int> seen;
  bool repeats = false;
  for (size_t i = 0; i < value->type()->rank(); ++i) {
    Dim extent = value->type()->dims[i];
    if (extent->is_constant(1)) continue;
    int root = find(first_[value->id()] + int(i));
    if (axis_[size_t(root)] < 0) {
      axis_[size_t(root)] = int(extents_.size());
      extents_.push_back(extent);
    }
    repeats |= !seen.insert(root).second;
  }
  if (repeats) repeated_ = value;
  repeats_ += repeats;
}

int TileAxes::of(Value* value, size_t i) const {
  if (value->type()->dims[i]->is_constant(1)) return -1;
  return axis_[size_t(find(first_[value->id()] + int(i)))];
}

std::vector<int> TileAxes::of(Value* value) const {
  std::vector<int> axes;
  if (!value->type()->is(TypeKind::Tile)) return axes;
  for (size_t i = 0; i < value->type()->rank(); ++i) axes.push_back(of(value, i));
  return axes;
}

namespace {

bool makes_tile(Op* op) {
  OpKind kind = kind_of(op);
  return kind == OpKind::Full || kind == OpKind::Iota || kind == OpKind::Splat;
}

bool turns_tile(Op* op) {
  OpKind kind = kind_of(op);
  return kind == OpKind::Broadcast || kind == OpKind::Reshape || kind == OpKind::Transpose;
}

/// The copies of one kernel. What is copied are values that cost little to make again: numbers and coordinates, what
/// elementwise ops make of them, and lines that are loaded from memory that nobody writes.
class Separation {
 public:
  explicit Separation(Op* kernel) : kernel_(kernel) {
    walk(kernel, [&](Op* op) {
      has_products_ |= op->is(tile::info(OpKind::Dot)) || op->is(tile::info(OpKind::Mma));
      if (op->is(tile::info(OpKind::Store))) written_.insert(root_of(op->in(in::Store::memory)));
    });
  }

  void run() {
    bool repeated = TileAxes(kernel_).repeated() != nullptr;
    if (!has_products_ && !repeated) return;
    if (repeated) separate_lines();
    separate_constants();
  }

 private:
  static Value* root_of(Value* memory) {
    while (memory->def() && memory->def()->is(tile::info(OpKind::View))) memory = memory->def()->operand(0);
    return memory;
  }

  /// True for a value whose makers, up to those that read no tile, can be copied.
  bool can_be_copied(Value* value) {
    if (!value->type()->is(TypeKind::Tile)) return true;
    auto [known, is_new] = copyable_.try_emplace(value, false);
    if (!is_new) return known->second;
    Op* def = value->def();
    if (!def) return false;
    bool can = makes_tile(def);
    if (def->is(tile::info(OpKind::Load))) {
      can = value->type()->rank() == 1 && !written_.contains(root_of(def->in(in::Load::memory)));
    } else if (def->info().elementwise != ElementwiseKind::None || turns_tile(def)) {
      can = true;
      for (unsigned i = 0; i < def->operand_count(); ++i) can &= can_be_copied(def->operand(i));
    }
    return copyable_[value] = can;
  }

  /// The value made once more; what it is made of more than once is copied once.
  Value* copy_of(Value* value, std::map<Value*, Value*>& copies) {
    if (!value->type()->is(TypeKind::Tile)) return value;
    auto found = copies.find(value);
    if (found != copies.end()) return found->second;
    Op* def = value->def();
    for (unsigned i = 0; i < def->operand_count(); ++i) copy_of(def->operand(i), copies);
    Op* copy = def->module()->clone(def, copies);
    copy->move_before(def);
    return copies[value] = copy->result();
  }

  /// Only where axes are inserted, repeated or exchanged can one value come to lie along two axes: what is turned there
  /// is made for that place alone.
  void separate_lines() {
    std::vector<Op*> turns;
    walk(kernel_, [&](Op* op) {
      bool shared = turns_tile(op) && op->operand(0)->def() && !makes_tile(op->operand(0)->def());
      if (shared && !turns_tile(op->operand(0)->def()) && can_be_copied(op->operand(0))) turns.push_back(op);
    });
    for (Op* op : turns) {
      std::map<Value*, Value*> copies;
      op->set_operand(0, copy_of(op->operand(0), copies));
    }
    std::vector<Op*> left;
    walk(kernel_, [&](Op* op) {
      if (op->result_count() == 1 && can_be_copied(op->result())) left.push_back(op);
    });
    for (size_t i = left.size(); i-- > 0;) {
      if (left[i]->result()->unused() && left[i]->result()->type()->is(TypeKind::Tile)) left[i]->erase();
    }
  }

  void separate_constants() {
    std::vector<Op*> ops;
    std::set<Op*> found;
    walk(kernel_, [&](Op* op) {
      bool of_made = turns_tile(op) && found.contains(op->operand(0)->def());
      if ((makes_tile(op) || of_made) && found.insert(op).second) ops.push_back(op);
    });
    // Users come first, so that what they are copied with has all its uses.
    for (size_t i = ops.size(); i-- > 0;) {
      Op* op = ops[i];
      while (!op->result()->unused() && !op->result()->has_one_use()) {
        std::map<Value*, Value*> same;
        Op* copy = op->module()->clone(op, same);
        copy->move_before(op);
        op->result()->first_use()->set(copy->result());
      }
    }
  }

  Op* kernel_;
  bool has_products_ = false;
  std::set<Value*> written_;
  std::map<Value*, bool> copyable_;
};

}  // namespace

void separate_axes(Op* kernel) { Separation(kernel).run(); }

Value* tile_limit(Op* op, unsigned slot, size_t i, Dim extent) {
  if (op->slot_size(slot) == 0) return nullptr;
  Value* limit = op->in(slot, unsigned(i));
  std::optional<int64_t> known = tile::known_index(limit), constant = extent->constant();
  if (known && constant && *known >= *constant) return nullptr;
  bool whole = limit->def() && limit->def()->is(tile::info(OpKind::Dim)) &&
               limit->def()->dim_attr("value") == extent;
  return whole ? nullptr : limit;
}

}  // namespace tessera
