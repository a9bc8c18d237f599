// Values along one axis twice, taken apart by memory.
//
// In `h = tanh(x + dot(h, u))` the columns of the sum are those of h, and so, as the product's k, the rows of u: an
// axis of the program would run along u twice, and no loop binds an axis to two places at once. What lies in memory has
// no axes. Where the product reads h from there, its k is an axis of its own.
//
// Of the values that may go through memory the one that leaves the fewest repeated goes first, until none is left or
// nothing helps. What is loaded from memory that nobody writes is loaded once more instead.

#include <map>
#include <set>

#include "ir/tile/build.h"
#include "passes/tile/tile_axes.h"

namespace tessera {

using tile::OpKind;
namespace in = tile::in;

namespace {

class Detours {
 public:
  explicit Detours(Op* kernel) : kernel_(kernel), builder_(*kernel->module()) {
    walk(kernel, [&](Op* op) {
      if (op->is(tile::info(OpKind::Store))) written_.insert(root_of(op->in(in::Store::memory)));
      if (op->is(tile::info(OpKind::Scatter))) written_.insert(root_of(op->in(in::Scatter::memory)));
    });
  }

  void run() {
    for (size_t repeats = TileAxes(kernel_).repeats(); repeats > 0;) {
      std::vector<Readers> all = candidates();
      const Readers* best = nullptr;
      size_t least = repeats;
      for (const Readers& readers : all) {
        size_t left = tried(readers);
        if (left < least) best = &readers, least = left;
      }
      if (!best) return;
      take(*best);
      repeats = least;
    }
  }

 private:
  /// Uses of one value in one block that the same load can serve.
  using Readers = std::vector<Use*>;

  static Value* root_of(Value* memory) {
    while (memory->def() && memory->def()->is(tile::info(OpKind::View))) memory = memory->def()->operand(0);
    return memory;
  }

  /// Factors of products, left and right ones for themselves, then values whose axes are exchanged or spread.
  std::vector<Readers> candidates() {
    std::vector<Readers> factors, turned;
    std::map<std::tuple<Value*, Block*, unsigned>, size_t> place;
    walk(kernel_, [&](Op* op) {
      if (op->is(tile::info(OpKind::Dot))) {
        for (unsigned slot : {unsigned(in::Dot::a), unsigned(in::Dot::b)}) {
          auto [known, is_new] = place.try_emplace({op->in(slot), op->block(), slot}, factors.size());
          if (is_new) factors.emplace_back();
          factors[known->second].push_back(use_of(op, op->slot_begin(slot)));
        }
      }
      bool turns = op->is(tile::info(OpKind::Transpose)) || op->is(tile::info(OpKind::Reshape)) ||
                   op->is(tile::info(OpKind::Broadcast));
      if (turns) turned.push_back({use_of(op, 0)});
    });
    factors.insert(factors.end(), turned.begin(), turned.end());
    return factors;
  }

  static Use* use_of(Op* op, unsigned position) {
    Use* use = op->operand(position)->first_use();
    while (use->owner() != op || use->index() != position) use = use->next();
    return use;
  }

  /// How many values would be repeated.
  size_t tried(const Readers& readers) {
    Value* before = readers[0]->value();
    std::vector<Op*> made = take(readers);
    size_t left = TileAxes(kernel_).repeats();
    for (Use* use : readers) use->set(before);
    for (size_t i = made.size(); i-- > 0;) made[i]->erase();
    return left;
  }

  /// Has the readers read the value from memory; gives the ops that do that.
  std::vector<Op*> take(const Readers& readers) {
    Value* value = readers[0]->value();
    builder_.set_before(readers[0]->owner());
    builder_.set_loc(readers[0]->owner()->loc());
    std::vector<Op*> made;
    Op* def = value->def();
    bool loaded = def && def->is(tile::info(OpKind::Load)) && !written_.contains(root_of(def->in(in::Load::memory)));
    if (loaded) {
      std::map<Value*, Value*> same;
      made.push_back(kernel_->module()->clone(def, same));
      builder_.insert(made.back());
    } else {
      made = through_memory(value);
    }
    for (Use* use : readers) use->set(made.back()->result());
    return made;
  }

  std::vector<Op*> through_memory(Value* value) {
    Context& context = builder_.context();
    Type type = value->type();
    Value* zero = tile::index(builder_, 0);
    Value* memory = builder_.value(tile::info(OpKind::Alloc), {},
                                   context.contiguous_view(type->dims, type->dtype, MemorySpace::Scratch));
    memory->def()->move_before(kernel_->region()->front()->front());
    std::vector<Value*> offsets(type->rank(), zero);
    Op* store = builder_.op(tile::info(OpKind::Store), {{value}, {memory}, offsets, {}}, {});
    Op* load = tile::load(builder_, memory, offsets, {}, type)->def();
    return {memory->def(), zero->def(), store, load};
  }

  Op* kernel_;
  Builder builder_;
  std::set<Value*> written_;
};

}  // namespace

void detour_repeated(Op* kernel) { Detours(kernel).run(); }

}  // namespace tessera
