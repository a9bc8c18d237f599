// Putting pieces together, with the comments at the ends of neighbouring lines in one column.

#include <algorithm>

#include "frontend/format/pieces.h"
#include "support/render/columns.h"

namespace tessera::formatter {

namespace {

uint32_t indentation(const OutLine& line) {
  return uint32_t(std::min(line.text.find_first_not_of(" \t"), line.text.size()));
}

/// Lines one below the other, at one depth, each with a comment behind it.
void align_run(std::vector<OutLine*>& run) {
  size_t widest = 0;
  for (const OutLine* line : run) widest = std::max(widest, columns_of(line->text));
  for (const OutLine* line : run) {
    size_t comment = columns_of(line->comment) + 2;
    bool overflows = widest + comment > line_width && columns_of(line->text) + comment <= line_width;
    if (overflows) widest = 0;
    if (overflows) break;
  }
  for (OutLine* line : run) {
    size_t width = columns_of(line->text);
    line->text.append(std::max(widest, width) - width + 2, ' ');
  }
  run.clear();
}

/// One line that may be read as a row of a table with those around it: what a bracket opens or closes is none, nor is a
/// docstring.
bool is_row(const Piece& piece) {
  if (piece.lines.size() != 1) return false;
  std::string_view text = piece.lines[0].text;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return !text.starts_with("\"\"\"") && !text.starts_with("'''");
}

void align_comments(std::vector<Piece>& pieces, const std::vector<bool>& chosen,
                    const std::vector<bool>& gaps) {
  std::vector<OutLine*> run;
  bool was_row = false;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].lines.empty() && !gaps[i]) continue;
    if (gaps[i] || !chosen[i] || !is_row(pieces[i]) || !was_row) align_run(run);
    was_row = is_row(pieces[i]);
    for (OutLine& line : pieces[i].lines) {
      bool can = chosen[i] && !line.comment.empty() && line.text.find('\n') == line.text.npos;
      bool joins = can && !run.empty() && indentation(*run.back()) == indentation(line);
      if (!joins) align_run(run);
      if (can) {
        run.push_back(&line);
      } else if (!line.comment.empty()) {
        line.text += "  ";
      }
    }
  }
  align_run(run);
}

class Assembler {
 public:
  Assembler(const std::vector<SourceLine>& lines, const std::vector<bool>& chosen,
            std::string_view text)
      : lines_(lines), chosen_(chosen), text_(text), made_(lines.size()) {
    size_t first = text.find('\n');
    if (first != text.npos && first > 0 && text[first - 1] == '\r') end_ = "\r\n";
    starts_.push_back(text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0);
    for (size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '\n') starts_.push_back(at + 1);
    }
    starts_.push_back(text.size());
  }

  void formatted(size_t index, const Piece& piece, bool gap);
  void unchanged(size_t index) { made_[index] = before(index); }
  void empty(size_t index) { made_[index] = end_; }
  Assembled take() const;

 private:
  /// The offset of a line of the file; its end for lines that it does not have.
  size_t line_begin(size_t line) const { return starts_[std::min(line, starts_.size() - 1)]; }
  std::string_view before(size_t index) const;
  bool is_empty_before(size_t index) const;

  const std::vector<SourceLine>& lines_;
  const std::vector<bool>& chosen_;
  std::string_view text_;
  std::string_view end_ = "\n";
  std::vector<size_t> starts_;     ///< of the lines of the file, and its end
  std::vector<std::string> made_;  ///< what each line becomes
};

/// The bytes of a line with its end.
std::string_view Assembler::before(size_t index) const {
  const SourceLine& line = lines_[index];
  size_t begin = line_begin(line.first);
  return text_.substr(begin, line_begin(line.first + line.count) - begin);
}

bool Assembler::is_empty_before(size_t index) const {
  return index > 0 && lines_[index - 1].kind == LineKind::Blank && !lines_[index - 1].raw;
}

/// An empty line in front is the one that was there, if one was.
void Assembler::formatted(size_t index, const Piece& piece, bool gap) {
  if (gap && is_empty_before(index)) {
    if (chosen_[index - 1]) made_[index - 1] = end_;
  } else if (gap) {
    made_[index] = end_;
  }
  for (const OutLine& line : piece.lines) {
    made_[index] += line.text;
    made_[index] += line.comment;
    made_[index] += end_;
  }
}

/// Drops the lines that both sides of an edit begin or end with.
void trim(LineEdit& edit, std::string_view before) {
  std::string_view after = edit.text;
  auto first_line = [](std::string_view text) { return text.substr(0, text.find('\n') + 1); };
  while (edit.count > 0 && !after.empty() && first_line(before) == first_line(after)) {
    size_t length = first_line(after).size();
    if (length == 0) break;
    before.remove_prefix(length);
    after.remove_prefix(length);
    ++edit.first;
    --edit.count;
  }
  auto last_line = [](std::string_view text) {
    size_t end = text.size() < 2 ? text.npos : text.rfind('\n', text.size() - 2);
    return end == text.npos ? text : text.substr(end + 1);
  };
  while (edit.count > 0 && !after.empty() && last_line(before) == last_line(after)) {
    size_t length = last_line(after).size();
    before.remove_suffix(length);
    after.remove_suffix(length);
    --edit.count;
  }
  edit.text = std::string(after);
}

Assembled Assembler::take() const {
  Assembled result;
  result.text = text_.substr(0, starts_.front());
  for (size_t i = 0; i < lines_.size(); ++i) {
    result.text += made_[i];
    if (made_[i] == before(i)) continue;
    LineEdit edit{lines_[i].first, lines_[i].count, made_[i]};
    trim(edit, before(i));
    bool joins = !result.edits.empty() &&
                 result.edits.back().first + result.edits.back().count == edit.first;
    if (joins) {
      result.edits.back().count += edit.count;
      result.edits.back().text += edit.text;
    } else {
      result.edits.push_back(std::move(edit));
    }
  }
  for (LineEdit& edit : result.edits) {
    edit.begin = line_begin(edit.first);
    edit.end = line_begin(edit.first + edit.count);
  }
  return result;
}

}  // namespace

Assembled assemble(const std::vector<SourceLine>& lines, const std::vector<bool>& chosen,
                   std::vector<Piece> pieces, const std::vector<bool>& gaps,
                   std::string_view text) {
  align_comments(pieces, chosen, gaps);
  Assembler assembler(lines, chosen, text);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!chosen[i] || lines[i].raw) {
      assembler.unchanged(i);
    } else if (!pieces[i].lines.empty()) {
      assembler.formatted(i, pieces[i], gaps[i]);
    } else if (i + 1 < lines.size() && !chosen[i + 1] && gaps[i + 1]) {
      assembler.empty(i);  // the one in front of a line that stays
    }
  }
  return assembler.take();
}

}  // namespace tessera::formatter
