// Formatting, by the library of tessera-fmt. A text that does not parse is left alone.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "frontend/format/format.h"
#include "lsp/features/features.h"

namespace tessera::lsp {

namespace {

/// The edits that format these lines (counted from 1), or all; those that reach line `end` (from 0)
/// are left out.
Json edits_of(Context& context, const FileModel& file, std::optional<formatter::LineRange> lines, uint32_t end) {
  formatter::FormatOptions options;
  options.name = file.path();
  options.lines = lines;
  formatter::FormatResult result = formatter::format(file.text(), options);
  if (result.outcome != formatter::Outcome::Formatted) return nullptr;
  Json edits = Json::array();
  for (const formatter::LineEdit& edit : result.edits) {
    if (edit.first + edit.count > end) continue;
    auto offset = [&](uint32_t line) {
      return line < file.lines().line_count() ? file.lines().line_start(line) : uint32_t(file.text().size());
    };
    Range range{offset(edit.first), offset(edit.first + edit.count)};
    edits.push_back({{"range", range_json(context, file, range)}, {"newText", edit.text}});
  }
  return edits;
}

}  // namespace

Json format_document(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  return file ? edits_of(context, *file, std::nullopt, UINT32_MAX) : Json();
}

Json format_range(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  if (!file) return nullptr;
  Range range = range_of(context, *file, member(params, "range"));
  // A range that ends at the start of a line does not mean that line.
  uint32_t last = range.end > range.begin ? range.end - 1 : range.end;
  formatter::LineRange lines{file->lines().line_of(range.begin) + 1, file->lines().line_of(last) + 1};
  return edits_of(context, *file, lines, UINT32_MAX);
}

/// The line that was ended; the one that is being begun stays as it is.
Json format_on_type(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  uint32_t line = read_position(member(params, "position")).line;
  if (!file || line == 0 || text_at(params, "ch") != "\n") return nullptr;
  return edits_of(context, *file, formatter::LineRange{line, line}, line);
}

}  // namespace tessera::lsp
