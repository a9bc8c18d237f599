#pragma once
// A kernel as PTX instructions over words, before words share registers.
//
// A word is what one PTX register holds: a predicate, 32 or 64 bits. Instructions are text in which "#n;" stands for
// word n. A word may be written in several places (the argument of a block: once on each edge). Copies are
// instructions of a kind of their own, so that coalescing can remove them; the words of a copy change all at once.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/core/op.h"

namespace tessera::codegen::ptx {

enum class WordClass : uint8_t { Predicate, Half, Single, Double };

/// A word, a constant, or bits that nothing fixes.
struct Operand {
  enum class Kind : uint8_t { Undefined, Word, Constant };
  Kind kind = Kind::Undefined;
  uint32_t word = 0;
  uint64_t bits = 0;

  static Operand of(uint32_t word) { return {Kind::Word, word, 0}; }
  static Operand constant(uint64_t bits) { return {Kind::Constant, 0, bits}; }
  bool is_word() const { return kind == Kind::Word; }
  bool is_constant() const { return kind == Kind::Constant; }
  friend bool operator==(const Operand&, const Operand&) = default;
};

/// The facts of an instruction that the check of accumulators needs.
enum class Role : uint8_t { Plain, Copy, Fence, Mma, Wait, Branch };

struct Move {
  uint32_t to;
  Operand from;
};

struct Instruction {
  Op* op = nullptr;  ///< the op that it implements
  Role role = Role::Plain;
  std::string text;
  std::vector<uint32_t> defs, uses;
  std::vector<Move> moves;  ///< of a Copy
  bool drains = false;      ///< a Wait after which no MMA is in flight
  bool for_mma = false;  ///< a Copy that brings an accumulator to its MMA
};

struct BasicBlock {
  std::vector<Instruction> instructions;  ///< the last is a Branch unless the kernel ends
  std::vector<uint32_t> successors;       ///< for two: where the condition holds, and where not
  unsigned loop_depth = 0;
  bool is_edge = false;  ///< made for the copies of one edge
};

struct Code {
  std::vector<WordClass> words;
  std::vector<BasicBlock> blocks;
  /// Words that must be one register; made so that they can.
  std::vector<std::pair<uint32_t, uint32_t>> tied;

  uint32_t add_word(WordClass cls) {
    words.push_back(cls);
    return uint32_t(words.size() - 1);
  }
};

/// The words that the text names, in order.
std::vector<uint32_t> words_in(const std::string& text);
inline std::string token(uint32_t word) { return "#" + std::to_string(word) + ";"; }

}  // namespace tessera::codegen::ptx
