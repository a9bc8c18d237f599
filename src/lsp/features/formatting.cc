// Formatting, by the library of tessera-fmt. A text that does not parse is left alone.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "frontend/format/format.h"
#include "lsp/features/features.h"

namespace tessera::lsp {

namespace {

/// Of a longer text the declaration alone is formatted in which a line was ended: nobody waits at each line.
constexpr size_t most_typed_bytes = size_t(64) << 10;

/// A file, or a declaration of it.
struct Part {
  std::string_view text;
  uint32_t begin = 0;  ///< in the file
};

Part whole(const FileModel& file) { return {file.text(), 0}; }

/// The line of an offset as the formatter counts them: from 1, and ended by \n alone, where the protocol's also end
/// with a \r, which may be in a text or a comment.
uint32_t format_line(Part part, uint32_t offset) {
  std::string_view before = part.text.substr(0, offset - part.begin);
  return uint32_t(std::count(before.begin(), before.end(), '\n')) + 1;
}

/// The edits that format the lines of this range, which is in the part, or all; those that reach behind `end` are left
/// out.
Json edits_of(Context& context, const FileModel& file, Part part, std::optional<Range> range, uint32_t end) {
  formatter::FormatOptions options;
  options.name = file.path();
  if (range) options.lines = {format_line(part, range->begin), format_line(part, range->end)};
  formatter::FormatResult result = formatter::format(part.text, options);
  if (result.outcome != formatter::Outcome::Formatted) return nullptr;
  Json edits = Json::array();
  for (const formatter::LineEdit& edit : result.edits) {
    Range replaced{part.begin + uint32_t(edit.begin), part.begin + uint32_t(edit.end)};
    if (replaced.end > end) continue;
    edits.push_back({{"range", range_json(context, file, replaced)}, {"newText", edit.text}});
  }
  return edits;
}

}  // namespace

Json format_document(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  return file ? edits_of(context, *file, whole(*file), std::nullopt, UINT32_MAX) : Json();
}

Json format_range(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  if (!file) return nullptr;
  Range range = range_of(context, *file, member(params, "range"));
  // A range that ends at the start of a line does not mean that line.
  if (range.end > range.begin) --range.end;
  return edits_of(context, *file, whole(*file), range, UINT32_MAX);
}

/// The line that was ended; the one that is being begun stays as it is.
Json format_on_type(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  uint32_t line = read_position(member(params, "position")).line;
  if (!file || line == 0 || text_at(params, "ch") != "\n") return nullptr;
  uint32_t begun = line < file->lines().line_count() ? file->lines().line_start(line) : uint32_t(file->text().size());
  // Empty lines are the author's, who may be about to write there.
  size_t last = file->text().find_last_not_of(" \t\r", begun < 2 ? 0 : begun - 2);
  bool is_empty = begun < 2 || last == std::string::npos || file->text()[last] == '\n';
  if (is_empty) return Json::array();
  Range ended{begun == 0 ? 0 : begun - 1, begun == 0 ? 0 : begun - 1};
  if (file->text().size() <= most_typed_bytes) return edits_of(context, *file, whole(*file), ended, begun);
  // A block can be formatted by itself; a line of the file's may share columns with its neighbours.
  const Piece* piece = file->piece_at(ended.begin);
  bool is_block = piece && !file->is_whole() && piece->declarations.size() == 1 &&
                  (piece->declarations[0].stmt->kind == ast::NodeKind::Def ||
                   piece->declarations[0].stmt->kind == ast::NodeKind::Module);
  bool is_short = is_block && piece->text().size() <= most_typed_bytes;
  return is_short ? edits_of(context, *file, {piece->text(), piece->begin}, ended, begun) : Json();
}

}  // namespace tessera::lsp
