#include "lsp/dependencies.h"

#include <algorithm>
#include <string_view>

#include "support/check.h"
#include "support/hash.h"

namespace tessera::lsp {

Dependencies::Dependencies(const FileModel& file) {
  std::unordered_map<std::string_view, std::vector<size_t>> declaring;
  const auto& pieces = file.pieces();
  for (size_t i = 0; i < pieces.size(); ++i) {
    files_.push_back(pieces[i]->file);
    by_file_[pieces[i]->file] = i;
    bool entry = false;
    for (const Declared& declared : pieces[i]->names.declared) {
      declaring[declared.name].push_back(i);
      entry = entry || declared.kind == DeclaredKind::Entry;
    }
    has_entry_.push_back(entry);
  }
  direct_.resize(pieces.size());
  all_.resize(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    for (const std::string& word : pieces[i]->words) {
      auto found = declaring.find(word);
      if (found != declaring.end()) direct_[i].insert(direct_[i].end(), found->second.begin(), found->second.end());
    }
  }
}

size_t Dependencies::piece_of(FileId file) const {
  auto found = by_file_.find(file);
  TSR_CHECK(found != by_file_.end(), "a declaration of another file");
  return found->second;
}

const std::vector<size_t>& Dependencies::of(size_t piece) {
  std::vector<size_t>& all = all_[piece];
  if (!all.empty()) return all;
  std::vector<bool> seen(files_.size());
  all.push_back(piece);
  seen[piece] = true;
  for (size_t at = 0; at < all.size(); ++at) {
    for (size_t next : direct_[all[at]]) {
      if (seen[next]) continue;
      seen[next] = true;
      all.push_back(next);
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

uint64_t Dependencies::key(size_t piece) {
  uint64_t key = files_[piece];
  for (size_t other : of(piece)) key = hash_combine(key, files_[other]);
  return key;
}

bool Dependencies::uses_entry(size_t piece) {
  for (size_t other : of(piece)) {
    if (other != piece && has_entry_[other]) return true;
  }
  return false;
}

}  // namespace tessera::lsp
