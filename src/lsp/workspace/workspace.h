#pragma once
// The files that the server knows: open ones with the client's text, others as they are on disk,
// and those of the standard library. All code reads files here, so that unsaved text counts
// everywhere.

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/model/file_model.h"
#include "lsp/protocol/positions.h"
#include "lsp/protocol/text_edit.h"

namespace tessera::lsp {

/// A file of the client.
struct Document {
  std::string uri;
  int64_t version = 0;
  FileModel* model = nullptr;
};

struct WorkspaceOptions {
  Encoding encoding = Encoding::Utf16;
  std::vector<std::string> include_paths;
  std::map<std::string, std::string, std::less<>> defines;
};

/// Larger files on disk are not looked at, and no more of them than this.
inline constexpr size_t max_indexed_bytes = size_t(2) << 20;
inline constexpr size_t max_indexed_files = 4000;

class Workspace {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;

  WorkspaceOptions options;

  // Documents.
  Document& open(const std::string& uri, int64_t version, std::string text);
  /// False when the document is not open.
  bool change(const std::string& uri, int64_t version, const std::vector<TextEdit>& edits);
  void close(const std::string& uri);
  /// The open document of a URI, or of a URI of the same file in another spelling; null when it is
  /// not open.
  Document* document(const std::string& uri);
  /// The open document of a path; null when it is not open.
  Document* document_of(std::string_view path);
  const std::map<std::string, Document>& documents() const { return documents_; }
  /// The texts of those, by path, that are not what is on disk.
  std::map<std::string, std::string> unsaved() const;

  /// The file of a path, open, of the library or from disk; null when it cannot be read.
  FileModel* model(const std::string& path);
  /// The same, and only if it is known already.
  FileModel* known(const std::string& path) const;
  /// A file and those that it includes, whose names are its own.
  std::vector<FileModel*> with_included(FileModel& file);
  /// All files whose names are seen in it: also those that include it, with what these include.
  std::vector<FileModel*> scope_of(FileModel& file);
  /// The paths of known files that include the one of a path, until a file changes.
  const std::vector<std::string>& includers(const std::string& path);
  /// The path that files of the library have however they were named.
  std::string canonical(std::string path) const;
  /// The path of the file that `import dotted` in `from` means; empty when there is none.
  std::string resolve_import(std::string_view dotted, const std::string& from);
  /// A URI that the client can open; a file of the library is written to a cache for that.
  std::string uri(const FileModel& model) const;
  /// The callback by which the front end reads files.
  bool read(const std::string& path, std::string& text, std::string& error);
  ParseOptions parse_options();

  // Folders.
  void add_root(const std::string& uri);
  void remove_root(const std::string& uri);
  const std::vector<std::string>& roots() const { return roots_; }
  /// The file of a path that the client itself asks about: what it names may be read, and what lies beside that.
  FileModel* asked_for(const std::string& path);
  /// Folders that files are read of: the roots, those of the settings, and where documents are that the client has open
  /// or asks about.
  std::vector<std::string> readable_folders() const;
  /// All .tsr files below the roots, and the open ones.
  std::vector<FileModel*> all_files();
  // Files that may have changed on disk are read when they are needed. All of these are for between
  // messages, when nobody holds pieces of a file.
  /// Any file, also one that is included somewhere, or the settings that files are read with.
  void forget_disk();
  /// The file, which may also have come or gone.
  void changed_on_disk(const std::string& path);
  /// Any file that is imported: clients that do not watch files report none.
  void look_again();
  /// A number that changes with every change of any known file.
  uint64_t generation() const { return generation_; }
  const PieceStore& store() const { return store_; }
  /// Gives all files new pieces where texts that nobody needs any more hold too much memory; true when it did. Only
  /// between messages: whoever reads a file holds on to its pieces, and reading another one must not end them.
  bool renew_if_due();

 private:
  struct OnDisk {
    std::filesystem::file_time_type time;
    uintmax_t size = 0;
    bool checked = false;  ///< since somebody said that it may have changed
  };
  FileModel& make(const std::string& path, bool is_library);
  void set_text(FileModel& model, std::string text);
  FileModel* from_disk(const std::string& path);
  /// Files whose text the given one is part of are parsed again.
  void reparse_includers(const std::string& path);

  PieceStore store_;
  std::map<std::string, Document> documents_;  ///< by URI, as it was opened
  std::map<std::string, std::unique_ptr<FileModel>, std::less<>> models_;
  std::map<std::string, OnDisk> disk_;
  std::vector<std::string> roots_;
  std::set<std::string> asked_folders_;
  std::vector<std::string> found_;  ///< paths below the roots
  bool scanned_ = false;
  std::map<std::string, std::vector<std::string>> includers_;  ///< by path, as of includers_generation_
  uint64_t includers_generation_ = 0;
  uint64_t generation_ = 0;
};

}  // namespace tessera::lsp
