// Separates values that would run along one axis twice, by way of memory.
//
// In `h = tanh(x + dot(h, u))` the columns of the sum are those of h, and so, as the dot's k, the
// rows of u. An axis of the program would run along u twice, but a loop cannot bind an axis to two
// places at once. Memory has no axes: where the dot reads h from memory, its k is an axis of its
// own.
//
// The pass joins axes anew, one use of a tile after the other, most expensive separations first. A
// use that would join two axes of one tile reads a copy of its value instead: the copy of another
// use, if its axes fit, or a new one, whose axes always fit. A copy is loaded from where the value
// was stored, or it is computed again where that is cheaper: constants, coordinates, and loads from
// memory that nothing writes.
//
// A GPU's program has no memory of its own: there all ops without effects are computed again, from
// copies of their operands.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ir/tile/build.h"
#include "ir/tile/op_facts.h"
#include "passes/tile/common/tile_axes.h"
#include "support/check.h"

namespace tessera {

using tile::OpKind;
namespace in = tile::in;

namespace {

/// Axes of tiles in groups, no two of one tile in the same.
class Partition {
 public:
  /// A new tile with as many axes, each a group of its own; gives the first.
  int add(size_t axes) {
    int first = int(parent_.size());
    for (size_t i = 0; i < axes; ++i) {
      parent_.push_back(first + int(i));
      tiles_.push_back({first, first + int(axes)});
      members_.push_back({first + int(i)});
    }
    return first;
  }

  /// Joins all these pairs, or none where two axes of one tile would come together.
  bool join(const std::vector<std::pair<int, int>>& pairs) {
    size_t done = joined_.size();
    for (auto [a, b] : pairs) {
      if (join(find(a), find(b))) continue;
      while (joined_.size() > done) take_back();
      return false;
    }
    joined_.clear();
    return true;
  }

 private:
  /// Paths stay as they are, so that a join can be taken back. They are short: the smaller group joins the greater.
  int find(int axis) const {
    while (parent_[size_t(axis)] != axis) axis = parent_[size_t(axis)];
    return axis;
  }

  bool join(int a, int b) {
    if (a == b) return true;
    if (members_[size_t(a)].size() < members_[size_t(b)].size()) std::swap(a, b);
    std::vector<int>& all = members_[size_t(a)];
    const std::vector<int>& fewer = members_[size_t(b)];
    bool repeats_axis = std::ranges::any_of(fewer, [&](int member) {
      for (int axis = tiles_[size_t(member)].first; axis < tiles_[size_t(member)].second; ++axis) {
        if (find(axis) == a) return true;
      }
      return false;
    });
    if (repeats_axis) return false;
    all.insert(all.end(), fewer.begin(), fewer.end());
    parent_[size_t(b)] = a;
    joined_.push_back(b);
    return true;
  }

  void take_back() {
    int b = joined_.back();
    std::vector<int>& all = members_[size_t(parent_[size_t(b)])];
    all.resize(all.size() - members_[size_t(b)].size());
    parent_[size_t(b)] = b;
    joined_.pop_back();
  }

  std::vector<int> parent_;
  std::vector<std::pair<int, int>> tiles_;  ///< per axis: those of its tile, from and up to
  std::vector<std::vector<int>> members_;   ///< per axis that leads a group
  std::vector<int> joined_;                 ///< what led groups that have joined others
};

class Detours {
 public:
  Detours(Op* kernel, bool has_memory) : kernel_(kernel), builder_(*kernel->module()), has_memory_(has_memory) {
    walk(kernel, [&](Op* op) {
      for (Value* memory : op->ins(ValueClass::WrittenMemory)) written_.insert(root_of(memory));
    });
  }

  void run() {
    walk(kernel_, [&](Op* op) { number(op); });
    walk(kernel_, [&](Op* op) {
      for (AxisUse& use : uses_of(op)) uses_.push_back(std::move(use));
    });
    std::ranges::stable_sort(uses_, std::greater(), &AxisUse::cost);
    for (const AxisUse& use : uses_) separate(use);
  }

 private:
  /// An operand whose axes are those of other values.
  struct AxisUse {
    Op* reader;
    unsigned operand;
    std::vector<AxisLink> links;
    int cost = 0;  ///< of reading a copy
  };

  static Value* root_of(Value* memory) {
    while (memory->def() && memory->def()->is(tile::info(OpKind::View))) memory = memory->def()->operand(0);
    return memory;
  }

  /// The axes of a value, and one more: what its op combines lies apart from them.
  void number(Value* value) {
    if (value->type()->is(TypeKind::Tile)) first_[value] = axes_.add(value->type()->rank() + 1);
  }

  void number(Op* op) {
    for (unsigned i = 0; i < op->result_count(); ++i) number(op->result(i));
    for (unsigned i = 0; i < op->result_count() && op->is(tile::info(OpKind::For)); ++i) {
      if (first_.contains(op->result(i))) first_[carried(op, i)] = first_[op->result(i)];
    }
  }

  std::vector<AxisUse> uses_of(Op* op) const {
    std::map<unsigned, std::vector<AxisLink>> links;
    for (const AxisLink& link : axis_links(op)) links[link.operand].push_back(link);
    std::vector<AxisUse> uses;
    for (auto& [operand, of_it] : links) {
      int cost = cost_of(op, operand) + (is_made_again(op->operand(operand)) ? 0 : most_expensive + 1);
      uses.push_back({op, operand, std::move(of_it), cost});
    }
    return uses;
  }

  static constexpr int most_expensive = 3;

  /// A dot reads its factors often, and ops that exchange or repeat axes read across them: memory
  /// serves both well. Costs decide who reads a copy, not what it is.
  static int cost_of(Op* op, unsigned operand) {
    switch (tile::facts(op).cost) {
      case tile::Cost::Dot: return operand == op->slot_begin(in::Dot::c) ? most_expensive : 0;
      case tile::Cost::Free:
      case tile::Cost::Shared: return 1;
      case tile::Cost::Combining: return 2;
      case tile::Cost::Unstated:
      case tile::Cost::Elementwise:
      case tile::Cost::Elements:
      case tile::Cost::Load:
      case tile::Cost::Store:
      case tile::Cost::Copy:
      case tile::Cost::Rows:
      case tile::Cost::Scattered: return most_expensive;
    }
    TSR_UNREACHABLE("a cost of no kind");
  }

  /// Nobody writes the memory: of a GPU's memory that is sure of the kernel's parameters.
  bool stays(Value* memory) const {
    Value* root = root_of(memory);
    return !written_.contains(root) && (has_memory_ || !root->def());
  }

  /// What gives the same when it is computed again is so where that is cheap, or where there is no memory. Of others a
  /// copy passes through memory, or there is none.
  bool is_made_again(Value* value) const {
    Op* def = value->def();
    if (!def || def->result_count() != 1 || def->region_count() > 0) return false;
    if (has_memory_ && !tile::facts(def).is_cheap) return false;
    if (def->is_pure()) return true;
    return def->info().effects == Reads &&
           std::ranges::all_of(def->ins(ValueClass::ReadMemory), [&](Value* memory) { return stays(memory); });
  }

  bool fits(const AxisUse& use, Value* value) {
    std::vector<std::pair<int, int>> pairs;
    for (const AxisLink& link : use.links) {
      pairs.push_back({first_.at(value) + int(link.axis), first_.at(link.to) + int(link.place)});
    }
    return axes_.join(pairs);
  }

  /// Has the reader read what fits of the value and its copies.
  void separate(const AxisUse& use) {
    Value* value = use.reader->operand(use.operand);
    if (fits(use, value)) return;
    std::vector<Value*>& copies = copies_[value];
    auto copy = std::ranges::find_if(copies, [&](Value* made) { return fits(use, made); });
    bool is_new = copy == copies.end();
    if (is_new && !has_memory_ && !is_made_again(value)) return;
    if (is_new) {
      copy = copies.insert(copies.end(), copy_of(value));
      number(*copy);
      TSR_CHECK(fits(use, *copy), "the axes of a new tile are not its own");
    }
    Op* made = (*copy)->def();
    use.reader->set_operand(use.operand, *copy);
    if (!is_new || has_memory_) return;
    for (const AxisUse& of_copy : uses_of(made)) separate(of_copy);
  }

  /// The value once more, from right behind it.
  Value* copy_of(Value* value) {
    Op* def = value->def();
    if (def) {
      builder_.set_after(def);
    } else {
      builder_.set_before(value->block()->front());
    }
    builder_.set_loc(def ? def->loc() : value->block()->parent_op()->loc());
    if (!is_made_again(value)) return through_memory(value);
    std::map<Value*, Value*> same;
    Op* made = kernel_->module()->clone(def, same);
    builder_.insert(made);
    return made->result();
  }

  Value* through_memory(Value* value) {
    Context& context = builder_.context();
    Type type = value->type();
    Value* zero = tile::index(builder_, 0);
    Value* memory = builder_.value(tile::info(OpKind::Alloc), {},
                                   context.contiguous_view(type->dims, type->dtype, MemorySpace::Scratch));
    memory->def()->move_before(kernel_->region()->front()->front());
    std::vector<Value*> offsets(type->rank(), zero);
    tile::store(builder_, value, memory, offsets, {});
    return tile::load(builder_, memory, offsets, {}, type);
  }

  Op* kernel_;
  Builder builder_;
  bool has_memory_;  ///< of a program's own
  std::set<Value*> written_;
  Partition axes_;
  std::map<Value*, int> first_;  ///< the first axis of each tile
  std::vector<AxisUse> uses_;
  std::map<Value*, std::vector<Value*>> copies_;
};

}  // namespace

void detour_repeated(Op* kernel, bool has_memory) {
  if (TileAxes(kernel).repeated()) Detours(kernel, has_memory).run();
}

}  // namespace tessera
