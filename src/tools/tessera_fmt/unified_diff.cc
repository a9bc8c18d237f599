#include "tools/tessera_fmt/unified_diff.h"

#include <algorithm>

namespace tessera::tools {

namespace {

constexpr uint32_t context = 3;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

class Hunk {
 public:
  Hunk(const std::vector<std::string_view>& before, uint32_t first)
      : before_(before), first_(first), at_(first) {}

  void keep_until(uint32_t line) {
    for (; at_ < line && at_ < before_.size(); ++at_, ++removed_, ++added_) put(' ', before_[at_]);
  }
  void edit(const formatter::LineEdit& edit) {
    keep_until(edit.first);
    uint32_t end = std::min(edit.first + edit.count, uint32_t(before_.size()));
    for (; at_ < end; ++at_, ++removed_) put('-', before_[at_]);
    for (std::string_view line : lines_of(edit.text)) {
      put('+', line);
      ++added_;
    }
  }
  uint32_t at() const { return at_; }
  int64_t growth() const { return int64_t(added_) - int64_t(removed_); }
  /// `shift` is by how much the text has grown before.
  std::string text(int64_t shift) const {
    int64_t begin = int64_t(first_) + (removed_ > 0 ? 1 : 0);
    int64_t after = int64_t(first_) + shift + (added_ > 0 ? 1 : 0);
    return fmt::format("@@ -{},{} +{},{} @@\n{}", begin, removed_, after, added_, out_);
  }

 private:
  void put(char mark, std::string_view line) {
    bool ended = line.ends_with('\n');
    if (ended) line.remove_suffix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    out_ += mark;
    out_ += escape_control(line);
    out_ += ended ? "\n" : "\n\\ No newline at end of file\n";
  }

  const std::vector<std::string_view>& before_;
  uint32_t first_, at_;
  uint32_t removed_ = 0, added_ = 0;
  std::string out_;
};

}  // namespace

std::string unified_diff(std::string_view name, std::string_view before,
                         const std::vector<formatter::LineEdit>& edits) {
  if (edits.empty()) return {};
  std::string shown = escape_control(name);
  std::string out = fmt::format("--- {}\n+++ {}\n", shown, shown);
  std::vector<std::string_view> lines = lines_of(before);
  int64_t shift = 0;
  for (size_t i = 0; i < edits.size();) {
    Hunk hunk(lines, edits[i].first - std::min(edits[i].first, context));
    do {
      hunk.edit(edits[i++]);
    } while (i < edits.size() && edits[i].first <= hunk.at() + 2 * context);
    hunk.keep_until(hunk.at() + context);
    out += hunk.text(shift);
    shift += hunk.growth();
  }
  return out;
}

}  // namespace tessera::tools
