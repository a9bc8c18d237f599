#pragma once
// Which pieces of a file the meaning of each depends on: by the words in it, and by those in the
// pieces that declare these. Two pieces with one name are both meant, and a word that happens to be a
// name somewhere counts, too: that costs time and is never wrong.
//
// Pieces that depend on one another are one group. Groups come behind those that they depend on, so
// that one walk over them says what follows from all that each piece reaches: the cost is that of the
// words, not that of the pairs of pieces.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "lsp/model/file_model.h"

namespace tessera::lsp {

/// Who has told of some mistakes: nobody, somebody, or several.
struct Tellers {
  enum class Count : uint8_t { None, One, Several };
  Count count = Count::None;
  const void* who = nullptr;  ///< of One

  void add(const Tellers& more);
  void add(const void* teller) { add({Count::One, teller}); }
  /// Nobody else.
  bool at_most(const void* teller) const { return count == Count::None || (count == Count::One && who == teller); }
};

class Dependencies {
 public:
  explicit Dependencies(const FileModel& file);

  size_t size() const { return files_.size(); }
  /// The number of the piece whose text has that file number, or size() where no piece has it.
  size_t find(FileId file) const;
  /// Of a file number that a piece has.
  size_t piece_of(FileId file) const;
  /// Equal for equal texts of the piece and of all that it depends on, for as long as the store of pieces is the same.
  uint64_t key(size_t piece) const;
  /// Whether a function with @jit is among what it depends on, itself left out.
  bool uses_entry(size_t piece) const;
  /// From those who told of mistakes in each piece to those who told of mistakes in it and in what it depends on.
  std::vector<Tellers> reached(const std::vector<Tellers>& by_piece) const;

 private:
  struct Group {
    std::vector<size_t> pieces;
    std::vector<size_t> uses;  ///< groups before this one
    uint64_t key = 0;
    size_t entries = 0;      ///< of its pieces
    bool uses_entry = false;  ///< in a group that it uses, in any number of steps
  };
  void add_group(const std::vector<size_t>& nodes, const std::vector<std::vector<size_t>>& edges);

  std::vector<FileId> files_;
  std::unordered_map<FileId, size_t> by_file_;
  std::vector<bool> has_entry_;
  std::vector<size_t> group_of_;  ///< by piece, and then by name
  std::vector<Group> groups_;
};

}  // namespace tessera::lsp
