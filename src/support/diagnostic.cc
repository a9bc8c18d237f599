#include "support/diagnostic.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

namespace tessera {

namespace {

constexpr DiagInfo diag_table[] = {
#define DIAG(name, severity, text) {#name, Severity::severity, text},
#include "support/diagnostics.def"
#undef DIAG
};

struct Colours {
  std::string_view error, warning, note, help, bold, off;
};
constexpr Colours no_colours{};
constexpr Colours ansi_colours{"\x1b[1;31m", "\x1b[1;35m", "\x1b[1;36m",
                               "\x1b[1;32m", "\x1b[1m",    "\x1b[0m"};

std::string place(const SourceManager& sources, Loc loc) {
  std::string text = escape_control(sources.file(loc.file).name());
  if (loc.known()) text += fmt::format(":{}:{}", loc.line, loc.column);
  return text;
}

/// The source line and a caret line under it. Tabs become one space so that carets stay aligned.
void append_snippet(std::string& out, const SourceManager& sources, Loc loc) {
  std::string_view line = sources.file(loc.file).line(loc.line);
  if (line.empty() || loc.column == 0 || loc.column > line.size() + 1) return;
  constexpr size_t widest = 160;
  size_t begin = 0;
  if (loc.column > widest / 2) begin = loc.column - widest / 2;
  std::string_view shown = line.substr(begin, widest);
  auto clean = [](std::string_view text) {
    std::string copy(text);
    std::replace(copy.begin(), copy.end(), '\t', ' ');
    return escape_control(copy);
  };
  size_t before = loc.column - 1 - begin;
  size_t room = shown.size() - std::min(before, shown.size());
  size_t carets = std::max<size_t>(1, std::min<size_t>(loc.length, room));
  std::string head = clean(shown.substr(0, before));
  size_t indent = std::count_if(head.begin(), head.end(),
                                [](unsigned char c) { return (c & 0xC0) != 0x80; });
  out += fmt::format("{:>5} | {}\n      | {}{}\n", loc.line, clean(shown), std::string(indent, ' '),
                     std::string(carets, '^'));
}

}  // namespace

const DiagInfo& diag_info(DiagId id) { return diag_table[size_t(id)]; }

std::vector<DiagId> all_diagnostics() {
  std::vector<DiagId> ids;
  for (size_t i = 0; i < std::size(diag_table); ++i) ids.push_back(DiagId(i));
  return ids;
}

std::string diag_tag(DiagId id) {
  std::string tag(diag_info(id).name);
  std::replace(tag.begin(), tag.end(), '_', '-');
  return tag;
}

DiagnosticEngine::Builder DiagnosticEngine::add(DiagId id, Loc loc, std::string message) {
  Diagnostic diagnostic{id, diag_info(id).severity, loc, std::move(message), {}, {}};
  if (diagnostic.severity == Severity::Error) ++errors_;
  if (error_limit_ != 0 && diagnostics_.size() >= error_limit_) {
    dropped_ = std::move(diagnostic);
    return Builder(&dropped_);
  }
  diagnostics_.push_back(std::move(diagnostic));
  return Builder(&diagnostics_.back());
}

void DiagnosticEngine::sort_from(size_t first) {
  auto place = [](const Diagnostic& diagnostic) {
    return std::tuple(diagnostic.loc.file, diagnostic.loc.line, diagnostic.loc.column);
  };
  std::stable_sort(diagnostics_.begin() + ptrdiff_t(first), diagnostics_.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return place(a) < place(b); });
}

std::string render(const Diagnostic& diagnostic, const SourceManager& sources,
                   const RenderOptions& options) {
  const Colours& c = options.colour ? ansi_colours : no_colours;
  std::string out;
  if (diagnostic.loc.file != 0) out += place(sources, diagnostic.loc) + ": ";
  bool is_error = diagnostic.severity == Severity::Error;
  out += fmt::format("{}{}:{} {}{}{} [{}]\n", is_error ? c.error : c.warning,
                     is_error ? "error" : "warning", c.off, c.bold,
                     escape_control(diagnostic.message), c.off, diag_tag(diagnostic.id));
  append_snippet(out, sources, diagnostic.loc);
  for (const DiagnosticNote& note : diagnostic.notes) {
    if (note.loc.file != 0) out += place(sources, note.loc) + ": ";
    out += fmt::format("{}note:{} {}\n", c.note, c.off, escape_control(note.message));
    append_snippet(out, sources, note.loc);
  }
  for (const std::string& help : diagnostic.helps) {
    out += fmt::format("{}help:{} {}\n", c.help, c.off, escape_control(help));
  }
  return out;
}

std::string render_all(const DiagnosticEngine& engine, const RenderOptions& options) {
  std::string out;
  size_t errors = 0;
  std::set<std::string> said;
  for (const Diagnostic& diagnostic : engine.all()) {
    if (diagnostic.severity == Severity::Error) ++errors;
    std::string text = render(diagnostic, engine.sources(), options);
    if (said.insert(text).second) out += text;
  }
  if (engine.error_count() > errors) {
    out += fmt::format("{} more errors not shown\n", engine.error_count() - errors);
  }
  return out;
}

std::string escape_control(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (unsigned char c : text) {
    if (c < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", c);
    } else {
      out += char(c);
    }
  }
  return out;
}

namespace {

bool equal_but_case(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 'a' - 'A') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr size_t longest = 256;  // the work is quadratic
  if (name.size() > longest) return {};
  size_t best = name.size() / 3 + 1;
  std::string found;
  for (const std::string& candidate : candidates) {
    if (equal_but_case(name, candidate)) return candidate;
    size_t apart = std::max(candidate.size(), name.size()) - std::min(candidate.size(), name.size());
    if (apart > best || (apart == best && found.empty())) continue;
    // Rows i, i - 1 and i - 2 of the table of distances between prefixes.
    std::vector<size_t> row(candidate.size() + 1), above, second;
    for (size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= name.size(); ++i) {
      second = std::move(above);
      above = row;
      row[0] = i;
      for (size_t j = 1; j < row.size(); ++j) {
        size_t substitute = above[j - 1] + (name[i - 1] != candidate[j - 1]);
        row[j] = std::min({above[j] + 1, row[j - 1] + 1, substitute});
        bool swapped = i > 1 && j > 1 && name[i - 1] == candidate[j - 2] &&
                       name[i - 2] == candidate[j - 1];
        if (swapped) row[j] = std::min(row[j], second[j - 2] + 1);
      }
    }
    // Of two as near, the one that goes on from the name: its end was forgotten.
    bool goes_on = row.back() == best && !found.empty() && candidate.starts_with(name) && !found.starts_with(name);
    if (row.back() < best || goes_on) {
      best = row.back();
      found = candidate;
    }
  }
  return found;
}

}  // namespace tessera
