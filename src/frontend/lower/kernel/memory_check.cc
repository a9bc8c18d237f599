// Runs a kernel's body on numbers, as one thread of one program does, and reports the accesses to
// memory to MemoryOrder.
//
// The slot of an access, the trip count of a loop and the branch taken depend on sizes, on the
// program's place in the grid and on the contents of tensors. So a body is run several times, each
// time at other sizes, in another program and with other contents. These are hashed, not random:
// every size is a number of blocks, from one to one more than there are slots (nine at most), and
// tensors hold zeros, ones, or small numbers of elements and of blocks. All elements of a tile
// count as equal. An op that is not elementwise on known tiles gives a hashed value, the same for
// the same operands. So the program can have each of these runs, and each fault found is real.
// Faults that show only at higher trip counts, or with other contents, are not found here; the
// interpreter of tiles finds them where they happen.
//
// Runs end after a number of steps, so that checking stays cheap whatever the body's constant loops count to.

#include "frontend/lower/kernel/memory_check.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "ir/graph/constants.h"
#include "ir/schedule/ops.h"
#include "support/check.h"
#include "support/hash.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;
namespace attr = schedule::attr;
namespace in = schedule::in;

namespace {

/// The contents of tensors and the places of a run.
enum class Contents : uint8_t { Zeros, Ones, Small, Signed };

constexpr Contents all_contents[] = {Contents::Zeros, Contents::Ones, Contents::Small, Contents::Signed};
constexpr int64_t most_trips = 9, most_steps = 1 << 15, most_steps_of_all = 1 << 18;

bool is_memory(Value* value) {
  return value->type()->is(TypeKind::View) && value->type()->space == MemorySpace::Shared;
}

/// The data that all runs of a body share.
struct Plan {
  DimTable* dims;
  std::span<const KernelAxis> axes;
  std::map<std::string, int64_t, std::less<>> blocks;  ///< of symbols, in elements
  int64_t block = 1;                                   ///< the largest of these
  int64_t trip_count = 2;                              ///< the most blocks that a size has
};

class Run {
 public:
  Run(const Plan& plan, int64_t trip_count, Contents contents)
      : plan_(plan), trip_count_(trip_count), contents_(contents) {}

  void run(Block* body) {
    for (const KernelAxis& axis : plan_.axes) {
      if (axis.grid && axis.index) values_[axis.index] = Element{.i = program_of(axis)};
    }
    execute(body);
    if (!stopped()) order_.finish();
  }

  const std::optional<MemoryFault>& fault() const { return order_.fault(); }
  const std::set<const Op*>& displaced() const { return order_.displaced(); }
  int64_t steps() const { return steps_; }
  bool saw_sizes() const { return saw_sizes_; }
  bool saw_contents() const { return saw_contents_; }

 private:
  bool stopped() const { return order_.is_over() || steps_ >= most_steps; }

  /// The number of blocks that a symbol stands for.
  int64_t blocks_of(std::string_view symbol) const {
    if (contents_ == Contents::Zeros || contents_ == Contents::Ones) return trip_count_;
    return 1 + int64_t(hash64(symbol, uint64_t(trip_count_)) % uint64_t(plan_.trip_count));
  }

  int64_t size(Dim dim) {
    if (auto constant = dim->constant()) return *constant;
    saw_sizes_ = true;
    auto value = evaluate(dim, [&](std::string_view symbol) -> std::optional<int64_t> {
      auto block = plan_.blocks.find(symbol);
      return blocks_of(symbol) * (block == plan_.blocks.end() ? 1 : block->second);
    });
    if (!value) steps_ = most_steps;
    return value.value_or(0);
  }

  int64_t program_of(const KernelAxis& axis) {
    int64_t count = std::max<int64_t>(1, size(plan_.dims->ceildiv(axis.extent, axis.tile)));
    if (count > 1) saw_contents_ = true;
    switch (contents_) {
      case Contents::Zeros: return 0;
      case Contents::Ones: return count - 1;
      default: return int64_t(hash64(axis.name, uint64_t(trip_count_) * 4 + uint64_t(contents_)) % uint64_t(count));
    }
  }

  /// Contents that nothing in the body says.
  Element drawn(uint64_t key, DType dtype) {
    saw_contents_ = true;
    uint64_t bits = hash_combine(key, uint64_t(trip_count_) * 4 + uint64_t(contents_)) * 0x9e3779b97f4a7c15ULL >> 32;
    bool is_wide = dtype_info(dtype).bits >= 32;
    int64_t number = int64_t(bits & 7) * (is_wide && (bits & 8) ? plan_.block : 1);
    if (contents_ == Contents::Zeros || contents_ == Contents::Ones) number = contents_ == Contents::Ones;
    if (contents_ == Contents::Signed && dtype_info(dtype).cls <= DTypeClass::Signed) number -= 4;
    if (dtype == DType::Bool) number &= 1;
    return is_float(dtype) ? Element{.f = double(number)} : Element{.i = number};
  }

  Element at(Value* value) {
    auto [known, is_new] = values_.try_emplace(value);
    if (is_new) known->second = drawn(hash_combine(values_.size(), 1), value->type()->dtype);
    return known->second;
  }

  MemoryPlace place_of(Value* memory) {
    Op* def = memory->def();
    if (!def || !def->is(info(OpKind::Slot))) return {memory};
    MemoryPlace place = place_of(def->in(in::Slot::memory));
    int64_t extent = std::max<int64_t>(1, size(def->in(in::Slot::memory)->type()->dims[0]));
    int64_t index = at(def->in(in::Slot::index)).i, slot = index % extent;
    place.slots.push_back(slot < 0 ? slot + extent : slot);
    place.indices.push_back(index);
    return place;
  }

  void execute(Block* block) {
    for (Op* op : *block) {
      ++steps_;
      if (stopped()) return;
      step(op);
    }
  }

  void step(Op* op) {
    switch (schedule::kind_of(op)) {
      case OpKind::Pipeline: return loop(op);
      case OpKind::If: return branch(op);
      case OpKind::CopyAsync: return order_.write(op, place_of(op->in(in::CopyAsync::to)), true);
      case OpKind::CopyWait: return order_.wait(op->attr(attr::CopyWait::pending));
      case OpKind::Barrier: return order_.barrier();
      case OpKind::Alloc: case OpKind::Slot: case OpKind::Kernel: case OpKind::Tile: case OpKind::Return:
      case OpKind::Yield: return;
      // What they access, their operands say.
      case OpKind::View: case OpKind::Load: case OpKind::Store: case OpKind::Gather: case OpKind::Take:
      case OpKind::Scatter: case OpKind::Full: case OpKind::Splat: case OpKind::Constant: case OpKind::Dim:
      case OpKind::Iota: case OpKind::Broadcast: case OpKind::Reshape: case OpKind::Transpose: case OpKind::Within:
      case OpKind::Reduce: case OpKind::Scan: case OpKind::Sort: case OpKind::Dot: case OpKind::Extract:
      case OpKind::Hook:
#define ELEMENTWISE(Name, ...) case OpKind::Name:
#include "ir/numbers/elementwise.def"
#undef ELEMENTWISE
        break;
    }
    for (Value* memory : op->ins(ValueClass::ReadMemory)) {
      if (is_memory(memory)) order_.read(op, place_of(memory));
    }
    for (Value* memory : op->ins(ValueClass::WrittenMemory)) {
      if (is_memory(memory)) order_.write(op, place_of(memory), false);
    }
    compute(op);
  }

  void compute(Op* op) {
    if (op->result_count() == 1) {
      values_[op->result()] = computed(op);
      return;
    }
    for (unsigned i = 0; i < op->result_count(); ++i) {
      values_[op->result(i)] = drawn(hash_combine(key_of(op), i), op->result(i)->type()->dtype);
    }
  }

  uint64_t key_of(Op* op) {
    uint64_t key = uint64_t(op->info().kind);
    for (unsigned i = 0; i < op->operand_count(); ++i) key = hash_combine(key, uint64_t(at(op->operand(i)).i));
    return key;
  }

  Element computed(Op* op) {
    DType to = op->result()->type()->dtype;
    switch (schedule::kind_of(op)) {
      case OpKind::Constant:
      case OpKind::Full: return graph::element_of(op->attr(attr::Full::value), to);
      case OpKind::Dim: return Element{.i = size(op->attr(attr::Dim::value))};
      case OpKind::Splat:
      case OpKind::Extract:
      case OpKind::Broadcast:
      case OpKind::Reshape:
      case OpKind::Transpose:
      case OpKind::Within:
      case OpKind::Sort:
      case OpKind::Hook: return at(op->operand(0));
      case OpKind::View: case OpKind::Load: case OpKind::Gather: case OpKind::Take: case OpKind::Iota:
      case OpKind::Reduce: case OpKind::Dot: return drawn(key_of(op), to);  // it depends on contents
      default: break;
    }
    ElementwiseKind kind = op->info().elementwise;
    if (kind == ElementwiseKind::None) TSR_UNREACHABLE("nothing says what it gives: " + std::string(op->name()));
    bool choose = elementwise_info(kind).cls == ElementwiseClass::Choose;
    std::vector<Element> operands;
    for (unsigned i = 0; i < op->operand_count(); ++i) operands.push_back(at(op->operand(i)));
    return evaluate_elementwise(kind, op->operand(choose ? 1 : 0)->type()->dtype, to, operands);
  }

  /// The operands of a block's terminator.
  std::vector<Element> yielded(Block* block) {
    std::vector<Element> values;
    Op* yield = block->terminator();
    for (unsigned i = 0; i < yield->operand_count(); ++i) values.push_back(at(yield->operand(i)));
    return values;
  }

  void loop(Op* pipeline) {
    int64_t first = 0, last = size(pipeline->attr(attr::Pipeline::count));
    if (pipeline->slot_size(in::Pipeline::bounds) != 0) {
      first = std::max(first, at(pipeline->in(in::Pipeline::bounds, 0)).i);
      last = std::min(last, at(pipeline->in(in::Pipeline::bounds, 1)).i);
    }
    std::vector<Element> carried;
    for (Value* init : pipeline->ins(in::Pipeline::inits)) carried.push_back(at(init));
    Block* body = pipeline->region()->front();
    for (int64_t iteration = first; iteration < last; ++iteration) {
      order_.begin_iteration();
      values_[body->arg(0)] = Element{.i = iteration};
      for (size_t i = 0; i < carried.size(); ++i) values_[body->arg(unsigned(i) + 1)] = carried[i];
      execute(body);
      if (stopped()) return;
      carried = yielded(body);
    }
    order_.begin_iteration();
    for (size_t i = 0; i < carried.size(); ++i) values_[pipeline->result(unsigned(i))] = carried[i];
  }

  void branch(Op* op) {
    Block* taken = op->region(at(op->in(in::If::condition)).i != 0 ? 0 : 1)->front();
    execute(taken);
    if (stopped()) return;
    std::vector<Element> values = yielded(taken);
    for (size_t i = 0; i < values.size(); ++i) values_[op->result(unsigned(i))] = values[i];
  }

  const Plan& plan_;
  int64_t trip_count_;
  Contents contents_;
  MemoryOrder order_;
  std::unordered_map<Value*, Element> values_;  ///< of a tile: that of each element
  int64_t steps_ = 0;
  bool saw_sizes_ = false, saw_contents_ = false;
};

/// Sizes are counted in the blocks that loops and the grid divide them into.
void note_blocks(Dim extent, int64_t block, Plan& plan) {
  for_each_symbol(extent, [&](std::string_view symbol) {
    int64_t& known = plan.blocks.try_emplace(std::string(symbol), 1).first->second;
    known = std::max(known, block);
    plan.block = std::max(plan.block, block);
  });
}

/// Nothing where the body has no such memory.
std::optional<Plan> plan_of(DimTable& dims, Block* body, std::span<const KernelAxis> axes) {
  Plan plan{&dims, axes, {}};
  bool concerned = false;
  for (const KernelAxis& axis : axes) {
    if (auto tile = axis.tile->constant()) note_blocks(axis.extent, *tile, plan);
  }
  auto look = [&](Op* op) {
    concerned |= op->is(info(OpKind::Alloc)) || op->is(info(OpKind::CopyWait)) || op->is(info(OpKind::Barrier));
    if (op->is(info(OpKind::Slot))) {
      int64_t slots = op->in(in::Slot::memory)->type()->dims[0]->constant().value_or(1);
      plan.trip_count = std::clamp(slots + 1, plan.trip_count, most_trips);
    }
    if (!op->is(info(OpKind::Pipeline))) return;
    for (const DimTerm& term : op->attr(attr::Pipeline::count)->terms) {
      for (const DimAtom* factor : term.factors) {
        bool divides = factor->kind == DimAtomKind::FloorDiv && factor->b->constant();
        if (divides) note_blocks(factor->a, *factor->b->constant(), plan);
      }
    }
  };
  for (Op* op : *body) {
    look(op);
    walk(op, look);
  }
  if (!concerned) return std::nullopt;
  return plan;
}

}  // namespace

std::optional<MemoryFault> check_memory_order(DimTable& dims, Block* body, std::span<const KernelAxis> axes,
                                              std::set<const Op*>& displaced) {
  std::optional<Plan> plan = plan_of(dims, body, axes);
  int64_t steps = 0;
  for (int64_t trip_count = 1; plan && trip_count <= plan->trip_count; ++trip_count) {
    bool sizes_matter = false;
    for (Contents contents : all_contents) {
      Run run(*plan, trip_count, contents);
      run.run(body);
      if (run.fault()) return run.fault();
      displaced.insert(run.displaced().begin(), run.displaced().end());
      sizes_matter |= run.saw_sizes();
      steps += run.steps();
      if (!run.saw_contents() && plan->blocks.size() < 2) break;
    }
    if (!sizes_matter || steps >= most_steps_of_all) break;
  }
  return std::nullopt;
}

}  // namespace tessera::frontend
