#include "tools/inspect/line_diff.h"

#include <algorithm>
#include <unordered_map>

namespace tessera::inspect {

namespace {

struct HashLine {
  size_t operator()(const Line& line) const { return (size_t(line.text) << 32) ^ line.place; }
};

/// Positions in both texts.
struct Match {
  uint32_t before;
  uint32_t after;
};

/// A part of both texts that is still to be compared.
struct Part {
  uint32_t begin_before, end_before, begin_after, end_after;
  bool empty() const { return begin_before == end_before && begin_after == end_after; }
};

/// Larger tables than this are not filled: the part counts as replaced.
constexpr uint64_t most_cells = 1 << 20;

class Differ {
 public:
  Differ(std::span<const Line> before, std::span<const Line> after) : before_(before), after_(after) {}

  std::vector<Edit> run() {
    parts_ = {{0, uint32_t(before_.size()), 0, uint32_t(after_.size())}};
    while (!parts_.empty()) {  // the last part is the first in the texts
      Part part = parts_.back();
      parts_.pop_back();
      trim(part);
      if (part.empty()) continue;
      if (part.begin_before == part.end_before || part.begin_after == part.end_after || !split(part)) replace(part);
    }
    return std::move(edits_);
  }

 private:
  void trim(Part& part) const {
    while (part.begin_before < part.end_before && part.begin_after < part.end_after &&
           before_[part.begin_before] == after_[part.begin_after]) {
      ++part.begin_before;
      ++part.begin_after;
    }
    while (part.begin_before < part.end_before && part.begin_after < part.end_after &&
           before_[part.end_before - 1] == after_[part.end_after - 1]) {
      --part.end_before;
      --part.end_after;
    }
  }

  /// Leaves the parts between lines that match; false where none do.
  bool split(const Part& part) {
    std::vector<Match> matches = increasing(lines_once(part));
    if (matches.empty()) matches = common_subsequence(part);
    if (matches.empty()) return false;
    uint32_t end_before = part.end_before, end_after = part.end_after;
    for (auto match = matches.rbegin(); match != matches.rend(); ++match) {
      parts_.push_back({match->before + 1, end_before, match->after + 1, end_after});
      end_before = match->before;
      end_after = match->after;
    }
    parts_.push_back({part.begin_before, end_before, part.begin_after, end_after});
    return true;
  }

  /// Lines that each side of the part has exactly once, in the order of the old text.
  std::vector<Match> lines_once(const Part& part) const {
    struct Seen {
      uint32_t in_before = 0, in_after = 0, at = 0;
    };
    std::unordered_map<Line, Seen, HashLine> seen;
    for (uint32_t i = part.begin_before; i < part.end_before; ++i) ++seen[before_[i]].in_before;
    for (uint32_t i = part.begin_after; i < part.end_after; ++i) {
      auto it = seen.find(after_[i]);
      if (it == seen.end()) continue;
      ++it->second.in_after;
      it->second.at = i;
    }
    std::vector<Match> matches;
    for (uint32_t i = part.begin_before; i < part.end_before; ++i) {
      const Seen& line = seen.at(before_[i]);
      if (line.in_before == 1 && line.in_after == 1) matches.push_back({i, line.at});
    }
    return matches;
  }

  /// The longest sequence of matches whose positions rise in both texts.
  static std::vector<Match> increasing(const std::vector<Match>& matches) {
    std::vector<size_t> ends;  // of the best sequence of each length
    std::vector<size_t> previous(matches.size());
    for (size_t i = 0; i < matches.size(); ++i) {
      auto at = std::lower_bound(ends.begin(), ends.end(), matches[i].after,
                                 [&](size_t end, uint32_t after) { return matches[end].after < after; });
      previous[i] = at == ends.begin() ? matches.size() : *(at - 1);
      if (at == ends.end()) {
        ends.push_back(i);
      } else {
        *at = i;
      }
    }
    std::vector<Match> longest(ends.size());
    size_t i = ends.empty() ? 0 : ends.back();
    for (size_t n = ends.size(); n-- > 0; i = previous[i]) longest[n] = matches[i];
    return longest;
  }

  std::vector<Match> common_subsequence(const Part& part) const {
    uint64_t rows = part.end_before - part.begin_before, columns = part.end_after - part.begin_after;
    if ((rows + 1) * (columns + 1) > most_cells) return {};
    std::vector<uint16_t> lengths((rows + 1) * (columns + 1));
    auto length = [&](uint64_t r, uint64_t c) -> uint16_t& { return lengths[r * (columns + 1) + c]; };
    auto equal = [&](uint64_t r, uint64_t c) {
      return before_[part.begin_before + r] == after_[part.begin_after + c];
    };
    for (uint64_t r = rows; r-- > 0;) {
      for (uint64_t c = columns; c-- > 0;) {
        length(r, c) = equal(r, c) ? uint16_t(length(r + 1, c + 1) + 1) : std::max(length(r + 1, c), length(r, c + 1));
      }
    }
    std::vector<Match> matches;
    for (uint64_t r = 0, c = 0; r < rows && c < columns;) {
      if (equal(r, c)) {
        matches.push_back({uint32_t(part.begin_before + r++), uint32_t(part.begin_after + c++)});
      } else if (length(r + 1, c) >= length(r, c + 1)) {
        ++r;
      } else {
        ++c;
      }
    }
    return matches;
  }

  void replace(const Part& part) {
    edits_.push_back({part.begin_before, part.end_before - part.begin_before, part.begin_after, part.end_after});
  }

  std::span<const Line> before_;
  std::span<const Line> after_;
  std::vector<Part> parts_;
  std::vector<Edit> edits_;
};

}  // namespace

std::vector<Edit> diff_lines(std::span<const Line> before, std::span<const Line> after) {
  return Differ(before, after).run();
}

}  // namespace tessera::inspect
