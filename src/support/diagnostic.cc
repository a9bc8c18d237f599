#include "support/diagnostic.h"
#include "support/diagnostic_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

namespace tessera {

namespace {

constexpr DiagInfo diag_table[] = {
#define DIAG(name, severity, text) {#name, Severity::severity, text},
#include "support/diagnostics.def"
#undef DIAG
};

}  // namespace

const DiagInfo& diag_info(DiagId id) { return diag_table[size_t(id)]; }

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::Error: return "error";
    case Severity::Warning: return "warning";
    case Severity::Note: return "note";
  }
  return {};
}

std::optional<DiagId> find_diagnostic(std::string_view tag) {
  for (DiagId id : all_diagnostics()) {
    if (diag_tag(id) == tag) return id;
  }
  return std::nullopt;
}

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

DiagnosticEngine::Builder DiagnosticEngine::drop(Diagnostic diagnostic) {
  dropped_ = std::move(diagnostic);
  return Builder(&dropped_);
}

namespace {

/// Why a file is read at a place: a directive, or an import.
NoteKind chain_kind(const SourceManager& sources, Loc at) {
  std::string_view line = sources.file(at.file).line(at.line);
  size_t first = line.find_first_not_of(" \t");
  return first != line.npos && line[first] == '%' ? NoteKind::Include : NoteKind::Import;
}

}  // namespace

/// The chain of includes and imports by which the compiler reached the file.
void DiagnosticEngine::add_includes(Diagnostic& diagnostic) const {
  constexpr size_t most_links = 8;
  FileId file = diagnostic.loc.file;
  for (size_t i = 0; i < most_links && sources_->file(file).included_at().known(); ++i) {
    Loc at = sources_->file(file).included_at();
    NoteKind kind = chain_kind(*sources_, at);
    std::string_view how = kind == NoteKind::Include ? "included" : "imported";
    diagnostic.notes.push_back({at, fmt::format("'{}' is {} here", sources_->file(file).name(), how), kind});
    file = at.file;
  }
}

DiagnosticEngine::Builder DiagnosticEngine::add(DiagId id, Loc loc, std::string message) {
  Diagnostic diagnostic{id, diag_info(id).severity, loc, std::move(message), {}, {}, {}, {}};
  auto level = levels_.find(id);
  if (diagnostic.severity != Severity::Error && level != levels_.end()) {
    if (level->second == WarningLevel::Off) return drop(std::move(diagnostic));
    if (level->second == WarningLevel::Error) {
      diagnostic.notes.push_back({{}, fmt::format("-Werror makes this {} an error", to_string(diagnostic.severity))});
      diagnostic.severity = Severity::Error;
    }
  }
  if (diagnostic.severity != Severity::Note) {
    size_t& count = diagnostic.severity == Severity::Error ? errors_ : warnings_;
    if (++count > limit_ && limit_ != 0) return drop(std::move(diagnostic));
  }
  add_includes(diagnostic);
  diagnostics_.push_back(std::move(diagnostic));
  return Builder(&diagnostics_.back());
}

bool DiagnosticEngine::Builder::suggest(const SourceManager& sources, Loc loc, std::string_view name,
                                        const std::vector<std::string>& candidates) {
  std::string nearest = nearest_name(name, candidates);
  if (nearest.empty()) return false;
  std::string message = fmt::format("did you mean '{}'?", nearest);
  std::string_view line = sources.file(loc.file).line(loc.line);
  std::string_view text = loc.column == 0 || loc.column > line.size() ? "" : line.substr(loc.column - 1, loc.length);
  size_t at = text.find(name);
  if (name.empty() || at == text.npos || text.find(name, at + 1) != text.npos) {
    help(std::move(message));
  } else {
    fix(std::move(message), {loc.file, loc.line, uint32_t(loc.column + at), uint32_t(name.size())}, std::move(nearest));
  }
  return true;
}

namespace {

/// Leaves out what is said twice of one place.
template <typename T>
void leave_out_repeated(std::vector<T>& said) {
  std::vector<T> kept;
  for (T& each : said) {
    auto same = [&](const T& other) { return other.loc == each.loc && other.message == each.message; };
    if (std::none_of(kept.begin(), kept.end(), same)) kept.push_back(std::move(each));
  }
  said = std::move(kept);
}

/// Where there is a chain of calls it shows the path to another file, and imports add nothing.
void tidy(Diagnostic& diagnostic) {
  leave_out_repeated(diagnostic.labels);
  auto is_kind = [](NoteKind kind) { return [kind](const DiagnosticNote& note) { return note.kind == kind; }; };
  bool has_calls = std::any_of(diagnostic.notes.begin(), diagnostic.notes.end(), is_kind(NoteKind::Call));
  if (has_calls) std::erase_if(diagnostic.notes, is_kind(NoteKind::Import));
  // A cycle of imports is a chain already.
  if (diagnostic.id == DiagId::import_cycle) leave_out_repeated(diagnostic.notes);
}

}  // namespace

void DiagnosticEngine::sort_from(size_t first) {
  std::for_each(diagnostics_.begin() + ptrdiff_t(first), diagnostics_.end(), tidy);
  auto place = [](const Diagnostic& diagnostic) {
    return std::tuple(diagnostic.loc.file, diagnostic.loc.line, diagnostic.loc.column);
  };
  std::stable_sort(diagnostics_.begin() + ptrdiff_t(first), diagnostics_.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return place(a) < place(b); });
}

namespace {

/// A name in small letters without underscores.
std::string plain_letters(std::string_view name) {
  std::string plain;
  for (char c : name) {
    if (c != '_') plain += c >= 'A' && c <= 'Z' ? char(c + 'a' - 'A') : c;
  }
  return plain;
}

/// Whether two names are the same but for letters that are written twice.
bool equal_but_doubled(std::string_view a, std::string_view b) {
  auto once = [](std::string text) {
    text.erase(std::unique(text.begin(), text.end()), text.end());
    return text;
  };
  return once(std::string(a)) == once(std::string(b));
}

/// The letters that a name has, of 64 kinds.
uint64_t letters_of(std::string_view name) {
  uint64_t letters = 0;
  for (char c : name) letters |= uint64_t(1) << (uint8_t(c) % 64);
  return letters;
}

bool have_same_letters(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::is_permutation(a.begin(), a.end(), b.begin());
}

}  // namespace

std::string counted(size_t count, std::string_view one, std::string_view many) {
  if (count == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, many);
}

std::string counted_verb(size_t count, std::string_view one) {
  std::string_view verb = count == 1 ? "is" : "are";
  return one.empty() ? fmt::format("{} {}", count, verb) : fmt::format("{} {}", counted(count, one), verb);
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr size_t longest = 256;  // the work is quadratic
  if (name.size() > longest) return {};
  size_t best = name.size() / 3 + 1;
  uint64_t ours = letters_of(name);
  std::string plain = plain_letters(name), found;
  auto equal = [&](const std::string& candidate) { return !plain.empty() && plain == plain_letters(candidate); };
  auto as_long = std::ranges::find_if(candidates, [&](const std::string& candidate) {
    return candidate.size() == name.size() && equal(candidate);
  });
  if (as_long != candidates.end()) return *as_long;
  if (auto other = std::ranges::find_if(candidates, equal); other != candidates.end()) return *other;
  for (const std::string& candidate : candidates) {
    size_t apart = std::max(candidate.size(), name.size()) - std::min(candidate.size(), name.size());
    if (apart > best || (apart == best && found.empty())) continue;
    // Each letter that only one of them has is an edit.
    uint64_t theirs = letters_of(candidate);
    if (size_t(std::max(std::popcount(ours & ~theirs), std::popcount(theirs & ~ours))) > best) continue;
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
    // Of two as near, the one that goes on from the name: its end was forgotten; the one that has a letter once which
    // the name has twice; or the one that has the name's letters in another order.
    bool is_as_near = row.back() == best && !found.empty();
    bool goes_on = candidate.starts_with(name) && !found.starts_with(name);
    bool doubles = is_as_near && equal_but_doubled(candidate, name) && !equal_but_doubled(found, name);
    bool reorders = is_as_near && have_same_letters(candidate, name) && !have_same_letters(found, name);
    if (row.back() < best || (is_as_near && (goes_on || doubles || reorders))) {
      best = row.back();
      found = candidate;
    }
  }
  return found;
}

}  // namespace tessera
