#include "support/source.h"

#include <algorithm>

namespace tessera {

SourceFile::SourceFile(std::string name, std::string text, bool has_text)
    : name_(std::move(name)), text_(std::move(text)), has_text_(has_text) {
  line_starts_.push_back(0);
  for (uint32_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
}

std::string_view SourceFile::line(uint32_t number) const {
  if (number == 0 || number > line_starts_.size()) return {};
  uint32_t begin = line_starts_[number - 1];
  size_t end = number < line_starts_.size() ? line_starts_[number] - 1 : text_.size();
  std::string_view line = std::string_view(text_).substr(begin, end - begin);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

Loc SourceFile::locate(FileId file, uint32_t offset, uint32_t length) const {
  auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  uint32_t line = uint32_t(after - line_starts_.begin());
  return Loc{file, line, offset - line_starts_[line - 1] + 1, length};
}

SourceManager::SourceManager() { files_.emplace_back("", "", false); }

FileId SourceManager::add(std::string name, std::string text) {
  if (FileId known = find(name)) {
    if (!files_[known].has_text()) files_[known] = SourceFile(std::move(name), std::move(text), true);
    return known;
  }
  FileId id = FileId(files_.size());
  by_name_.emplace(name, id);
  files_.emplace_back(std::move(name), std::move(text), true);
  return id;
}

FileId SourceManager::intern_name(std::string_view name) {
  if (name.empty()) return 0;
  if (FileId known = find(name)) return known;
  FileId id = FileId(files_.size());
  by_name_.emplace(std::string(name), id);
  files_.emplace_back(std::string(name), "", false);
  return id;
}

FileId SourceManager::find(std::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? 0 : it->second;
}

std::string_view SourceManager::ir_name(FileId id) const {
  std::string_view name = files_[id].name();
  bool below = !root_.empty() && name.size() > root_.size() + 1 && name.starts_with(root_) &&
               name[root_.size()] == '/';
  if (below) name.remove_prefix(root_.size() + 1);
  return name;
}

}  // namespace tessera
