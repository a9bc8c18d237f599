#pragma once
// Which operations of a recording must wait for which: those that share memory that one of them writes. What does not
// wait may run at once.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace tessera::runtime::cuda {

/// Memory that an operation reads, or writes and perhaps reads.
struct MemoryUse {
  const void* at = nullptr;
  size_t bytes = 0;
  bool writes = false;
};

/// The operations in the order of their program.
class MemoryOrder {
 public:
  /// Adds an operation, whose number is how many were added before. Returns the numbers of those that it waits for, the
  /// last one first, without those that one of them waits for, directly or not.
  std::vector<size_t> add(std::span<const MemoryUse> uses);

 private:
  using Bits = std::vector<uint64_t>;

  /// Memory that was used as a whole so far: who wrote it last, and who has read it since.
  struct Piece {
    uintptr_t end = 0;
    std::optional<size_t> writer;
    std::vector<size_t> readers;
  };
  using Pieces = std::map<uintptr_t, Piece>;

  /// Makes a piece begin at an address that lies inside of one.
  void cut(uintptr_t at);
  /// The pieces of [begin, end), made where there are none.
  std::pair<Pieces::iterator, Pieces::iterator> pieces_of(uintptr_t begin, uintptr_t end);
  template <typename Do>
  void for_each_piece(std::span<const MemoryUse> uses, Do work);

  Pieces pieces_;             ///< by where they begin
  std::vector<Bits> before_;  ///< of each operation, those that have ended when it begins
};

}  // namespace tessera::runtime::cuda
