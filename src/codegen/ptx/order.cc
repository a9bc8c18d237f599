// Chooses the order of a block's instructions.
//
// Ops of whole tiles come one after another: the first step of a polynomial for each of a thread's
// elements, then the second. So the intermediate values of all elements are live at once. That
// hides latencies while there are enough registers, and causes spills where there are not: the sine
// of 128 sums takes thousands of registers, not 128. In such blocks each value is computed right
// before its first use, in the order in which results leave the block (stores, the words of its
// successors), elements one after another. Instructions with visible effects keep their place and
// order: stores, barriers, exchanges between lanes, MMAs.

#include "codegen/ptx/order.h"

#include <algorithm>
#include <numeric>

#include "codegen/ptx/liveness.h"
#include "ir/target/ops.h"

namespace tessera::codegen::ptx {

using target::OpKind;

namespace {

using Order = std::vector<uint32_t>;

/// Which instructions wait for their first use. MMAs walk the operands in shared memory step by
/// step, all sums side by side; any order is good for that, as long as operands come in time. Loads
/// of global memory wait last: the earlier they are issued, the more of them are in flight at once.
struct Waiting {
  bool shared_loads, arithmetic, global_loads;
};
constexpr Waiting ladder[] = {
    {true, false, false}, {false, true, false}, {true, true, false}, {true, true, true}};

/// The kernel's parameter that an address lies in; null for shared memory and where that is not seen.
Value* parameter_of(Value* address) {
  while (address->def() && address->def()->is(target::info(OpKind::Offset))) address = address->def()->operand(0);
  return address->def() ? nullptr : address;
}

bool is_load(Op* op) {
  return op->is(target::info(OpKind::Load)) || op->is(target::info(OpKind::LoadMasked)) ||
         op->is(target::info(OpKind::Gather));
}

bool is_shared(Op* load) { return load->operand(0)->type()->space == MemorySpace::Shared; }

/// The parameter that a store writes; null for all other ops.
Value* stored_parameter(Op* op) {
  bool stores = op->is(target::info(OpKind::Store)) || op->is(target::info(OpKind::StoreMasked));
  return stores ? parameter_of(op->operand(1)) : nullptr;
}

class BlockOrder {
 public:
  BlockOrder(const BasicBlock& block, std::vector<uint32_t>& makers) : all_(block.instructions), makers_(makers) {}

  Order run(Waiting waits, bool writes_over) {
    waits_ = waits;
    writes_over_ = writes_over;
    placed_.assign(all_.size(), false);
    for (uint32_t i = 0; i < all_.size(); ++i) {
      for (uint32_t word : all_[i].defs) makers_[word] = i;
    }
    for (uint32_t i = 0; i < all_.size(); ++i) {
      if (may_wait(i)) continue;
      bring_before(i);
      place(i);
    }
    for (const Instruction& instruction : all_) {
      for (uint32_t word : instruction.defs) makers_[word] = UINT32_MAX;
    }
    return std::move(order_);
  }

 private:
  bool may_wait(uint32_t i) const {
    Op* op = all_[i].op;
    if (all_[i].role == Role::Branch || op->is_terminator() || op->is(target::info(OpKind::Func))) return false;
    if (is_load(op)) return is_shared(op) ? waits_.shared_loads : waits_.global_loads;
    return op->is_pure() && waits_.arithmetic;
  }

  /// Places instructions that may not wait any longer: all where the block ends or an MMA takes
  /// registers of its own, loads where memory may change.
  void bring_before(uint32_t i) {
    const Instruction& next = all_[i];
    bool ends = next.role == Role::Branch || next.op->is_terminator();
    bool all = ends || next.role == Role::Fence || next.role == Role::Mma;
    bool memory = next.op->info().effects & Writes;
    if (!all && !memory) return;
    for (; left_ < i && placed_[left_]; ++left_) {}
    if (all) return place_all(i);
    Value* stored = writes_over_ ? nullptr : stored_parameter(next.op);
    for (uint32_t k = left_; k < i; ++k) {
      if (!placed_[k] && is_load(all_[k].op) && may_change(all_[k].op, stored)) place(k);
    }
  }

  /// Whether a store to that parameter, null for one that may be anywhere, changes what the load reads.
  static bool may_change(Op* load, Value* stored) {
    if (!stored) return true;
    Value* loaded = parameter_of(load->operand(0));
    return loaded ? loaded == stored : !is_shared(load);
  }

  /// All that waits before instruction `end`: one after the other what nothing else that waits uses, each after its own
  /// operands.
  void place_all(uint32_t end) {
    std::vector<bool> used(end - left_);
    for (uint32_t k = left_; k < end; ++k) {
      if (placed_[k]) continue;
      for (uint32_t word : all_[k].uses) {
        uint32_t maker = makers_[word];
        if (maker < k && maker >= left_) used[maker - left_] = true;
      }
    }
    for (uint32_t k = left_; k < end; ++k) {
      if (!used[k - left_]) place(k);
    }
  }

  /// Appends an instruction, after those of its operands that wait.
  void place(uint32_t wanted) {
    std::vector<uint32_t> stack{wanted};
    while (!stack.empty()) {
      uint32_t at = stack.back();
      size_t depth = stack.size();
      if (!placed_[at]) {
        // The first operand comes first: what is pushed last.
        for (size_t n = all_[at].uses.size(); n-- > 0;) {
          uint32_t maker = makers_[all_[at].uses[n]];
          if (maker < at && !placed_[maker]) stack.push_back(maker);
        }
      }
      if (stack.size() > depth) continue;
      stack.pop_back();
      if (placed_[at]) continue;
      placed_[at] = true;
      order_.push_back(at);
    }
  }

  const std::vector<Instruction>& all_;
  std::vector<uint32_t>& makers_;  ///< of words: the instruction of this block, UINT32_MAX: none
  Waiting waits_{};
  bool writes_over_ = false;
  uint32_t left_ = 0;  ///< all before are placed
  std::vector<bool> placed_;
  Order order_;
};

/// Whether tensor cores multiply in the block.
bool multiplies(const BasicBlock& block) {
  return std::ranges::any_of(block.instructions, [](const Instruction& instruction) {
    return instruction.role == Role::Mma || instruction.op->is(target::info(OpKind::MmaSync));
  });
}

/// The registers of live words, where most are live.
int64_t pressure(const Code& code, const BasicBlock& block, const Order& order, BitSet live) {
  int64_t held = 0, most = 0;
  live.for_each([&](uint32_t word) { held += registers_of(code.words[word]); });
  for (size_t k = order.size(); k-- > 0;) {
    const Instruction& instruction = block.instructions[order[k]];
    auto set = [&](uint32_t word, bool lives) {
      if (live.has(word) == lives) return;
      lives ? live.add(word) : live.remove(word);
      held += (lives ? 1 : -1) * registers_of(code.words[word]);
    };
    for (uint32_t word : instruction.defs) set(word, true);
    most = std::max(most, held);
    for (uint32_t word : instruction.defs) set(word, false);
    for (uint32_t word : instruction.uses) set(word, true);
  }
  return std::max(most, held);
}

}  // namespace

int64_t order_for_registers(Code& code, int64_t registers, bool writes_over) {
  // Beside MMAs passes have already placed instructions, and the assembler mends what is too much
  // for a moment: a softmax of scores counts for up to 1.55 times the registers there are, and does
  // not spill.
  int64_t beside_mmas = registers * 8 / 5;
  Liveness liveness(code);
  std::vector<uint32_t> makers(code.words.size(), UINT32_MAX);
  int64_t most = 0;
  for (size_t b = 0; b < code.blocks.size(); ++b) {
    BasicBlock& block = code.blocks[b];
    Order best(block.instructions.size());
    std::iota(best.begin(), best.end(), 0);
    int64_t held = pressure(code, block, best, liveness.live_out(b));
    int64_t enough = multiplies(block) ? beside_mmas : registers;
    if (held <= enough) continue;
    for (Waiting waits : ladder) {
      if (held <= registers) break;
      Order order = BlockOrder(block, makers).run(waits, writes_over);
      int64_t needed = pressure(code, block, order, liveness.live_out(b));
      if (needed >= held) continue;
      held = needed;
      best = std::move(order);
    }
    most = std::max(most, held);
    std::vector<Instruction> ordered;
    for (uint32_t i : best) ordered.push_back(std::move(block.instructions[i]));
    block.instructions = std::move(ordered);
  }
  return most;
}

}  // namespace tessera::codegen::ptx
