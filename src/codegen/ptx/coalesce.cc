// Leaves SSA form by coalescing: at first there is a copy for every block argument; a copy is
// removed where the live ranges of its two words do not overlap. A live range is a sorted list of
// half-open intervals of positions: instruction k reads at 2k and writes at 2k + 1, so a word whose
// last read is where another is written does not overlap it. Classes of words are merged with their
// ranges (Chaitin's aggressive coalescing, on exact ranges); nothing is ever split. PTX has any
// number of registers, so the only aim is to have no copies, the innermost first.

#include "codegen/ptx/coalesce.h"

#include <algorithm>
#include <numeric>

#include "codegen/ptx/liveness.h"
#include "support/check.h"
#include "support/diagnostic_rows.h"

namespace tessera::codegen::ptx {

std::vector<uint32_t> words_in(const std::string& text) {
  std::vector<uint32_t> words;
  for (size_t at = text.find('#'); at != std::string::npos; at = text.find('#', at + 1)) {
    words.push_back(uint32_t(std::stoul(text.substr(at + 1))));
  }
  return words;
}

namespace {

using Range = std::vector<std::pair<uint32_t, uint32_t>>;

bool overlap(const Range& a, const Range& b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].first < b[j].second && b[j].first < a[i].second) return true;
    a[i].second <= b[j].second ? ++i : ++j;
  }
  return false;
}

/// When each word is live.
class LiveRanges {
 public:
  explicit LiveRanges(const Code& code) : code_(code), liveness_(code), ranges_(code.words.size()) {
    uint32_t position = 0;
    for (size_t b = 0; b < code.blocks.size(); ++b) position = add_ranges(b, position);
    for (Range& range : ranges_) tidy(range);
  }

  std::vector<Range> take() { return std::move(ranges_); }

 private:
  uint32_t add_ranges(size_t b, uint32_t first) {
    const std::vector<Instruction>& instructions = code_.blocks[b].instructions;
    uint32_t end = first + 2 * uint32_t(instructions.size());
    std::vector<uint32_t>& ends = ends_;
    ends.resize(code_.words.size(), 0);
    liveness_.live_out(b).for_each([&](uint32_t word) { ends[word] = end; });
    for (size_t k = instructions.size(); k-- > 0;) {
      uint32_t at = first + 2 * uint32_t(k);
      for (uint32_t def : instructions[k].defs) {
        ranges_[def].push_back({at + 1, std::max(ends[def], at + 2)});
        ends[def] = 0;
      }
      for (uint32_t use : instructions[k].uses) ends[use] = std::max(ends[use], at + 1);
    }
    liveness_.live_in(b).for_each([&](uint32_t word) {
      ranges_[word].push_back({first, ends[word]});
      ends[word] = 0;
    });
    return end;
  }

  static void tidy(Range& range) {
    std::sort(range.begin(), range.end());
    Range merged;
    for (const auto& part : range) {
      if (!merged.empty() && part.first <= merged.back().second) {
        merged.back().second = std::max(merged.back().second, part.second);
      } else {
        merged.push_back(part);
      }
    }
    range = std::move(merged);
  }

  const Code& code_;
  Liveness liveness_;
  std::vector<Range> ranges_;
  std::vector<uint32_t> ends_;
};

class Classes {
 public:
  explicit Classes(const Code& code) : parent_(code.words.size()), ranges_(LiveRanges(code).take()) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  uint32_t find(uint32_t word) {
    while (parent_[word] != word) word = parent_[word] = parent_[parent_[word]];
    return word;
  }

  /// Merges two classes unless their ranges overlap; true if they are one.
  bool merge(uint32_t a, uint32_t b) {
    a = find(a);
    b = find(b);
    if (a == b) return true;
    if (overlap(ranges_[a], ranges_[b])) return false;
    Range both;
    std::merge(ranges_[a].begin(), ranges_[a].end(), ranges_[b].begin(), ranges_[b].end(), std::back_inserter(both));
    ranges_[a] = std::move(both);
    ranges_[b].clear();
    parent_[b] = a;
    return true;
  }

 private:
  std::vector<uint32_t> parent_;
  std::vector<Range> ranges_;
};

}  // namespace

std::vector<uint32_t> coalesce(Code& code) {
  Classes classes(code);
  for (auto [a, b] : code.tied) TSR_CHECK(classes.merge(a, b), "tied words are live at once");
  // Accumulators first, then what loops repeat most.
  std::vector<std::pair<unsigned, const Instruction*>> copies;
  for (const BasicBlock& block : code.blocks) {
    for (const Instruction& i : block.instructions) {
      if (i.role == Role::Copy) copies.push_back({i.for_mma ? UINT32_MAX : block.loop_depth, &i});
    }
  }
  std::stable_sort(copies.begin(), copies.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [weight, copy] : copies) {
    for (const Move& move : copy->moves) {
      if (move.from.is_word()) classes.merge(move.to, move.from.word);
    }
  }
  for (BasicBlock& block : code.blocks) {
    for (Instruction& i : block.instructions) {
      std::erase_if(i.moves, [&](const Move& move) {
        return move.from.is_word() && classes.find(move.to) == classes.find(move.from.word);
      });
    }
    std::erase_if(block.instructions, [](const Instruction& i) { return i.role == Role::Copy && i.moves.empty(); });
  }
  std::vector<uint32_t> registers(code.words.size()), of_class(code.words.size(), UINT32_MAX);
  uint32_t next[4] = {};
  for (uint32_t word = 0; word < code.words.size(); ++word) {
    uint32_t& number = of_class[classes.find(word)];
    if (number == UINT32_MAX) number = next[size_t(code.words[word])]++;
    registers[word] = number;
  }
  return registers;
}

namespace {

/// Which accumulators may be in flight where: a forward problem over the blocks.
class MmasInFlight {
 public:
  MmasInFlight(const Code& code, const std::vector<uint32_t>& registers)
      : code_(code), registers_(registers), entry_(code.blocks.size(), BitSet(code.words.size())) {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t b = 0; b < code.blocks.size(); ++b) {
        BitSet state = entry_[b];
        for (const Instruction& i : code.blocks[b].instructions) step(i, state);
        for (uint32_t s : code.blocks[b].successors) changed = entry_[s].merge(state) || changed;
      }
    }
  }

  template <typename F>
  void for_each_bad_copy(F&& visit) {
    for (size_t b = 0; b < code_.blocks.size(); ++b) {
      BitSet state = entry_[b];
      for (const Instruction& i : code_.blocks[b].instructions) {
        if (i.role == Role::Copy && is_bad(i, state)) visit(i);
        step(i, state);
      }
    }
  }

 private:
  bool is_single(uint32_t word) const { return code_.words[word] == WordClass::Single; }

  bool is_bad(const Instruction& copy, const BitSet& state) const {
    for (const Move& move : copy.moves) {
      if (copy.for_mma) return true;
      if (is_single(move.to) && state.has(registers_[move.to])) return true;
      bool from = move.from.is_word() && is_single(move.from.word);
      if (from && state.has(registers_[move.from.word])) return true;
    }
    return false;
  }

  void step(const Instruction& i, BitSet& state) const {
    if (i.role == Role::Wait && i.drains) state = BitSet(code_.words.size());
    if (i.role != Role::Mma) return;
    for (uint32_t def : i.defs) state.add(registers_[def]);
  }

  const Code& code_;
  const std::vector<uint32_t>& registers_;
  std::vector<BitSet> entry_;
};

}  // namespace

int64_t live_registers(const Code& code) {
  Liveness liveness(code);
  int64_t most = 0;
  for (size_t b = 0; b < code.blocks.size(); ++b) {
    int64_t live = 0;
    liveness.live_in(b).for_each([&](uint32_t word) { live += registers_of(code.words[word]); });
    most = std::max(most, live);
  }
  return most;
}

Status check_accumulators(const Code& code, const std::vector<uint32_t>& registers, DiagnosticEngine& diagnostics) {
  bool any = false;
  for (const BasicBlock& block : code.blocks) {
    for (const Instruction& i : block.instructions) any = any || i.role == Role::Mma;
  }
  if (!any) return success;
  bool ok = true;
  Op* last = nullptr;
  MmasInFlight(code, registers).for_each_bad_copy([&](const Instruction& copy) {
    ok = false;
    if (copy.op == last) return;
    last = copy.op;
    diagnostics.report(diag::accumulator_copied, copy.op->loc(), "codegen/ptx", std::string(copy.op->name()),
                       copy.moves.size());
  });
  return ok ? success : Status(failure);
}

}  // namespace tessera::codegen::ptx
