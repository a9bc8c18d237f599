#pragma once
// Which words live where a block begins and where it ends.

#include <cstddef>

#include "codegen/ptx/code.h"

namespace tessera::codegen::ptx {

class BitSet {
 public:
  explicit BitSet(size_t size) : bits_((size + 63) / 64) {}
  bool has(uint32_t i) const { return bits_[i / 64] >> (i % 64) & 1; }
  void add(uint32_t i) { bits_[i / 64] |= uint64_t(1) << (i % 64); }
  void remove(uint32_t i) { bits_[i / 64] &= ~(uint64_t(1) << (i % 64)); }
  /// Adds all of `other` but what is in `without`; true if anything was new.
  bool merge(const BitSet& other, const BitSet* without = nullptr) {
    bool changed = false;
    for (size_t i = 0; i < bits_.size(); ++i) {
      uint64_t added = other.bits_[i] & ~(without ? without->bits_[i] : 0) & ~bits_[i];
      bits_[i] |= added;
      changed = changed || added;
    }
    return changed;
  }
  template <typename F>
  void for_each(F&& visit) const {
    for (size_t i = 0; i < bits_.size(); ++i) {
      for (uint64_t rest = bits_[i]; rest; rest &= rest - 1) visit(uint32_t(i * 64 + size_t(__builtin_ctzll(rest))));
    }
  }

 private:
  std::vector<uint64_t> bits_;
};

/// The order of instructions within blocks is nothing to it.
class Liveness {
 public:
  explicit Liveness(const Code& code);
  const BitSet& live_in(size_t block) const { return live_in_[block]; }
  const BitSet& live_out(size_t block) const { return live_out_[block]; }

 private:
  std::vector<BitSet> live_in_, live_out_;
};

/// 32-bit registers that a word of that class takes. Predicates have registers of their own.
inline int64_t registers_of(WordClass cls) {
  return cls == WordClass::Double ? 2 : cls == WordClass::Predicate ? 0 : 1;
}

}  // namespace tessera::codegen::ptx
