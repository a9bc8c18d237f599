#include "lsp/features/context.h"

#include "lsp/features/plain_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lsp/protocol/uri.h"

namespace tessera::lsp {

FileModel* file_of(Context& context, const Json& params) {
  std::string uri = text_at(member(params, "textDocument"), "uri");
  if (Document* document = context.workspace.document(uri)) return document->model;
  std::string path = context.workspace.canonical(path_of(uri));
  return uri.starts_with("file://") ? context.workspace.asked_for(path) : nullptr;
}

uint32_t offset_of(Context& context, const FileModel& file, const Json& params) {
  return file.lines().offset(file.text(), read_position(member(params, "position")), context.encoding());
}

Range range_of(Context& context, const FileModel& file, const Json& range) {
  Range made{file.lines().offset(file.text(), read_position(member(range, "start")), context.encoding()),
             file.lines().offset(file.text(), read_position(member(range, "end")), context.encoding())};
  if (made.end < made.begin) std::swap(made.begin, made.end);
  return made;
}

Json range_json(const Context& context, const FileModel& file, Range range) {
  return {{"start", to_json(file.lines().position(file.text(), range.begin, context.encoding()))},
          {"end", to_json(file.lines().position(file.text(), range.end, context.encoding()))}};
}

Json location_json(const Context& context, const FileModel& file, Range range) {
  return {{"uri", context.workspace.uri(file)}, {"range", range_json(context, file, range)}};
}

Json markup(bool markdown, const std::string& text) {
  if (!markdown) return {{"kind", "plaintext"}, {"value", plain_text(text)}};
  return {{"kind", "markdown"}, {"value", text}};
}

Range document_range(const Piece& piece, Loc loc) { return piece.in_document(piece.range(loc)); }

}  // namespace tessera::lsp
