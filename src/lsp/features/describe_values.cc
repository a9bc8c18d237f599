#include "lsp/features/describe_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace tessera::lsp {

namespace {

std::string listed(const std::vector<frontend::ValueFacts>& values) {
  constexpr size_t most = 3;
  std::string text;
  for (const frontend::ValueFacts& value : std::span(values).first(std::min(values.size(), most))) {
    text += fmt::format("{}`{}`", text.empty() ? "" : ", ", value.text);
    bool rounds_later = !value.computed.empty() && value.computed != value.dtype;
    if (rounds_later) text += fmt::format(" (computed in {})", value.computed);
    if (!value.device.empty()) text += fmt::format(" on {}", value.device);
  }
  return values.size() > most ? text + ", …" : text;
}

/// The facts that the name alone does not show.
bool is_value(frontend::ValueKind kind) {
  return kind != frontend::ValueKind::Function && kind != frontend::ValueKind::Module &&
         kind != frontend::ValueKind::Namespace && kind != frontend::ValueKind::Other;
}

/// The sizes and guards of the entries, each once.
std::string left_to_calls(const std::vector<const EntryShapes*>& entries, api::FindingKind kind) {
  constexpr size_t most = 12;
  std::vector<std::string> subjects;
  for (const EntryShapes* entry : entries) {
    for (const api::ShapeFinding& finding : entry->report.findings) {
      bool is_new = std::find(subjects.begin(), subjects.end(), finding.subject) == subjects.end();
      if (finding.kind == kind && is_new) subjects.push_back(finding.subject);
    }
  }
  std::string text;
  for (size_t i = 0; i < std::min(subjects.size(), most); ++i) {
    text += fmt::format("{}`{}`", i == 0 ? "" : ", ", subjects[i]);
  }
  return subjects.size() > most ? fmt::format("{} and {} more", text, subjects.size() - most) : text;
}

}  // namespace

std::string describe_values(Context& context, FileModel& file, const NamePlace& place,
                            const std::optional<Symbol>& symbol) {
  const AnalysisResult* result = context.analysis(file);
  if (!result) return "";
  std::string text;
  auto values = values_at(*result, *place.piece, place.occurrence->range.begin);
  if (!values.empty() && is_value(values[0].kind)) text += "\n\nhere: " + listed(values);
  if (!symbol || !symbol->declared || !symbol->file) return text;
  uint32_t begin = symbol->range.begin - symbol->piece->begin;
  auto function = function_at(*result, *symbol->file, *symbol->piece, begin);
  // Of an imported one that nothing here calls its own file may know.
  const AnalysisResult* other = function || symbol->file == &file ? nullptr : context.analysis(*symbol->file);
  if (other) {
    result = other;
    function = function_at(*result, *symbol->file, *symbol->piece, begin);
  }
  if (!function) return text;
  if (!function->results.empty()) text += "\n\ngives: " + listed(function->results);
  std::string effects = fmt::format("{}", fmt::join(function->effects, ", "));
  text += fmt::format("\n\neffects: {}", effects.empty() ? "none" : effects);
  std::vector<const EntryShapes*> entries = entries_at(*result, *symbol->piece, begin);
  std::string brought = left_to_calls(entries, api::FindingKind::OpenDim);
  std::string checked = left_to_calls(entries, api::FindingKind::Guard);
  if (!brought.empty()) text += "\n\ncalls bring: " + brought;
  if (!checked.empty()) text += "\n\ncalls check: " + checked;
  return text;
}

std::string describe_values(Context& context, const Symbol& local) {
  const AnalysisResult* result = context.analysis(*local.file);
  if (!result || !local.piece) return "";
  auto values = values_at(*result, *local.piece, local.range.begin - local.piece->begin);
  bool is_known = !values.empty() && is_value(values[0].kind);
  return is_known ? "\n\nhere: " + listed(values) : "";
}

}  // namespace tessera::lsp
