#include "tools/inspect/line_pool.h"

#include <algorithm>

#include "support/check.h"

namespace tessera::inspect {

uint32_t LinePool::text(std::string_view line) {
  auto it = by_text_.find(line);
  if (it == by_text_.end()) {
    it = by_text_.emplace(std::string(line), uint32_t(texts_.size())).first;
    texts_.push_back(it->first);
  }
  return it->second;
}

uint32_t LinePool::place(Loc loc) {
  if (!loc.known()) return 0;
  auto [it, is_new] = by_place_.try_emplace({loc.file, loc.line, loc.column}, uint32_t(places_.size() + 1));
  if (is_new) places_.push_back(loc);
  Loc& known = places_[it->second - 1];
  known.length = std::max(known.length, loc.length);
  return it->second;
}

std::vector<Line> LinePool::lines(std::string_view text, const std::vector<Op*>& ops) {
  std::vector<Line> out;
  out.reserve(ops.size());
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    TSR_CHECK(end != std::string_view::npos && out.size() < ops.size(), "a text has more lines than ops");
    const Op* op = ops[out.size()];
    out.push_back({this->text(text.substr(begin, end - begin)), op ? place(op->loc()) : 0});
    begin = end + 1;
  }
  return out;
}

}  // namespace tessera::inspect
