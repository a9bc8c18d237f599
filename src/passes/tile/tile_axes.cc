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
      return join_all(op->in(in::Mma::c), op->result());
    case OpKind::MmaWait:
      for (unsigned i = 0; i < op->result_count(); ++i) join_all(op->operand(i), op->result(i));
      return;
    case OpKind::ConvertLayout:
      return join_all(op->operand(0), op->result());
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
  for (size_t i = 0; i < value->type()->rank(); ++i) {
    Dim extent = value->type()->dims[i];
    if (extent->is_constant(1)) continue;
    int root = find(first_[value->id()] + int(i));
    if (axis_[size_t(root)] < 0) {
      axis_[size_t(root)] = int(extents_.size());
      extents_.push_back(extent);
    }
    if (!seen.insert(root).second) repeated_ = value;
  }
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

void separate_constants(Op* kernel) {
  std::vector<Op*> ops;
  std::set<Op*> found;
  bool has_products = false;
  bool twice = TileAxes(kernel).repeated();  // coordinates that are shared, such as those of rows and of columns
  walk(kernel, [&](Op* op) {
    has_products |= op->is(tile::info(OpKind::Dot)) || op->is(tile::info(OpKind::Mma));
    OpKind kind = kind_of(op);
    bool made = kind == OpKind::Full || kind == OpKind::Iota || kind == OpKind::Splat;
    bool moved = kind == OpKind::Broadcast || kind == OpKind::Reshape;
    moved |= twice && op->operand_count() > 0 && op->info().elementwise != ElementwiseKind::None;
    bool of_made = moved;
    for (unsigned i = 0; of_made && i < op->operand_count(); ++i) of_made = found.contains(op->operand(i)->def());
    if ((made || of_made) && found.insert(op).second) ops.push_back(op);
  });
  if (!has_products && !twice) return;
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
