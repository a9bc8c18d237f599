#include "tools/shapes/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/diagnostic.h"
#include "support/render/columns.h"

namespace tessera::shapes {

namespace {

using frontend::PlaceFacts;
using frontend::SemanticIndex;
using frontend::ValueFacts;
using frontend::ValueKind;

/// Whether it is shown: its text is not in the source, or has more to it.
bool is_news(const PlaceFacts& place, std::string_view line) {
  return std::any_of(place.values.begin(), place.values.end(), [&](const ValueFacts& value) {
    switch (value.kind) {
      case ValueKind::Function:
      case ValueKind::Namespace:
      case ValueKind::Module:
        return false;
      case ValueKind::Number:
      case ValueKind::DType:
      case ValueKind::Size:
      case ValueKind::Schedule:
        return line.find(value.text) == line.npos;
      default:
        return true;
    }
  });
}

/// Whether an expression stands behind the `return` of its line.
bool is_returned(const PlaceFacts& place, std::string_view line) {
  size_t at = place.loc.column - 1;
  std::string_view before = line.substr(0, std::min(at, line.size()));
  size_t last = before.find_last_not_of(" \t(");
  constexpr std::string_view word = "return";
  if (last == before.npos || !before.substr(0, last + 1).ends_with(word)) return false;
  // Where there is an error only parts are known, which are not returned.
  std::string_view behind = line.substr(std::min(at + place.loc.length, line.size()));
  size_t next = behind.find_first_not_of(" \t)");
  return next == behind.npos || behind[next] == '#' || behind[next] == ';';
}

std::string_view line_of(const SourceManager& sources, const PlaceFacts& place) {
  return sources.file(place.loc.file).line(place.loc.line);
}

}  // namespace

std::vector<LineValue> values_of(const SemanticIndex& index, const SourceManager& sources,
                                 FileId file) {
  std::vector<LineValue> values;
  for (const PlaceFacts& place : index.bindings) {
    if (place.loc.file != file || place.name == "self" || !is_news(place, line_of(sources, place))) continue;
    values.push_back({place.name, &place});
  }
  uint32_t returned = 0;
  for (const PlaceFacts& place : index.expressions) {
    // The first on its line is the whole one: what contains others comes first.
    bool first = place.loc.file == file && place.loc.line != returned;
    if (!first || !is_returned(place, line_of(sources, place))) continue;
    returned = place.loc.line;
    values.push_back({"return", &place});
  }
  std::stable_sort(values.begin(), values.end(), [](const LineValue& a, const LineValue& b) {
    Loc x = a.facts->loc, y = b.facts->loc;
    return std::tie(x.line, x.column) < std::tie(y.line, y.column);
  });
  return values;
}

namespace {

/// A line of a terminal has room for source and values side by side from this width on.
constexpr size_t least_source = 24;

/// Tabs are as wide as the layout takes them for; nothing steers the terminal.
std::string printable(std::string_view line) {
  std::string text;
  for (char c : line) text += c == '\t' ? std::string(4, ' ') : std::string(1, c);
  return escape_control(text);
}

/// The rows of one value: a row for each of what it was in several calls.
std::vector<std::string> rows_of(const LineValue& value) {
  std::vector<std::string> rows;
  bool is_return = value.label == "return";
  for (const ValueFacts& facts : value.facts->values) {
    std::string device = facts.device.empty() ? "" : fmt::format(" on {}", facts.device);
    std::string lead = rows.empty() ? value.label : std::string(columns_of(value.label) - 1, ' ');
    std::string_view mark = rows.empty() ? (is_return ? " " : ": ") : (is_return ? "| " : " | ");
    rows.push_back(escape_control(fmt::format("{}{}{}{}", lead, mark, facts.text, device)));
  }
  if (value.facts->more) rows.push_back(std::string(columns_of(value.label), ' ') + "…");
  return rows;
}

/// Rows beside one line: what fits side by side stands so, two blanks apart.
std::vector<std::string> packed(const std::vector<LineValue>& values, size_t width) {
  std::vector<std::string> rows;
  bool open = false;
  for (const LineValue& value : values) {
    std::vector<std::string> own = rows_of(value);
    bool fits = open && own.size() == 1 && columns_of(rows.back()) + 2 + columns_of(own[0]) <= width;
    if (fits) {
      rows.back() += "  " + own[0];
    } else {
      rows.insert(rows.end(), own.begin(), own.end());
    }
    open = own.size() == 1;
  }
  return rows;
}

class Table {
 public:
  Table(const SourceFile& file, size_t width) : file_(file) {
    gutter_ = std::max<size_t>(4, std::to_string(file.line_count()).size());
    size_t longest = 0;
    for (uint32_t line = 1; line <= file.line_count(); ++line) {
      longest = std::max(longest, columns_of(printable(file.line(line))));
    }
    // A part of three fifths is the source's where it needs that much.
    size_t room = width > gutter_ + 3 ? width - gutter_ - 3 : 0;
    source_ = std::min(longest, std::max(least_source, room * 3 / 5));
    values_ = room > source_ + 2 ? room - source_ - 2 : least_source;
  }

  void add(uint32_t number, const std::vector<LineValue>& values) {
    std::string line = printable(file_.line(number));
    std::vector<std::string> rows = packed(values, values_);
    size_t used = columns_of(line);
    text_ += fmt::format("{:>{}} | {}", number, gutter_, line);
    size_t next = 0;
    if (!rows.empty() && used <= source_) {
      text_ += fmt::format("{}  {}", std::string(source_ - used, ' '), rows[next++]);
    }
    text_ += '\n';
    for (; next < rows.size(); ++next) {
      text_ += fmt::format("{} | {}  {}\n", std::string(gutter_, ' '), std::string(source_, ' '),
                           rows[next]);
    }
  }
  std::string take() { return std::move(text_); }

 private:
  const SourceFile& file_;
  size_t gutter_ = 0;
  size_t source_ = 0;
  size_t values_ = 0;
  std::string text_;
};

void add_extent(nlohmann::ordered_json& json, const SourceManager& sources, Loc loc) {
  frontend::Extent extent = frontend::extent_of(sources, loc);
  json["line"] = extent.line;
  json["column"] = extent.column;
  json["end_line"] = extent.end_line;
  json["end_column"] = extent.end_column;
}

std::string_view to_string(api::FindingSeverity severity) {
  switch (severity) {
    case api::FindingSeverity::Note: return "note";
    case api::FindingSeverity::Warning: return "warning";
    case api::FindingSeverity::Error: return "error";
  }
  TSR_UNREACHABLE("there are three severities");
}

/// A line below the entry's name.
std::string line_of(const api::ShapeFinding& finding) {
  switch (finding.kind) {
    case api::FindingKind::OpenDim: return fmt::format("  size     {} of {}\n", finding.subject, finding.source);
    case api::FindingKind::Guard: return fmt::format("  check    {}\n", finding.subject);
    default: return fmt::format("  {:7}  {}\n", to_string(finding.severity), finding.message);
  }
}

std::string entries_text(const api::ShapeReport& report) {
  std::string text;
  for (const std::string& entry : report.entries) {
    std::string lines;
    for (const api::ShapeFinding& finding : report.findings) {
      if (finding.entry == entry) lines += line_of(finding);
    }
    text += fmt::format("\n{} {}at run time\n{}", entry, lines.empty() ? "checks nothing " : "", lines);
  }
  return text;
}

nlohmann::ordered_json to_json(const SourceManager& sources, const api::ShapeFinding& finding) {
  nlohmann::ordered_json json;
  json["entry"] = finding.entry;
  json["kind"] = api::to_string(finding.kind);
  json["severity"] = to_string(finding.severity);
  json["subject"] = finding.subject;
  json["message"] = finding.message;
  add_extent(json, sources, finding.loc);
  return json;
}

nlohmann::ordered_json to_json(const ValueFacts& facts) {
  nlohmann::ordered_json json;
  json["kind"] = frontend::to_string(facts.kind);
  json["type"] = facts.text;
  bool shaped = facts.kind == ValueKind::Tensor || facts.kind == ValueKind::Tile;
  if (shaped) json["shape"] = facts.shape;
  if (!facts.dtype.empty()) json["dtype"] = facts.dtype;
  if (!facts.computed.empty()) json["computed"] = facts.computed;
  if (!facts.policies.empty()) json["policies"] = facts.policies.substr(1);
  if (!facts.device.empty()) json["device"] = facts.device;
  return json;
}

}  // namespace

std::string shapes_text(const SemanticIndex& index, const api::ShapeReport& report, const SourceManager& sources,
                        FileId file, size_t width) {
  const SourceFile& source = sources.file(file);
  std::vector<LineValue> values = values_of(index, sources, file);
  Table table(source, width);
  auto next = values.begin();
  // A newline ends the last line and begins none.
  uint32_t count = source.line_count();
  if (count > 0 && source.line(count).empty()) --count;
  for (uint32_t line = 1; line <= count; ++line) {
    auto end = std::find_if(next, values.end(),
                            [&](const LineValue& value) { return value.facts->loc.line != line; });
    table.add(line, {next, end});
    next = end;
  }
  return table.take() + entries_text(report);
}

std::string shapes_json(const SemanticIndex& index, const api::ShapeReport& report, const SourceManager& sources,
                        FileId file) {
  nlohmann::ordered_json json;
  json["version"] = 1;
  json["file"] = sources.file(file).name();
  json["values"] = nlohmann::ordered_json::array();
  for (const LineValue& value : values_of(index, sources, file)) {
    nlohmann::ordered_json entry;
    entry["name"] = value.label;
    add_extent(entry, sources, value.facts->loc);
    for (const ValueFacts& facts : value.facts->values) entry["values"].push_back(to_json(facts));
    entry["more"] = value.facts->more;
    json["values"].push_back(std::move(entry));
  }
  json["entries"] = report.entries;
  json["findings"] = nlohmann::ordered_json::array();
  for (const api::ShapeFinding& finding : report.findings) json["findings"].push_back(to_json(sources, finding));
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace tessera::shapes
