#include "tools/driver/explain.h"

#include <unistd.h>

#include <algorithm>

#include "support/diagnostic_rows.h"
#include "support/render/columns.h"
#include "tools/driver/io.h"
#include "tools/driver/pages.h"

namespace tessera::driver {

namespace {

/// Wider lines are hard to read.
constexpr size_t widest = 100;

/// The text without the targets of its links: "[names](names.md)" is "names".
std::string without_links(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t middle = text[at] == '[' ? text.find("](", at) : text.npos;
    size_t end = middle == text.npos ? text.npos : text.find(')', middle);
    bool is_link = end != text.npos && text.substr(at + 1, middle - at - 1).find_first_of("[]`") == text.npos;
    out += is_link ? text.substr(at + 1, middle - at - 1) : text.substr(at, 1);
    at = is_link ? end + 1 : at + 1;
  }
  return out;
}

/// Cuts a line off the front.
std::string_view take_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

/// The text of a row of the table with … for its arguments.
std::string general_text(DiagId id) {
  std::string text;
  std::string_view row = diag_info(id).text;
  for (size_t at = 0; at < row.size(); ++at) {
    bool is_argument = row[at] == '{' && at + 2 < row.size() && row[at + 2] == '}';
    text += is_argument ? "…" : std::string(1, row[at]);
    at += is_argument ? 2 : 0;
  }
  return text;
}

std::string list_of_all() {
  std::string out;
  for (DiagId id : all_diagnostics()) {
    Severity severity = diag_info(id).severity;
    std::string kind = severity == Severity::Error ? "" : fmt::format("(a {}) ", to_string(severity));
    out += fmt::format("{:<30} {}{}\n", diag_tag(id), kind, general_text(id));
  }
  return out;
}

}  // namespace

std::string format_page(std::string_view page, const RenderOptions& options) {
  size_t width = std::min(options.width, widest);
  std::string out, paragraph;
  bool is_code = false;
  auto end_paragraph = [&] {
    for (const std::string& line : wrap(without_links(paragraph), width)) {
      if (!paragraph.empty()) out += line + "\n";
    }
    paragraph.clear();
  };
  while (!page.empty()) {
    std::string_view line = take_line(page);
    if (line.starts_with("```")) {
      end_paragraph();
      is_code = !is_code;
    } else if (is_code) {
      out += line.empty() ? "\n" : fmt::format("    {}\n", line);
    } else if (line.starts_with("# ")) {
      out += fmt::format("{}{}{}\n", options.colour ? "\x1b[1m" : "", line.substr(2), options.colour ? "\x1b[0m" : "");
    } else if (line.empty()) {
      end_paragraph();
      out += "\n";
    } else {
      bool is_item = line.starts_with("- ") || line.starts_with("|");
      if (is_item) end_paragraph();
      paragraph += (paragraph.empty() ? "" : " ") + std::string(line);
    }
  }
  end_paragraph();
  return out;
}

Status explain(std::string_view tag, DiagnosticEngine& diagnostics) {
  if (tag.empty()) return write_text("-", list_of_all(), diagnostics);
  // The tag as a message prints it, brackets and all.
  if (tag.starts_with('[') && tag.ends_with(']')) tag = tag.substr(1, tag.size() - 2);
  for (const Page& page : pages()) {
    if (page.path == fmt::format("{}.md", tag)) {
      return write_text("-", format_page(page.text, render_options(STDOUT_FILENO)), diagnostics);
    }
  }
  std::vector<std::string> tags;
  for (DiagId id : all_diagnostics()) tags.push_back(diag_tag(id));
  auto builder = diagnostics.report(diag::unknown_tag, {}, tag);
  bool is_near = builder.suggest(diagnostics.sources(), {}, tag, tags);
  if (!is_near) builder.help("'tesserac --explain' lists all");
  return failure;
}

}  // namespace tessera::driver
