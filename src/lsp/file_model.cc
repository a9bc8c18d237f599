#include "lsp/file_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "lsp/cut.h"
#include "support/hash.h"

namespace tessera::lsp {

std::shared_ptr<Piece> PieceStore::parse(const std::string& path, std::string text) {
  bytes_ += text.size();
  return parse_piece(sources_, fmt::format("{}#{}", path, ++count_), std::move(text), {});
}

void PieceStore::renew() {
  sources_ = std::make_shared<SourceManager>();
  bytes_ = 0;
}

void FileModel::set_text(std::string text, PieceStore& store, const ParseOptions& options) {
  static uint64_t stamps = 0;
  stamp_ = ++stamps;
  text_ = std::move(text);
  lines_ = LineIndex(text_);
  is_whole_ = has_directives(text_);
  included_.clear();
  if (is_whole_) {
    pieces_ = {parse_piece(std::make_shared<SourceManager>(), path_, text_, options)};
    for (FileId file : pieces_[0]->files) {
      if (file != pieces_[0]->file) included_.push_back(pieces_[0]->sources->file(file).name());
    }
    return index();
  }
  std::unordered_multimap<uint64_t, std::shared_ptr<Piece>> known;
  for (std::shared_ptr<Piece>& piece : pieces_) {
    if (piece->sources == store.sources()) known.emplace(hash64(piece->text()), std::move(piece));
  }
  pieces_.clear();
  for (Range range : cut_declarations(text_)) {
    std::string_view part = std::string_view(text_).substr(range.begin, range.end - range.begin);
    auto [first, last] = known.equal_range(hash64(part));
    auto same = std::find_if(first, last, [&](const auto& entry) { return entry.second->text() == part; });
    if (same != last) {
      pieces_.push_back(std::move(same->second));
      known.erase(same);
    } else {
      pieces_.push_back(store.parse(path_, std::string(part)));
    }
    pieces_.back()->begin = range.begin;
  }
  index();
}

void FileModel::index() {
  declared_.clear();
  for (const std::shared_ptr<Piece>& piece : pieces_) {
    for (const Declared& declared : piece->names.declared) {
      declared_.try_emplace(declared.name, &declared, piece.get());
    }
  }
}

const Piece* FileModel::piece_at(uint32_t offset) const {
  auto after = std::upper_bound(pieces_.begin(), pieces_.end(), offset,
                                [](uint32_t at, const std::shared_ptr<Piece>& piece) { return at < piece->begin; });
  return after == pieces_.begin() ? nullptr : (after - 1)->get();
}

const Declared* FileModel::find(std::string_view name, const Piece** where) const {
  auto found = declared_.find(name);
  if (found == declared_.end()) return nullptr;
  if (where) *where = found->second.second;
  return found->second.first;
}

}  // namespace tessera::lsp
