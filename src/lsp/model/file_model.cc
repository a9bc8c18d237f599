#include "lsp/model/file_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "frontend/syntax/lexer.h"
#include "lsp/model/cut.h"
#include "support/file_kind.h"
#include "support/hash.h"

namespace tessera::lsp {

namespace {

/// Whether a name stands in a text, as a whole word.
bool has_word(std::string_view text, std::string_view word) {
  auto is_part = [&](size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
  };
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if (!(at > 0 && is_part(at - 1)) && !is_part(at + word.size())) return true;
  }
  return false;
}

bool uses_macro(std::string_view text, const Piece& piece) {
  return std::any_of(piece.macros.begin(), piece.macros.end(),
                     [&](const std::string& macro) { return has_word(text, macro); });
}

/// Of pieces with macros those that a text, or one of these, uses.
std::vector<FileId> used_by(std::string_view text, const std::vector<const Piece*>& defining) {
  std::vector<std::string_view> texts = {text};
  std::vector<bool> used(defining.size());
  for (size_t at = 0; at < texts.size(); ++at) {
    for (size_t i = 0; i < defining.size(); ++i) {
      if (used[i] || !uses_macro(texts[at], *defining[i])) continue;
      used[i] = true;
      texts.push_back(defining[i]->text());
    }
  }
  std::vector<FileId> files;
  for (size_t i = 0; i < defining.size(); ++i) {
    if (used[i]) files.push_back(defining[i]->file);
  }
  return files;
}

size_t count_errors(const std::vector<Diagnostic>& diagnostics) {
  return size_t(std::count_if(diagnostics.begin(), diagnostics.end(),
                              [](const Diagnostic& said) { return said.severity == Severity::Error; }));
}

/// With more errors than these, those of the pieces are taken: users look at the first ones.
constexpr size_t most_compared = 100;

/// Syntax errors in a text that is not cut.
size_t count_errors(const std::string& path, const std::string& text, const ParseOptions& options) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  diagnostics.set_error_limit(2 * most_compared);
  parse_source(sources.add(path, text), sources, options, diagnostics);
  return count_errors(diagnostics.all());
}

/// The environment of a piece, which its meaning depends on beside its text.
uint64_t environment_of(std::string_view text, const ParseOptions& options, const std::vector<FileId>& before) {
  uint64_t environment = 0;
  for (FileId file : before) environment = hash_combine(environment, file);
  if (!has_directives(text)) return environment;
  for (const auto& [name, value] : options.defines) {
    environment = hash_combine(hash_combine(environment, hash64(name)), hash64(value));
  }
  return environment;
}

}  // namespace

std::shared_ptr<Piece> PieceStore::parse(const std::string& path, std::string text, const ParseOptions& options,
                                         std::span<const FileId> before) {
  bytes_ += text.size();
  return parse_piece(sources_, fmt::format("{}#{}", path, ++count_), std::move(text), options, before);
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
  bool is_refused = text_.size() > max_file_bytes || !foreign_kind(text_).empty();
  is_whole_ = has_includes(text_) || is_refused;
  has_directives_ = is_whole_ || lsp::has_directives(text_);
  included_.clear();
  if (!is_whole_) {
    cut(store, options);
    size_t errors = 0;
    for (const std::shared_ptr<Piece>& piece : pieces_) errors += count_errors(piece->diagnostics);
    // Where the compiler reports fewer errors, or more, these are the whole file's.
    bool may_differ = errors > 0 && errors <= most_compared && pieces_.size() > 1;
    is_whole_ = may_differ && errors != count_errors(path_, text_, options);
  }
  if (is_whole_) {
    pieces_ = {parse_piece(std::make_shared<SourceManager>(), path_, text_, options)};
    for (FileId file : pieces_[0]->files) {
      if (file != pieces_[0]->file) included_.push_back(pieces_[0]->sources->file(file).name());
    }
  }
  index();
}

void FileModel::cut(PieceStore& store, const ParseOptions& options) {
  std::unordered_multimap<uint64_t, std::shared_ptr<Piece>> known;
  for (std::shared_ptr<Piece>& piece : pieces_) {
    if (piece->sources == store.sources()) known.emplace(hash64(piece->text()), std::move(piece));
  }
  pieces_.clear();
  std::vector<const Piece*> defining;  // pieces with macros
  std::vector<Range> ranges = cut_declarations(text_);
  if (ranges.empty()) ranges.push_back({0, 0});  // for what may be typed there
  for (Range range : ranges) {
    std::string_view part = std::string_view(text_).substr(range.begin, range.end - range.begin);
    std::vector<FileId> before = used_by(part, defining);
    uint64_t environment = environment_of(part, options, before);
    auto [first, last] = known.equal_range(hash64(part));
    auto same = std::find_if(first, last, [&](const auto& entry) {
      return entry.second->text() == part && entry.second->environment == environment;
    });
    if (same != last) {
      pieces_.push_back(std::move(same->second));
      known.erase(same);
    } else {
      pieces_.push_back(store.parse(path_, std::string(part), options, before));
      pieces_.back()->environment = environment;
    }
    pieces_.back()->begin = range.begin;
    if (!pieces_.back()->macros.empty()) defining.push_back(pieces_.back().get());
  }
}

void FileModel::index() {
  declared_.clear();
  for (const std::shared_ptr<Piece>& piece : pieces_) {
    for (const Declared& declared : piece->names.declared) {
      declared_.emplace(declared.name, std::pair(&declared, piece.get()));
    }
  }
}

const Piece* FileModel::piece_at(uint32_t offset) const {
  auto after = std::upper_bound(pieces_.begin(), pieces_.end(), offset,
                                [](uint32_t at, const std::shared_ptr<Piece>& piece) { return at < piece->begin; });
  return after == pieces_.begin() ? nullptr : (after - 1)->get();
}

const Declared* FileModel::find(std::string_view name, const Piece** where) const {
  auto found = declared_.lower_bound(name);
  if (found == declared_.end() || found->first != name) return nullptr;
  if (where) *where = found->second.second;
  return found->second.first;
}

}  // namespace tessera::lsp
