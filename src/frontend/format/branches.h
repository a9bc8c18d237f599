#pragma once
// The branches of %if in a file of which none is known to be taken.
//
// A file is read as often as it takes for each branch to be read once: in each reading one branch
// of a chain is kept, and everything else of the chain becomes white space, so that all that stays
// keeps its place.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/format/source_lines.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera::formatter {

/// So many readings of a file at most; branches beyond them are left as they are, and those nested
/// deeper than this.
inline constexpr size_t max_readings = 24;
inline constexpr size_t max_nesting = 64;

class Branches {
 public:
  /// Finds the branches of a file; a chain that is not whole is reported. `lines` stay where they
  /// are.
  static Result<Branches> find(std::vector<SourceLine>& lines, const LexedFile& lexed,
                               DiagnosticEngine& diagnostics);

  /// How often the file has to be read; at least once.
  size_t reading_count() const { return std::min(readings_of(root_), max_readings); }
  /// The text of a reading: of the length of the file, with every line where it was.
  std::string reading(std::string_view text, size_t number) const;
  /// Whether a line (of the file, from 0) is in a branch.
  bool is_inside(uint32_t file_line) { return innermost(file_line) != &root_; }
  /// Leaves the innermost branch around a line as it is; false if it is in none or left already.
  bool make_raw(uint32_t file_line);

 private:
  struct Branch;
  /// %if to %endif.
  struct Chain {
    std::vector<Branch> branches;
    bool has_else = false;
    size_t end = 0;  ///< the line of the %endif
  };
  /// The lines behind a directive, up to the next of its chain.
  struct Branch {
    size_t directive = 0, end = 0;
    std::vector<Chain> chains;
    bool is_raw = false;
  };
  class Finder;
  static size_t readings_of(const Branch& branch);
  static size_t readings_of(const Chain& chain);
  void keep(const Branch& branch, size_t number, std::vector<bool>& kept) const;
  Branch* innermost(uint32_t file_line);
  Branch* branch_around(Branch& outer, uint32_t file_line);
  void mark_raw(Branch& branch);
  void limit();
  void limit(Branch& branch, size_t first);

  std::vector<SourceLine>* lines_ = nullptr;
  Branch root_;  ///< the whole file
};

}  // namespace tessera::formatter
