#include "support/render/json.h"

#include <nlohmann/json.hpp>

#include "support/render/distinct.h"

namespace tessera {

namespace {

using Json = nlohmann::ordered_json;

/// Null for no file; a file without a place has no more than its name.
Json to_json(const SourceManager& sources, Loc loc, bool is_edit = false) {
  if (loc.file == 0) return nullptr;
  Json span = {{"file", sources.file(loc.file).name()}};
  if (!loc.known()) return span;
  span["line"] = loc.line;
  span["column"] = loc.column;
  span["length"] = loc.length;
  if (is_edit || loc.column == 0) return span;  // an edit may take the end of the line
  // A construct of several lines is named by what the first has of it.
  size_t before = std::min<size_t>(loc.column - 1, sources.file(loc.file).line(loc.line).size());
  span["length"] = std::min<size_t>(loc.length, sources.file(loc.file).line(loc.line).size() - before);
  return span;
}

std::string_view to_string(NoteKind kind) {
  switch (kind) {
    case NoteKind::Note: return "note";
    case NoteKind::Call: return "call";
    case NoteKind::Include: return "include";
    case NoteKind::Import: return "import";
  }
  return {};
}

Json to_json(const SourceManager& sources, const Fix& fix) {
  Json edits = Json::array();
  for (const Edit& edit : fix.edits) {
    edits.push_back({{"span", to_json(sources, edit.loc, true)}, {"replacement", edit.replacement}});
  }
  return {{"message", fix.message}, {"edits", std::move(edits)}};
}

Json to_json(const SourceManager& sources, const Diagnostic& diagnostic) {
  Json labels = Json::array(), notes = Json::array(), fixes = Json::array();
  for (const Label& label : diagnostic.labels) {
    labels.push_back({{"message", label.message}, {"span", to_json(sources, label.loc)}});
  }
  for (const DiagnosticNote& note : diagnostic.notes) {
    notes.push_back(
        {{"kind", to_string(note.kind)}, {"message", note.message}, {"span", to_json(sources, note.loc)}});
  }
  for (const Fix& fix : diagnostic.fixes) fixes.push_back(to_json(sources, fix));
  return {{"type", "diagnostic"},
          {"severity", to_string(diagnostic.severity)},
          {"tag", diag_tag(diagnostic.id)},
          {"message", diagnostic.message},
          {"span", to_json(sources, diagnostic.loc)},
          {"labels", std::move(labels)},
          {"notes", std::move(notes)},
          {"helps", diagnostic.helps},
          {"fixes", std::move(fixes)},
          {"rendered", render(diagnostic, sources, {})}};
}

/// Bytes of a source that are no UTF-8 become U+FFFD.
std::string to_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_json_lines(const DiagnosticEngine& engine) {
  std::string out;
  for (const Diagnostic* diagnostic : distinct(engine)) {
    out += to_line(to_json(engine.sources(), *diagnostic));
  }
  size_t errors = engine.error_count(), warnings = engine.warning_count();
  size_t shown = kept(engine, Severity::Error) + kept(engine, Severity::Warning);
  Json summary = {{"type", "summary"},
                  {"errors", errors},
                  {"warnings", warnings},
                  {"not_shown", errors + warnings - shown}};
  return out + to_line(summary);
}

}  // namespace tessera
