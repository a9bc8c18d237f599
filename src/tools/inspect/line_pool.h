#pragma once
// Texts of lines and places in sources, each kept once and known by a number.

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "ir/core/module.h"
#include "support/source.h"
#include "tools/inspect/line_diff.h"

namespace tessera::inspect {

class LinePool {
 public:
  uint32_t text(std::string_view line);
  /// 0 for an unknown one. Of places that differ in length the longest is kept.
  uint32_t place(Loc loc);
  /// The lines of a text that ends in a newline, with the place of the op of each.
  std::vector<Line> lines(std::string_view text, const std::vector<Op*>& ops);

  /// In the order of their numbers; places count from 1.
  const std::vector<std::string_view>& texts() const { return texts_; }
  const std::vector<Loc>& places() const { return places_; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> by_text_;
  std::map<std::tuple<FileId, uint32_t, uint32_t>, uint32_t> by_place_;
  std::vector<std::string_view> texts_;  ///< of the keys of by_text_, which stay where they are
  std::vector<Loc> places_;
};

}  // namespace tessera::inspect
