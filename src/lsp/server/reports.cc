#include "lsp/server/reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/hash.h"

namespace tessera::lsp {

namespace {

/// Of all dims that the settings give no size: a report without sizes has no estimates.
constexpr std::string_view other_sizes = "*=1024";
/// A kernel with several instances is described by the first of them.
constexpr size_t most_forms = 4;

bool is_described(const Symbol& symbol) {
  return (symbol.kind == SymbolKind::Kernel || symbol.kind == SymbolKind::Entry) && symbol.file != nullptr;
}

bool has_errors(const AnalysisResult& analysis) {
  return std::any_of(analysis.diagnostics.begin(), analysis.diagnostics.end(),
                     [](const PlacedDiagnostic& diagnostic) { return diagnostic.severity == Severity::Error; });
}

std::vector<std::string> report_options(const CompilerSettings& settings) {
  std::string dims(settings.sizes.contains("*") ? "" : other_sizes);
  for (const auto& [name, size] : settings.sizes) dims += fmt::format("{}{}={}", dims.empty() ? "" : ",", name, size);
  return {"--report", "--json", "--dims", dims};
}

/// The reports of one target. A GPU's registers are known where its assembler is at hand and takes the code.
Json ask(const Compilation& compilation, bool is_gpu, const Jobs::Stop& stop, std::string& error) {
  std::optional<std::string> text;
  if (is_gpu) {
    Compilation assembled = compilation;
    assembled.command.emplace_back("--cubin");
    text = run(assembled, stop, error);
  }
  if (!text && !stop()) text = run(compilation, stop, error);
  Json report = text ? Json::parse(*text, nullptr, false) : Json();
  const Json& targets = member(report, "targets");
  return targets.is_array() && !targets.empty() ? targets[0] : Json();
}

}  // namespace

uint64_t Reports::key_of(const FileModel& file, const AnalysisResult& analysis) const {
  uint64_t key = hash_of(
      compilation_of(file, workspace_, &analysis, settings_, settings_.target, report_options(settings_)));
  for (const std::string& path : analysis.files) {
    std::error_code error;
    auto time = std::filesystem::last_write_time(path, error);
    if (!error && path != file.path()) key = hash_combine(key, uint64_t(time.time_since_epoch().count()));
  }
  return key;
}

Reports::Report& Reports::begin(const FileModel& file, const AnalysisResult& analysis, uint64_t key) {
  Report& report = known_[file.path()];
  if (report.key == key && (report.is_there || report.job != 0)) return report;
  if (report.job != 0) jobs_.stop(report.job);
  report = {};
  report.key = key;
  report.target = settings_.target.empty() ? default_target : settings_.target;
  Compilation compilation =
      compilation_of(file, workspace_, &analysis, settings_, report.target, report_options(settings_));
  bool is_gpu = report.target.starts_with("cuda:");
  auto work = [compilation, is_gpu](const Jobs::Stop& stop, std::string& error) {
    return ask(compilation, is_gpu, stop, error);
  };
  auto done = [this, compilation, key](const Json& json, const std::string&) {
    auto known = known_.find(compilation.path);
    if (known == known_.end() || known->second.key != key) return;  // the text is another one by now
    read(known->second, compilation, json);
  };
  report.job = jobs_.start(work, done);
  return report;
}

/// Of a program that does not compile nothing is known, and nothing is asked again.
void Reports::read(Report& report, const Compilation& compilation, const Json& json) {
  report.is_there = true;
  report.job = 0;
  for (const Json& kernel : member(json, "kernels")) {
    std::optional<NamedPlace> place = read_place(compilation, text_at(kernel, "source"));
    if (place) report.kernels.push_back({text_at(kernel, "name"), *place, text_at(kernel, "text")});
  }
  for (const Json& entry : member(json, "entries")) report.entries[text_at(entry, "name")] = text_at(entry, "text");
}

std::string Reports::describe(const Report& report, const Symbol& symbol) {
  std::vector<std::pair<std::string, std::string>> forms;  // names, text
  if (symbol.kind == SymbolKind::Entry) {
    auto entry = report.entries.find(symbol.name);
    if (entry != report.entries.end()) forms.emplace_back("", entry->second);
  }
  Position at = symbol.file->lines().position(symbol.file->text(), symbol.range.begin, Encoding::Utf8);
  NamedPlace place{symbol.file->path(), at.line + 1, at.character + 1};
  for (const Kernel& kernel : report.kernels) {
    if (symbol.kind != SymbolKind::Kernel || kernel.place != place) continue;
    auto same = std::find_if(forms.begin(), forms.end(), [&](const auto& form) { return form.second == kernel.text; });
    if (same != forms.end()) {
      same->first += fmt::format(", `{}`", kernel.name);
    } else if (forms.size() < most_forms) {
      forms.emplace_back(fmt::format(", `{}`", kernel.name), kernel.text);
    }
  }
  std::string out;
  for (const auto& [names, text] : forms) {
    out += fmt::format("\n\n*cost* on {}{}\n```text\n{}```", report.target, names, text);
  }
  return out;
}

std::string Reports::about(const FileModel& file, const Symbol& symbol, const AnalysisResult* analysis) {
  bool is_current = analysis && analysis->stamp == file.stamp();
  if (!is_described(symbol) || !is_current || has_errors(*analysis) || file.is_library()) return "";
  Report& report = begin(file, *analysis, key_of(file, *analysis));
  if (report.is_there) return describe(report, symbol);
  return report.job != 0 ? "\n\n*cost*: being computed" : "";
}

}  // namespace tessera::lsp
