// SARIF 2.1.0 as OASIS describes it: one run with one result for each diagnostic, whose labels and notes are related
// locations and whose chains are a stack. Columns count UTF-16 units, the format's default for editors.

#include <nlohmann/json.hpp>

#include "support/percent.h"
#include "support/render/columns.h"
#include "support/render/distinct.h"
#include "support/render/json.h"

namespace tessera {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view schema = "https://json.schemastore.org/sarif-2.1.0.json";

/// A name as a reference relative to where the compiler was started: bytes that a URI does not take are escaped.
std::string to_uri(std::string_view name) {
  return (name.starts_with('/') ? "file://" : "") + percent_encoded(name);
}

/// Column of a byte of a line, counted from 1 in UTF-16 units.
size_t utf16_column(std::string_view line, size_t byte) {
  size_t column = 1;
  for (size_t at = 0; at < byte && at < line.size();) {
    Character c = next_character(line.substr(at));
    column += c.value > 0xffff ? 2 : 1;
    at += c.length;
  }
  return column;
}

class Writer {
 public:
  explicit Writer(const DiagnosticEngine& engine) : sources_(engine.sources()) {
    for (const Diagnostic* diagnostic : distinct(engine)) results_.push_back(result(*diagnostic));
  }
  Json take_results() { return std::move(results_); }
  Json take_rules() { return std::move(rules_); }

 private:
  Json region(Loc loc) const {
    std::string_view line = sources_.file(loc.file).line(loc.line);
    size_t end = std::min<size_t>(loc.column - 1 + loc.length, std::max<size_t>(line.size(), loc.column - 1));
    return {{"startLine", loc.line},
            {"startColumn", utf16_column(line, loc.column - 1)},
            {"endColumn", utf16_column(line, end)}};
  }

  Json location(Loc loc) const {
    Json physical = {{"artifactLocation", {{"uri", to_uri(sources_.file(loc.file).name())}}}};
    if (loc.known() && loc.column != 0) physical["region"] = region(loc);
    return {{"physicalLocation", std::move(physical)}};
  }

  Json location(Loc loc, const std::string& message) const {
    Json result = loc.file == 0 ? Json::object() : location(loc);
    result["message"] = {{"text", message}};
    return result;
  }

  /// The number of the rule in the driver's list, which has those that occur.
  size_t rule_index(DiagId id) {
    std::string tag = diag_tag(id);
    for (size_t i = 0; i < rules_.size(); ++i) {
      if (rules_[i]["id"] == tag) return i;
    }
    rules_.push_back({{"id", tag},
                      {"shortDescription", {{"text", std::string(diag_info(id).text)}}},
                      {"help", {{"text", fmt::format("tesserac --explain {}", tag)}}},
                      {"defaultConfiguration", {{"level", to_string(diag_info(id).severity)}}}});
    return rules_.size() - 1;
  }

  Json fix(const Fix& fix) const {
    Json replacements = Json::array();
    for (const Edit& edit : fix.edits) {
      replacements.push_back(
          {{"deletedRegion", region(edit.loc)}, {"insertedContent", {{"text", edit.replacement}}}});
    }
    std::string uri = to_uri(sources_.file(fix.edits[0].loc.file).name());
    Json change = {{"artifactLocation", {{"uri", uri}}}, {"replacements", std::move(replacements)}};
    return {{"description", {{"text", fix.message}}}, {"artifactChanges", Json::array({std::move(change)})}};
  }

  Json result(const Diagnostic& diagnostic) {
    size_t rule = rule_index(diagnostic.id);
    std::string text = diagnostic.message;
    for (const std::string& help : diagnostic.helps) text += "\nhelp: " + help;
    Json result = {{"ruleId", diag_tag(diagnostic.id)},
                   {"ruleIndex", rule},
                   {"level", to_string(diagnostic.severity)},
                   {"message", {{"text", std::move(text)}}}};
    result["locations"] = Json::array();
    if (diagnostic.loc.file != 0) result["locations"].push_back(location(diagnostic.loc));
    add_related(result, diagnostic);
    if (!diagnostic.fixes.empty()) result["fixes"] = Json::array();
    for (const Fix& each : diagnostic.fixes) result["fixes"].push_back(fix(each));
    return result;
  }

  void add_related(Json& result, const Diagnostic& diagnostic) const {
    Json related = Json::array(), frames = Json::array();
    for (const Label& label : diagnostic.labels) related.push_back(location(label.loc, label.message));
    for (const DiagnosticNote& note : diagnostic.notes) {
      if (note.kind == NoteKind::Note) {
        related.push_back(location(note.loc, note.message));
      } else {
        frames.push_back({{"location", location(note.loc, note.message)}});
      }
    }
    if (!related.empty()) result["relatedLocations"] = std::move(related);
    if (!frames.empty()) result["stacks"] = Json::array({{{"frames", std::move(frames)}}});
  }

  const SourceManager& sources_;
  Json results_ = Json::array();
  Json rules_ = Json::array();
};

}  // namespace

std::string to_sarif(const DiagnosticEngine& engine, std::string_view tool, std::string_view version) {
  Writer writer(engine);
  Json driver = {{"name", tool}, {"version", version}, {"rules", writer.take_rules()}};
  Json run = {{"tool", {{"driver", std::move(driver)}}},
              {"columnKind", "utf16CodeUnits"},
              {"results", writer.take_results()}};
  Json log = {{"$schema", schema}, {"version", "2.1.0"}, {"runs", Json::array({std::move(run)})}};
  return log.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tessera
