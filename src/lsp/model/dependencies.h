#pragma once
// Computes which pieces of a file the meaning of each piece depends on: by the words in it, and by
// those in the pieces that declare these. If two pieces declare one name, both count. A word that
// happens to be a name somewhere counts, too: that costs time and is never wrong.
//
// Pieces that depend on one another form one group. Groups come after those that they depend on, so
// that one walk over them finds everything that each piece reaches. The cost is that of the words,
// not that of the pairs of pieces.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "lsp/model/file_model.h"

namespace tessera::lsp {

/// Which declarations reported errors in a piece: none, one, or several.
struct Reporters {
  enum class Count : uint8_t { None, One, Several };
  Count count = Count::None;
  const void* who = nullptr;  ///< of One

  void add(const Reporters& more);
  void add(const void* reporter) { add({Count::One, reporter}); }
  /// None but this one.
  bool at_most(const void* reporter) const { return count == Count::None || (count == Count::One && who == reporter); }
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
  /// From the reporters of errors in each piece to those in it and in the pieces it depends on.
  std::vector<Reporters> reached(const std::vector<Reporters>& by_piece) const;

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
