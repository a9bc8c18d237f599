#pragma once
// Linear algebra over F2 on vectors of up to 32 bits.

#include <bit>
#include <cstdint>
#include <vector>

namespace tessera::layout {

/// The span of vectors given one by one, with the combinations of them that reach its members.
class F2Span {
 public:
  /// Adds vector number `count()`. Returns false if it lies in the span of those before it; the
  /// combination that gives 0 is then kept in dependencies().
  bool add(uint32_t vector) {
    uint32_t combination = uint32_t(1) << count_++;
    reduce(vector, combination);
    if (vector == 0) {
      dependencies_.push_back(combination);
      return false;
    }
    rows_.push_back({vector, combination});
    return true;
  }

  int count() const { return count_; }
  int rank() const { return int(rows_.size()); }
  /// Which vectors add up to `vector`, of those that were independent when added; `vector` must lie
  /// in the span.
  uint32_t solve(uint32_t vector) const {
    uint32_t combination = 0;
    reduce(vector, combination);
    return combination;
  }
  bool contains(uint32_t vector) const {
    uint32_t combination = 0;
    reduce(vector, combination);
    return vector == 0;
  }
  /// Combinations that give 0, one for each dependent vector, whose number is its highest bit.
  const std::vector<uint32_t>& dependencies() const { return dependencies_; }
  /// The numbers of dependent vectors, as a mask.
  uint32_t dependent() const {
    uint32_t mask = 0;
    for (uint32_t combination : dependencies_) mask |= std::bit_floor(combination);
    return mask;
  }

 private:
  struct Row {
    uint32_t vector;
    uint32_t combination;
  };

  // Each row's highest bit is missing in the rows added after it, so one sweep in order reduces.
  void reduce(uint32_t& vector, uint32_t& combination) const {
    for (const Row& row : rows_) {
      if (vector & std::bit_floor(row.vector)) {
        vector ^= row.vector;
        combination ^= row.combination;
      }
    }
  }

  int count_ = 0;
  std::vector<Row> rows_;
  std::vector<uint32_t> dependencies_;
};

}  // namespace tessera::layout
