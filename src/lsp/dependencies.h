#pragma once
// Which pieces of a file the meaning of each depends on: by the words in it, and by those in the
// pieces that declare these. Two pieces with one name are both meant, and a word that happens to be a
// name somewhere counts, too: that costs time and is never wrong.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "lsp/file_model.h"

namespace tessera::lsp {

class Dependencies {
 public:
  explicit Dependencies(const FileModel& file);

  /// The number of the piece whose text has that file number.
  size_t piece_of(FileId file) const;
  FileId file_of(size_t piece) const { return files_[piece]; }
  /// The piece and all that it depends on, by number.
  const std::vector<size_t>& of(size_t piece);
  /// Equal for equal texts of all these, for as long as the store of pieces is the same.
  uint64_t key(size_t piece);
  /// Whether a function with @jit is among what it depends on, itself left out.
  bool uses_entry(size_t piece);

 private:
  std::vector<FileId> files_;
  std::unordered_map<FileId, size_t> by_file_;
  std::vector<bool> has_entry_;
  std::vector<std::vector<size_t>> direct_;
  std::vector<std::vector<size_t>> all_;
};

}  // namespace tessera::lsp
