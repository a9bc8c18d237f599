// Diagnostics for people: the message on one line that editors can read, then the lines of the
// source that it and its labels refer to, then notes, chains and helps. The source after a fix is
// shown below its help.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "support/diagnostic.h"
#include "support/render/distinct.h"
#include "support/render/snippet.h"

namespace tessera {

namespace {

std::string place(const SourceManager& sources, Loc loc) {
  std::string text = escape_control(sources.file(loc.file).name());
  if (loc.known()) text += fmt::format(":{}:{}", loc.line, loc.column);
  return text;
}

/// Lines of one file with marks in them, as they are shown together.
class Snippet {
 public:
  Snippet(const SourceManager& sources, const RenderOptions& options, std::string_view primary)
      : sources_(sources), options_(options), primary_(primary) {}

  /// False when there is no such line to show.
  bool add(Loc loc, MarkKind kind, std::string text) {
    std::string_view line = sources_.file(loc.file).line(loc.line);
    if (line.empty() || loc.column == 0 || loc.column > line.size() + 1) return false;
    lines_[loc.line].push_back({loc.column, loc.length, kind, std::move(text)});
    file_ = loc.file;
    return true;
  }
  bool empty() const { return lines_.empty(); }

  void append(std::string& out) const {
    uint32_t before = 0;
    for (const auto& [number, marks] : lines_) {
      if (before != 0 && number == before + 2) {
        append_line(out, before + 1, sources_.file(file_).line(before + 1), {}, options_);
      } else if (before != 0 && number > before + 1) {
        append_gap(out, options_);
      }
      append_line(out, number, sources_.file(file_).line(number), marks, options_, primary_);
      before = number;
    }
  }

 private:
  const SourceManager& sources_;
  const RenderOptions& options_;
  std::string_view primary_;
  FileId file_ = 0;
  std::map<uint32_t, std::vector<Mark>> lines_;
};

/// A line of the source as edits leave it, which can have become several.
class EditedLine {
 public:
  EditedLine(std::string_view line, const std::vector<const Edit*>& edits) {
    size_t at = 0;
    for (const Edit* edit : edits) {
      size_t begin = std::clamp<size_t>(edit->loc.column - 1, at, line.size());
      text_ += line.substr(at, begin - at);
      insert(edit->replacement, edit->loc.length == 0 ? MarkKind::Inserted : MarkKind::Replaced);
      at = std::min(line.size(), begin + edit->loc.length);
      joins_next_ = joins_next_ || edit->loc.column - 1 + edit->loc.length > line.size();
    }
    text_ += line.substr(at);
    finish_line();
    // A whole line that was taken out, or put in, leaves an empty rest.
    if (joins_next_ && lines_.back().text.empty()) lines_.pop_back();
  }

  void append(std::string& out, uint32_t number, const RenderOptions& options) const {
    for (const Line& line : lines_) append_line(out, number++, line.text, line.marks, options);
  }

 private:
  struct Line {
    std::string text;
    std::vector<Mark> marks;
  };
  void insert(std::string_view replacement, MarkKind kind) {
    while (!replacement.empty()) {
      std::string_view part = replacement.substr(0, replacement.find('\n'));
      size_t blanks = std::min(part.find_first_not_of(' '), part.size());
      Mark mark{uint32_t(text_.size() + blanks + 1), uint32_t(part.size() - blanks), kind, ""};
      if (mark.length != 0) marks_.push_back(mark);
      text_ += part;
      if (part.size() == replacement.size()) return;
      finish_line();
      replacement.remove_prefix(part.size() + 1);
    }
  }
  void finish_line() { lines_.push_back({std::exchange(text_, {}), std::exchange(marks_, {})}); }

  std::vector<Line> lines_;
  std::string text_;
  std::vector<Mark> marks_;
  bool joins_next_ = false;
};

class Renderer {
 public:
  Renderer(const Diagnostic& diagnostic, const SourceManager& sources, const RenderOptions& options)
      : diagnostic_(diagnostic), sources_(sources), options_(options), colours_(palette(options)) {
    primary_ = diagnostic.severity == Severity::Error     ? colours_.error
               : diagnostic.severity == Severity::Warning ? colours_.warning
                                                          : colours_.note;
  }

  std::string render() {
    append_message();
    append_snippets();
    append_notes([](NoteKind kind) { return kind == NoteKind::Note; });
    append_notes([](NoteKind kind) { return kind != NoteKind::Note; });
    for (const std::string& help : diagnostic_.helps) append_help(help);
    for (const Fix& fix : diagnostic_.fixes) append_fix(fix);
    return std::move(out_);
  }

 private:
  void append_message() {
    if (diagnostic_.loc.file != 0) out_ += place(sources_, diagnostic_.loc) + ": ";
    out_ += fmt::format("{}{}:{} {}{}{} [{}]\n", primary_, to_string(diagnostic_.severity), colours_.off,
                        colours_.bold, escape_control(diagnostic_.message), colours_.off, diag_tag(diagnostic_.id));
  }

  /// The line of the error with the labels in its file, then the other files of labels.
  void append_snippets() {
    const Loc& loc = diagnostic_.loc;
    Snippet main(sources_, options_, primary_);
    std::map<FileId, Snippet> others;
    bool is_labelled = false;
    for (const Label& label : diagnostic_.labels) {
      bool is_primary = label.loc == loc && !is_labelled;
      is_labelled = is_labelled || is_primary;
      auto other = [&] { return others.try_emplace(label.loc.file, sources_, options_, primary_).first; };
      Snippet& snippet = label.loc.file == loc.file ? main : other()->second;
      MarkKind kind = is_primary ? MarkKind::Primary : MarkKind::Secondary;
      if (!snippet.add(label.loc, kind, label.message)) hidden_.push_back(&label);
    }
    if (!is_labelled) main.add(loc, MarkKind::Primary, "");
    main.append(out_);
    for (const Label& label : diagnostic_.labels) {
      auto other = others.find(label.loc.file);
      if (other == others.end() || other->second.empty()) continue;
      out_ += fmt::format("{}  :::{} {}\n", colours_.gutter, colours_.off, place(sources_, label.loc));
      other->second.append(out_);
      others.erase(other);
    }
    for (const Label* label : hidden_) append_note(label->loc, label->message);
  }

  template <typename F>
  void append_notes(F&& is_wanted) {
    for (const DiagnosticNote& note : diagnostic_.notes) {
      if (is_wanted(note.kind)) append_note(note.loc, note.message);
    }
  }

  void append_note(Loc loc, const std::string& message) {
    if (loc.file != 0) out_ += place(sources_, loc) + ": ";
    out_ += fmt::format("{}note:{} {}\n", colours_.note, colours_.off, escape_control(message));
    Snippet snippet(sources_, options_, colours_.note);
    snippet.add(loc, MarkKind::Primary, "");
    snippet.append(out_);
  }

  void append_help(const std::string& message) {
    out_ += fmt::format("{}help:{} {}\n", colours_.help, colours_.off, escape_control(message));
  }

  void append_fix(const Fix& fix) {
    append_help(fix.message);
    std::map<uint32_t, std::vector<const Edit*>> lines;
    for (const Edit& edit : fix.edits) lines[edit.loc.line].push_back(&edit);
    uint32_t before = 0;
    for (auto& [number, edits] : lines) {
      const SourceFile& file = sources_.file(edits[0]->loc.file);
      if (number == 0 || number > file.line_count()) continue;
      std::sort(edits.begin(), edits.end(),
                [](const Edit* a, const Edit* b) { return a->loc.column < b->loc.column; });
      if (before != 0 && number > before + 1) append_gap(out_, options_);
      EditedLine(file.line(number), edits).append(out_, number, options_);
      before = number;
    }
  }

  const Diagnostic& diagnostic_;
  const SourceManager& sources_;
  const RenderOptions& options_;
  const Palette& colours_;
  std::string_view primary_;
  std::vector<const Label*> hidden_;  ///< labels whose line cannot be shown
  std::string out_;
};

}  // namespace

std::string render(const Diagnostic& diagnostic, const SourceManager& sources, const RenderOptions& options) {
  return Renderer(diagnostic, sources, options).render();
}

std::vector<const Diagnostic*> distinct(const DiagnosticEngine& engine) {
  std::vector<const Diagnostic*> found;
  std::set<std::string> said;
  for (const Diagnostic& diagnostic : engine.all()) {
    if (said.insert(render(diagnostic, engine.sources(), {})).second) found.push_back(&diagnostic);
  }
  return found;
}

size_t kept(const DiagnosticEngine& engine, Severity severity) {
  auto is_severe = [=](const Diagnostic& diagnostic) { return diagnostic.severity == severity; };
  return size_t(std::ranges::count_if(engine.all(), is_severe));
}

std::string render_all(const DiagnosticEngine& engine, const RenderOptions& options) {
  std::string out;
  for (const Diagnostic* diagnostic : distinct(engine)) out += render(*diagnostic, engine.sources(), options);
  auto more = [&](size_t reported, Severity severity, std::string_view what) -> std::string {
    size_t count = reported - kept(engine, severity);
    return count == 0 ? "" : fmt::format("{} more {}{}", count, what, count == 1 ? "" : "s");
  };
  std::string errors = more(engine.error_count(), Severity::Error, "error");
  std::string warnings = more(engine.warning_count(), Severity::Warning, "warning");
  std::string_view between = errors.empty() || warnings.empty() ? "" : " and ";
  if (!errors.empty() || !warnings.empty()) out += fmt::format("{}{}{} not shown\n", errors, between, warnings);
  return out;
}

}  // namespace tessera
