#include "passes/tile/common/tile_axes.h"

#include <map>

#include "ir/core/common_attributes.h"
#include "ir/tile/axes.h"
#include "ir/tile/build.h"
#include "support/check.h"

namespace tessera {

using tile::kind_of;
using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

/// The links of one op.
class Linking {
 public:
  explicit Linking(Op* op) : op_(op) {}

  std::vector<AxisLink> links() {
    switch (op_->info().axes) {
      case Axes::None: check_unrelated(); break;
      case Axes::Kept: kept(); break;
      case Axes::Reshaped:
      case Axes::Permuted: viewed(); break;
      case Axes::Reduced: reduced(); break;
      case Axes::Contracted: contracted(); break;
      case Axes::Own: own(); break;
    }
    return std::move(links_);
  }

 private:
  Type type_of(unsigned operand) const { return op_->operand(operand)->type(); }

  void link(unsigned operand, size_t axis, Value* to, size_t place) {
    bool single = type_of(operand)->dims[axis]->is_constant(1);
    single |= place < to->type()->rank() && to->type()->dims[place]->is_constant(1);
    if (!single) links_.push_back({operand, axis, to, place});
  }

  void all(unsigned operand, Value* to) {
    if (!type_of(operand)->is(TypeKind::Tile)) return;
    for (size_t i = 0; i < type_of(operand)->rank(); ++i) link(operand, i, to, i);
  }

  /// All of a slot.
  void slot(unsigned slot, Value* to) {
    for (unsigned i = 0; i < op_->slot_size(slot); ++i) all(op_->slot_begin(slot) + i, to);
  }

  /// A row that states no relation of its tiles is refused where it has any.
  void check_unrelated() {
    bool reads_tiles = false;
    for (unsigned i = 0; i < op_->operand_count(); ++i) {
      bool is_second = reads_tiles && type_of(i)->is(TypeKind::Tile);
      TSR_CHECK(!is_second, "no relation of axes for " + std::string(op_->name()));
      reads_tiles |= type_of(i)->is(TypeKind::Tile);
    }
    for (unsigned i = 0; i < op_->result_count(); ++i) {
      bool is_made_of_one = reads_tiles && op_->result(i)->type()->is(TypeKind::Tile);
      TSR_CHECK(!is_made_of_one, "no relation of axes for " + std::string(op_->name()));
    }
  }

  void kept() {
    for (unsigned i = 0; i < op_->operand_count(); ++i) {
      for (unsigned r = 0; r < op_->result_count(); ++r) all(i, op_->result(r));
    }
  }

  void viewed() {
    std::vector<int> axes = *tile::axes_in_result(op_);
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] >= 0) link(0, i, op_->result(), size_t(axes[i]));
    }
  }

  void reduced() {
    size_t axis = size_t(op_->attr(common::Along::axis));
    bool keep = op_->attr(attr::Reduce::keep);
    for (size_t i = 0, j = 0; i < type_of(0)->rank(); ++i) {
      link(0, i, op_->result(), i == axis ? op_->result()->type()->rank() : j);
      j += i != axis || keep;
    }
  }

  void contracted() {
    unsigned a = op_->slot_begin(in::Dot::a), b = op_->slot_begin(in::Dot::b);
    link(a, 0, op_->result(), 0);
    link(a, 1, op_->result(), 2);
    link(b, 0, op_->result(), 2);
    link(b, 1, op_->result(), 1);
    slot(in::Dot::c, op_->result());
  }

  /// The terminator of a region.
  void yielded() {
    Op* around = op_->parent();
    for (unsigned i = 0; i < around->result_count(); ++i) all(i, around->result(i));
  }

  void own() {
    switch (kind_of(op_)) {
      case OpKind::Mma:
        if (type_of(0)->is(TypeKind::Tile)) link(0, 0, op_->result(), 0);
        return slot(in::Mma::c, op_->result());
      case OpKind::MmaWait:
        for (unsigned i = 0; i < op_->result_count(); ++i) all(i, op_->result(i));
        return;
      case OpKind::Scatter:
        return slot(in::Scatter::index, op_->in(in::Scatter::value));
      case OpKind::Gather:
        return link(op_->slot_begin(in::Gather::rows), 0, op_->result(), 0);
      case OpKind::For:
        for (unsigned i = 0; i < op_->result_count(); ++i) all(op_->slot_begin(in::For::inits) + i, op_->result(i));
        return;
      case OpKind::Yield:
        return yielded();
      case OpKind::If:     // its yields say it
      case OpKind::Slice:  // of other extents
      case OpKind::PairRows:
      case OpKind::DotPairs:
        return;
      default:
        TSR_UNREACHABLE("no relation of axes for " + std::string(op_->name()));
    }
  }

  Op* op_;
  std::vector<AxisLink> links_;
};

}  // namespace

std::vector<AxisLink> axis_links(Op* op) { return Linking(op).links(); }

TileAxes::TileAxes(Op* kernel) : first_(kernel->module()->value_count(), -1) {
  std::vector<Value*> tiles;
  walk(kernel, [&](Op* op) {
    number(op);
    for (unsigned i = 0; i < op->result_count(); ++i) tiles.push_back(op->result(i));
  });
  std::erase_if(tiles, [](Value* value) { return !value->type()->is(TypeKind::Tile); });
  walk(kernel, [&](Op* op) {
    for (const AxisLink& link : axis_links(op)) {
      int x = find(first_[op->operand(link.operand)->id()] + int(link.axis));
      int y = find(first_[link.to->id()] + int(link.place));
      // The older node leads, so that program axes are numbered in the order of the text.
      parent_[size_t(std::max(x, y))] = std::min(x, y);
    }
  });
  axis_.assign(parent_.size(), -1);
  for (Value* value : tiles) close(value);
}

void TileAxes::number(Op* op) {
  for (unsigned i = 0; i < op->result_count(); ++i) number(op->result(i));
  for (unsigned i = 0; i < op->result_count() && op->is(tile::info(OpKind::For)); ++i) {
    first_[carried(op, i)->id()] = first_[op->result(i)->id()];
  }
}

void TileAxes::number(Value* value) {
  if (!value->type()->is(TypeKind::Tile)) return;
  first_[value->id()] = int(parent_.size());
  for (size_t i = 0; i <= value->type()->rank(); ++i) parent_.push_back(int(parent_.size()));
}

int TileAxes::find(int node) const {
  while (parent_[size_t(node)] != node) {
    node = parent_[size_t(node)] = parent_[size_t(parent_[size_t(node)])];
  }
  return node;
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

bool permutes_axes(Op* op) {
  OpKind kind = kind_of(op);
  return kind == OpKind::Broadcast || kind == OpKind::Reshape || kind == OpKind::Transpose;
}

/// The copies of one kernel. It copies values that are cheap to compute again: numbers and
/// coordinates, elementwise ops of them, and lines loaded from memory that the kernel does not
/// write.
class Separation {
 public:
  explicit Separation(Op* kernel) : kernel_(kernel) {
    walk(kernel, [&](Op* op) {
      has_dots_ |= op->is(tile::info(OpKind::Dot)) || op->is(tile::info(OpKind::Mma));
      for (Value* memory : op->ins(ValueClass::WrittenMemory)) written_.insert(root_of(memory));
    });
  }

  void run() {
    bool repeated = TileAxes(kernel_).repeated() != nullptr;
    if (!has_dots_ && !repeated) return;
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
    } else if (def->info().elementwise != ElementwiseKind::None || permutes_axes(def)) {
      can = true;
      for (unsigned i = 0; i < def->operand_count(); ++i) can &= can_be_copied(def->operand(i));
    }
    return copyable_[value] = can;
  }

  /// A copy of the value; an operand that it reads more than once is copied once.
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

  /// Only where axes are inserted, repeated or exchanged can one value lie along two axes: what is
  /// permuted there is made for that place alone.
  void separate_lines() {
    std::vector<Op*> permuting;
    walk(kernel_, [&](Op* op) {
      bool shared = permutes_axes(op) && op->operand(0)->def() && !makes_tile(op->operand(0)->def());
      if (shared && !permutes_axes(op->operand(0)->def()) && can_be_copied(op->operand(0))) permuting.push_back(op);
    });
    for (Op* op : permuting) {
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
      bool of_made = permutes_axes(op) && found.contains(op->operand(0)->def());
      if ((makes_tile(op) || of_made) && found.insert(op).second) ops.push_back(op);
    });
    // Users come first, so that their copies have all their uses.
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
  bool has_dots_ = false;
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
               limit->def()->attr(attr::Dim::value) == extent;
  return whole ? nullptr : limit;
}

bool is_contiguous_along(Type memory, Type tile, size_t i) {
  if (!memory->is(TypeKind::View)) return i + 1 == tile->rank();
  return memory->strides[memory->rank() - tile->rank() + i]->is_constant(1);
}

}  // namespace tessera
