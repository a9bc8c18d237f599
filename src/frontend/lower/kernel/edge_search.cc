#include "frontend/lower/kernel/edge_search.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "ir/schedule/ops.h"
#include "support/check.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;
namespace attr = schedule::attr;
namespace in = schedule::in;

namespace {

bool is_memory(Value* value) {
  return value->type()->is(TypeKind::View) && value->type()->space == MemorySpace::Shared;
}

/// The memory that a slot is of.
Value* root_of(Value* memory) {
  while (memory->def()->is(info(OpKind::Slot))) memory = memory->def()->in(in::Slot::memory);
  return memory;
}

/// The index of a slot of a whole memory; null for anything else.
Value* slot_of(Value* memory) {
  Op* slot = memory->def();
  bool of_whole = slot->is(info(OpKind::Slot)) && slot->in(in::Slot::memory) == root_of(memory);
  return of_whole ? slot->in(in::Slot::index) : nullptr;
}

Value* target_of(Op* write) {
  return write->in(write->is(info(OpKind::Store)) ? unsigned(in::Store::memory) : unsigned(in::CopyAsync::to));
}

std::vector<Op*> writes_to(Op* kernel, Value* memory) {
  std::vector<Op*> writes;
  walk(kernel, [&](Op* op) {
    if (!op->is(info(OpKind::Store)) && !op->is(info(OpKind::CopyAsync))) return;
    if (is_memory(target_of(op)) && root_of(target_of(op)) == root_of(memory)) writes.push_back(op);
  });
  return writes;
}

/// Whether a value may differ from iteration to iteration of some loop; values in `seen` may not.
bool varies(Value* value, std::set<Value*>& seen) {
  if (!seen.insert(value).second) return false;
  Op* def = value->def();
  if (!def) return value->block()->parent_op()->is(info(OpKind::Pipeline));
  if (!def->is_pure() || def->region_count()) return true;
  for (unsigned i = 0; i < def->operand_count(); ++i) {
    if (varies(def->operand(i), seen)) return true;
  }
  return false;
}

bool varies(Value* value) {
  std::set<Value*> seen;
  return varies(value, seen);
}

/// Pairs that were seen are the same, or something else has shown that they are not.
bool is_same(const Value* a, const Value* b, std::set<std::pair<const Value*, const Value*>>& seen) {
  if (a == b || !seen.insert({a, b}).second) return true;
  const Op *x = a->def(), *y = b->def();
  if (!x || !y || &x->info() != &y->info() || a->type() != b->type() || a->index() != b->index()) return false;
  if (!x->is_pure() || x->region_count() || x->operand_count() != y->operand_count()) return false;
  auto same = [](const OpAttr& p, const OpAttr& q) { return p.name == q.name && p.value == q.value; };
  if (!std::ranges::equal(x->attributes(), y->attributes(), same)) return false;
  for (unsigned i = 0; i < x->operand_count(); ++i) {
    if (!is_same(x->operand(i), y->operand(i), seen)) return false;
  }
  return true;
}

/// Whether `write` has run whenever `read` runs, in the same iterations of all loops around it.
bool comes_before(Op* write, Op* read) {
  for (Op* at = read; at; at = at->parent()) {
    if (at->block() != write->block()) continue;
    for (Op* next = write->next(); next; next = next->next()) {
      if (next == at) return true;
    }
    return false;
  }
  return false;
}

bool is_same_place(const TilePlace& a, const TilePlace& b) {
  return a.tile == b.tile && a.extent == b.extent && is_same_index(a.index, b.index);
}

/// How the load may say where what a write brought lies: it is always the same place, slot i has tile i, which the load
/// asks for `by_number`, or the one write came just before.
std::vector<TilePlace> places_for(Op* load, Op* write, bool is_only_write, bool by_number, const TilePlace& place) {
  Value *to = target_of(write), *from = load->in(in::Load::memory);
  bool comes_just_before = is_only_write && is_same_index(to, from) && comes_before(write, load);
  std::vector<TilePlace> places;
  if (!varies(place.index) || comes_just_before) places.push_back({place.index, place.tile, place.extent});
  by_number &= slot_of(to) && slot_of(from) && is_same_index(slot_of(to), place.index);
  if (by_number) places.push_back({slot_of(from), place.tile, place.extent});
  return places;
}

}  // namespace

bool is_same_index(const Value* a, const Value* b) {
  std::set<std::pair<const Value*, const Value*>> seen;
  return is_same(a, b, seen);
}

bool is_copied(Op* kernel, Value* tile) {
  Op* def = tile->def();
  auto moves = [&] {
    return def->is(info(OpKind::Reshape)) || def->is(info(OpKind::Transpose)) || def->is(info(ElementwiseKind::Cast));
  };
  while (def && moves()) def = def->operand(0)->def();
  if (!def || !def->is(info(OpKind::Load)) || !is_memory(def->in(in::Load::memory))) return false;
  std::vector<Op*> writes = writes_to(kernel, def->in(in::Load::memory));
  return std::ranges::all_of(writes, [](Op* write) { return write->is(info(OpKind::CopyAsync)); });
}

bool TilePlace::is_cut() const {
  std::optional<int64_t> elements = tile->constant();
  return !elements || !is_multiple_of(extent, *elements);
}

void EdgeSearch::add(const TilePlace& place) {
  auto known = std::ranges::find_if(found_.places, [&](const TilePlace& each) { return is_same_place(each, place); });
  if (known == found_.places.end()) {
    found_.places.push_back(place);
  } else {
    known->loaded |= place.loaded;
    known->yielded |= place.yielded;
    known->stale |= place.stale;
  }
}

void EdgeSearch::add(const Found& found) {
  for (const TilePlace& place : found.places) add(place);
  auto append = [](auto& to, const auto& from) {
    for (const KernelAxis* axis : from) {
      if (std::ranges::find(to, axis) == to.end()) to.push_back(axis);
    }
  };
  append(found_.axes, found.axes);
  append(found_.stated, found.stated);
  if (found.unplaced) found_.unplaced = found.unplaced;
}

const EdgeSearch::Found& EdgeSearch::find(Value* tile, size_t axis) {
  if (auto known = kept_.find({tile, axis}); known != kept_.end()) return known->second;
  Found around = std::exchange(found_, {});
  auto seen = std::exchange(seen_, {});
  visit(tile, axis);
  seen_ = std::move(seen);
  return kept_[{tile, axis}] = std::exchange(found_, std::move(around));
}

/// Takes what was said of the tile as it was made.
bool EdgeSearch::is_known(Value* tile, size_t axis) {
  if (single_) {
    auto single = origins_->single.find(tile);
    if (single == origins_->single.end()) return false;
    if (single->second[axis]) found_.axes.push_back(single->second[axis]);
    return true;
  }
  if (auto known = origins_->numbered.find(tile); known != origins_->numbered.end()) return add(known->second), true;
  auto made = origins_->made.find(tile);
  if (made == origins_->made.end() || !made->second[axis]) return false;
  found_.axes.push_back(made->second[axis]);
  if (!tile->def() || !tile->def()->is(info(OpKind::Iota))) found_.stated.push_back(made->second[axis]);
  return true;
}

void EdgeSearch::visit(Value* tile, size_t axis) {
  if (!tile->type()->is(TypeKind::Tile) || tile->type()->dims[axis]->is_constant(1) != single_) return;
  if (!seen_.insert({tile, axis}).second) return;
  if (auto known = kept_.find({tile, axis}); known != kept_.end()) return add(known->second);
  if (is_known(tile, axis)) return;
  if (tile->def()) return visit_result(tile->def(), tile->index(), axis);
  Op* loop = tile->block()->parent_op();
  visit(loop->in(in::Pipeline::inits, tile->index() - 1), axis);
  visit_yields(loop, tile->index() - 1, axis, true);
}

/// The value of a region's result `n`; `carried` where the iteration before gave it. A loop that is being built gives
/// nothing yet.
void EdgeSearch::visit_yields(Op* op, unsigned n, size_t axis, bool carried) {
  for (unsigned r = 0; r < op->region_count(); ++r) {
    Op* last = op->region(r)->front()->terminator();
    if (!last) continue;
    Found around = std::exchange(found_, {});
    visit(last->operand(n), axis);
    for (TilePlace& place : found_.places) {
      place.yielded = true;
      place.stale |= carried && place.index && varies(place.index);
    }
    Found yielded = std::exchange(found_, std::move(around));
    add(yielded);
  }
}

void EdgeSearch::visit_operands(Op* op, size_t axis) {
  for (unsigned i = 0; i < op->operand_count(); ++i) visit(op->operand(i), axis);
}

void EdgeSearch::visit_result(Op* op, unsigned n, size_t axis) {
  switch (op->info().axes) {
    case Axes::Kept:
      return visit_operands(op, axis);
    case Axes::Reshaped:
      return visit_reshaped(op, axis);
    case Axes::Permuted:
      return visit(op->operand(0), size_t(op->attr(attr::Transpose::perm)[axis]));
    case Axes::Reduced:
      return visit(op->operand(0), axis + (int64_t(axis) >= op->attr(attr::Reduce::axis)));
    case Axes::Contracted:
      visit(op->in(axis == 0 ? unsigned(in::Dot::a) : unsigned(in::Dot::b)), axis);
      return visit(op->in(in::Dot::c), axis);
    case Axes::None:
    case Axes::Own:
      return visit_maker(op, n, axis);
  }
}

void EdgeSearch::visit_reshaped(Op* op, size_t axis) {
  if (auto known = origins_->inserted.find(op->result()); known != origins_->inserted.end()) {
    if (int from = known->second[axis]; from >= 0) visit(op->operand(0), size_t(from));
    return;
  }
  auto is_one = [](Dim dim) { return dim->is_constant(1); };
  const std::vector<Dim>&from = op->operand(0)->type()->dims, &to = op->result()->type()->dims;
  // Which of several single elements is meant, the shapes do not say.
  for (size_t i = 0; single_ && i < from.size(); ++i) visit(op->operand(0), i);
  if (single_) return;
  auto left = std::count_if(to.begin(), to.begin() + std::ptrdiff_t(axis), std::not_fn(is_one));
  for (size_t i = 0; i < from.size(); ++i) {
    if (!is_one(from[i]) && left-- == 0) return visit(op->operand(0), i);
  }
}

/// Of an op that makes its tile of memory, in regions or of numbers.
void EdgeSearch::visit_maker(Op* op, unsigned n, size_t axis) {
  switch (schedule::kind_of(op)) {
    case OpKind::Load: {
      Value* memory = op->in(in::Load::memory);
      if (is_memory(memory)) return visit_memory(op, axis);
      auto asked = origins_->asked.find(op);
      return add({op->in(in::Load::index, unsigned(axis)), op->result()->type()->dims[axis],
                  memory->type()->dims[axis], true, asked == origins_->asked.end() ? nullptr : asked->second[axis]});
    }
    case OpKind::Gather:
      if (axis == 0) return visit(op->in(in::Gather::rows), 0);
      return add({op->in(in::Gather::column), op->result()->type()->dims[1],
                  op->in(in::Gather::table)->type()->dims[1], true});
    case OpKind::Pipeline:
      visit(op->in(in::Pipeline::inits, n), axis);
      return visit_yields(op, n, axis);
    case OpKind::If:
      return visit_yields(op, n, axis);
    case OpKind::Full:
    case OpKind::Splat:
    case OpKind::Iota:
      return;  // is_known has all that is known of them
    default:
      TSR_UNREACHABLE("where a tile of " + std::string(op->name()) + " lies is not known");
  }
}

/// Where what is written lies along an axis, `back` from the last. A write of what it has itself written adds nothing.
const EdgeSearch::Found& EdgeSearch::written_by(Op* write, size_t back) {
  auto [known, is_new] = written_.try_emplace({write, back});
  if (!is_new) return known->second;
  Found around = std::exchange(found_, {});
  auto seen = std::exchange(seen_, {});
  Type to = target_of(write)->type();
  if (write->is(info(OpKind::Store))) {
    visit(write->in(in::Store::value), to->rank() - back);
  } else {
    std::vector<Value*> index = write->ins(in::CopyAsync::index);
    const std::vector<Dim>& from = write->in(in::CopyAsync::from)->type()->dims;
    add({index[index.size() - back], to->dims[to->rank() - back], from[from.size() - back]});
  }
  seen_ = std::move(seen);
  known->second = std::exchange(found_, std::move(around));
  return known->second;
}

/// Axes of a memory and of what is written there are counted from the last.
void EdgeSearch::visit_memory(Op* load, size_t axis) {
  size_t back = load->result()->type()->rank() - axis;
  bool by_number = !origins_->displaced.contains(load);
  std::vector<Op*> writes = writes_to(kernel_, load->in(in::Load::memory));
  std::optional<std::vector<TilePlace>> all;
  for (Op* write : writes) {
    if (target_of(write)->type()->rank() < back) return;  // the axis counts slots
    const Found& written = written_by(write, back);
    found_.axes.insert(found_.axes.end(), written.axes.begin(), written.axes.end());
    if (written.unplaced) found_.unplaced = written.unplaced;
    for (const TilePlace& place : written.places) {
      if (!place.is_cut()) continue;
      std::vector<TilePlace> own = places_for(load, write, writes.size() == 1, by_number, place);
      if (!all) all = own;
      std::erase_if(*all, [&](const TilePlace& known) {
        return std::ranges::none_of(own, [&](const TilePlace& each) { return is_same_place(known, each); });
      });
    }
  }
  if (all && all->empty()) found_.unplaced = load;
  if (all && !all->empty()) add(all->front());
}

}  // namespace tessera::frontend
