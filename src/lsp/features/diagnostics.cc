#include "lsp/features/diagnostics.h"
#include "lsp/protocol/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "support/diagnostic_rows.h"

namespace tessera::lsp {

namespace {

int severity_number(Severity severity) {
  switch (severity) {
    case Severity::Error: return number::Severity::error;
    case Severity::Warning: return number::Severity::warning;
    case Severity::Note: return number::Severity::information;
  }
  return number::Severity::error;
}

/// At least one character of the line, so that the mark can be seen. The range may be of an older text, which was
/// longer: another document's result is published before that one is looked at again.
Range visible(const FileModel& file, Range range) {
  const std::string& text = file.text();
  uint32_t size = uint32_t(text.size());
  range = {std::min(range.begin, size), std::min(range.end, size)};
  if (range.end > range.begin) return range;
  bool at_end = range.begin >= text.size() || text[range.begin] == '\n' || text[range.begin] == '\r';
  if (!at_end) return {range.begin, range.begin + 1};
  bool has_before = range.begin > 0 && text[range.begin - 1] != '\n';
  return has_before ? Range{range.begin - 1, range.begin} : range;
}

/// Whether a diagnostic is of text that could be left out, which editors fade.
bool is_unnecessary(DiagId id) {
  constexpr DiagId ids[] = {diag::unused_variable.id,    diag::unused_parameter.id,  diag::unused_import.id,
                              diag::unused_declaration.id, diag::overwritten_value.id, diag::repeated_clause.id,
                              diag::unreachable.id,        diag::unused_macro.id};
  return std::ranges::find(ids, id) != std::end(ids);
}

}  // namespace

Json cut_json(const Json& range) {
  return {{"range", range},
          {"severity", severity_number(Severity::Note)},
          {"source", "tessera"},
          {"message", fmt::format("no more than {} messages of a file are shown, and there are more",
                                  max_diagnostics)}};
}

Json diagnostic_json(Context& context, const FileModel& file, const PlacedDiagnostic& diagnostic) {
  std::string message = diagnostic.message;
  Json related = Json::array();
  for (const PlacedNote& note : diagnostic.notes) {
    FileModel* where = note.path.empty() ? nullptr : context.workspace.model(note.path);
    if (where && context.client.related_information) {
      Json location = location_json(context, *where, visible(*where, note.range));
      related.push_back({{"location", std::move(location)}, {"message", note.message}});
    } else {
      message += "\nnote: " + note.message;
    }
  }
  for (const std::string& help : diagnostic.helps) message += "\nhelp: " + help;
  Json made = {{"range", range_json(context, file, visible(file, diagnostic.range))},
               {"severity", severity_number(diagnostic.severity)},
               {"code", diag_tag(diagnostic.id)},
               {"source", "tessera"},
               {"message", std::move(message)}};
  if (!related.empty()) made["relatedInformation"] = std::move(related);
  if (is_unnecessary(diagnostic.id) && context.client.unnecessary_tag) made["tags"] = {number::Tag::unnecessary};
  return made;
}

}  // namespace tessera::lsp
