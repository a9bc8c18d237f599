#pragma once
// Source files and places in them.

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Dense number of a file in a SourceManager; 0 is "no file".
using FileId = uint32_t;

/// A place: line and column count from 1, column and length in bytes. Line 0 means unknown.
struct Loc {
  FileId file = 0;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t length = 0;
  /// Of code that was inlined, by which call: a number of Context::calls(). Calls of a function share its places, so
  /// this is no part of the place. 0: by none, or not known.
  uint32_t call = 0;

  bool known() const { return line != 0; }
  /// The points before and behind the span, for text that is put there.
  Loc before() const { return {file, line, column, 0}; }
  Loc behind() const { return {file, line, column + length, 0}; }
  friend bool operator==(const Loc& a, const Loc& b) {
    return a.file == b.file && a.line == b.line && a.column == b.column && a.length == b.length;
  }
};

/// One file: its name as the user wrote it, and its text when it is at hand.
class SourceFile {
 public:
  SourceFile(std::string name, std::string text, bool has_text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  bool has_text() const { return has_text_; }
  /// Text of a line without its newline; empty when the file has no such line.
  std::string_view line(uint32_t number) const;
  /// The offset of a line's first byte; the number counts from 1 to line_count().
  uint32_t line_start(uint32_t number) const { return line_starts_[number - 1]; }
  uint32_t line_count() const { return uint32_t(line_starts_.size()); }
  /// Where it was last included; unknown for a file that is not.
  Loc included_at() const { return included_at_; }
  /// The place of a byte offset.
  Loc locate(FileId file, uint32_t offset, uint32_t length) const;

 private:
  std::string name_;
  std::string text_;
  bool has_text_;
  std::vector<uint32_t> line_starts_;
  Loc included_at_;
  friend class SourceManager;
};

/// Owns all files of a compilation. Names are unique; files are never removed.
class SourceManager {
 public:
  SourceManager();
  /// Adds a file with its text; a file of the same name without text gets this text.
  FileId add(std::string name, std::string text);
  /// The number of a file known by name only (a location read from a dump).
  FileId intern_name(std::string_view name);
  const SourceFile& file(FileId id) const { return files_[id]; }
  FileId find(std::string_view name) const;
  void set_included(FileId id, Loc at) { files_[id].included_at_ = at; }
  /// Names below this folder are written without it in IR, so that a bundle does not depend on where the
  /// compiler was started.
  void set_root(std::string folder) { root_ = std::move(folder); }
  std::string_view ir_name(FileId id) const;

 private:
  std::deque<SourceFile> files_;
  std::map<std::string, FileId, std::less<>> by_name_;
  std::string root_;
};

}  // namespace tessera
