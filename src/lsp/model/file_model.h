#pragma once
// A file as the features see it: its text and its pieces. A new text keeps the pieces that it still
// has, wherever they stand now, and parses the others.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/model/piece.h"
#include "lsp/protocol/positions.h"

namespace tessera::lsp {

/// Texts of pieces live as long as the source manager that they were given to. When the dead ones
/// in it outweigh the living, the next files get another one.
class PieceStore {
 public:
  PieceStore() : sources_(std::make_shared<SourceManager>()) {}

  const std::shared_ptr<SourceManager>& sources() const { return sources_; }
  /// Parses a piece of `path`.
  std::shared_ptr<Piece> parse(const std::string& path, std::string text, const ParseOptions& options,
                               std::span<const FileId> before);
  /// Begins a new source manager; pieces of the old one stay good by themselves.
  void renew();
  size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<SourceManager> sources_;
  size_t bytes_ = 0;
  size_t count_ = 0;
};

class FileModel {
 public:
  FileModel(std::string path, bool is_library) : path_(std::move(path)), is_library_(is_library) {}
  FileModel(const FileModel&) = delete;

  const std::string& path() const { return path_; }
  bool is_library() const { return is_library_; }
  const std::string& text() const { return text_; }
  const LineIndex& lines() const { return lines_; }
  const std::vector<std::shared_ptr<Piece>>& pieces() const { return pieces_; }
  /// The file is one piece: it includes others, or its errors do not stay in a piece.
  bool is_whole() const { return is_whole_; }
  bool has_directives() const { return has_directives_; }
  /// Files that its text includes, its own path left out.
  const std::vector<std::string>& included() const { return included_; }
  /// Another number for each text.
  uint64_t stamp() const { return stamp_; }

  /// Gives the file a text.
  void set_text(std::string text, PieceStore& store, const ParseOptions& options);

  /// The piece at an offset; the last one for the end of the text; null before there is a text.
  const Piece* piece_at(uint32_t offset) const;
  /// The first declaration of a name; null when there is none.
  const Declared* find(std::string_view name, const Piece** where = nullptr) const;
  /// All declarations by name, those of one name in their order.
  using DeclaredNames = std::multimap<std::string_view, std::pair<const Declared*, const Piece*>>;
  const DeclaredNames& declared() const { return declared_; }

 private:
  void cut(PieceStore& store, const ParseOptions& options);
  void index();

  std::string path_;
  bool is_library_;
  std::string text_;
  LineIndex lines_;
  std::vector<std::shared_ptr<Piece>> pieces_;
  DeclaredNames declared_;
  std::vector<std::string> included_;
  bool is_whole_ = false;
  bool has_directives_ = false;
  uint64_t stamp_ = 0;
};

}  // namespace tessera::lsp
