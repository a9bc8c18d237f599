#pragma once
// The edits that convert one sequence of lines to another.

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::inspect {

/// A line of text by its number and that of its place (LinePool).
struct Line {
  uint32_t text = 0;
  uint32_t place = 0;
  friend bool operator==(const Line&, const Line&) = default;
};

/// `removed` lines of the old text from `at` on are replaced by lines [begin, end) of the new one.
struct Edit {
  uint32_t at = 0;
  uint32_t removed = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// Edits in the order of their positions, which do not touch each other; none where the texts are equal. Lines that
/// both texts have once are kept in the longest sequence that both have in order (patience diff, Cohen 2003), and what
/// lies between them is compared by the longest common subsequence where it is small. Time is n log n but for that.
std::vector<Edit> diff_lines(std::span<const Line> before, std::span<const Line> after);

}  // namespace tessera::inspect
