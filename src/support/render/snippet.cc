// A line is laid out as cells, one for each character, that know their byte and their column: tabs run to the next
// stop, wide characters take two columns, escapes as many as they have letters. Marks are then spans of columns. Of a
// line that is too wide a window is shown. The text of the rightmost mark stands beside it; the others hang below,
// from right to left, each on a stalk:
//
//     2 | def entry(x: Tensor[B, 64, f32], w: Tensor[32, 16, f32]):
//       |                        --                  -- dimension 0 of 'w' is 32
//       |                        |
//       |                        dimension 1 of 'x' is 64

#include "support/render/snippet.h"

#include <algorithm>

#include "support/render/columns.h"

namespace tessera {

namespace {

constexpr size_t gutter_columns = 8;
constexpr size_t tab_stop = 4;
/// Bytes of a line that are looked at around its first mark; more fit no terminal.
constexpr size_t most_bytes = 4096;
/// Text beside a mark is not squeezed into fewer columns.
constexpr size_t fewest_columns = 24;

constexpr Palette no_colours{};
constexpr Palette ansi_colours{"\x1b[1;31m", "\x1b[1;35m", "\x1b[1;36m", "\x1b[1;32m",
                               "\x1b[1m",    "\x1b[34m",   "\x1b[1;34m", "\x1b[0m"};

struct Cell {
  size_t byte, column;
  std::string text;
};

/// A mark in columns of the terminal, from the left edge of what is shown.
struct Span {
  size_t first, last;  ///< one past the end
  const Mark* mark;
};

/// Texts at columns of one row of the terminal.
class Row {
 public:
  explicit Row(const Palette& colours) : colours_(colours) {}
  void put(size_t column, std::string_view text, std::string_view colour) {
    if (column > used_) text_.append(column - used_, ' ');
    text_ += colour;
    text_ += text;
    if (!colour.empty()) text_ += colours_.off;
    used_ = std::max(column, used_) + columns_of(text);
  }
  const std::string& text() const { return text_; }

 private:
  const Palette& colours_;
  std::string text_;
  size_t used_ = 0;
};

class LineRenderer {
 public:
  LineRenderer(std::string_view line, std::vector<Mark> marks, const RenderOptions& options, std::string_view primary)
      : colours_(palette(options)), primary_(primary), marks_(std::move(marks)) {
    room_ = std::max(options.width, gutter_columns + fewest_columns) - gutter_columns;
    std::stable_sort(marks_.begin(), marks_.end(), [](const Mark& a, const Mark& b) { return a.column < b.column; });
    lay_out(line);
    choose_window();
    for (const Mark& mark : marks_) spans_.push_back(span_of(mark));
  }

  void append(std::string& out, std::string_view number) const {
    row(out, number, source());
    if (marks_.empty()) return;
    std::vector<const Span*> hanging = texts();
    Row under = underlines();
    const Span* beside = fits_beside(hanging) ? hanging.back() : nullptr;
    if (beside) {
      under.put(rightmost() + 1, escape_control(beside->mark->text), colour(*beside->mark));
      hanging.pop_back();
    }
    row(out, "", under.text());
    append_hanging(out, hanging);
  }

 private:
  void lay_out(std::string_view line);
  void choose_window();
  size_t column_at(size_t byte) const;
  Span span_of(const Mark& mark) const;
  std::string source() const;
  Row underlines() const;
  std::vector<const Span*> texts() const;
  bool fits_beside(const std::vector<const Span*>& texts) const;
  void append_hanging(std::string& out, std::vector<const Span*> hanging) const;
  size_t rightmost() const;
  std::string_view colour(const Mark& mark) const;

  void row(std::string& out, std::string_view number, const std::string& text) const {
    out += fmt::format("{}{:>5} |{}", colours_.gutter, number, colours_.off);
    if (!text.empty()) out += " " + text;
    out += '\n';
  }

  const Palette& colours_;
  std::string_view primary_;
  std::vector<Mark> marks_;  ///< by column
  std::vector<Span> spans_;  ///< of the marks
  std::vector<Cell> cells_;  ///< the last one is the end of the line
  size_t room_ = 0;          ///< columns that fit
  size_t left_ = 0;          ///< the first column that is shown
};

void LineRenderer::lay_out(std::string_view line) {
  size_t begin = 0;
  size_t first = marks_.empty() ? 0 : marks_.front().column;
  if (first > most_bytes / 2) begin = std::min<size_t>(first - most_bytes / 2, line.size());
  while (begin > 0 && begin < line.size() && (static_cast<unsigned char>(line[begin]) & 0xc0) == 0x80) --begin;
  size_t end = std::min(line.size(), begin + most_bytes);
  size_t column = 0;
  for (size_t byte = begin; byte < end;) {
    std::string_view rest = line.substr(byte);
    Character c = next_character(rest);
    bool is_tab = c.value == '\t';
    std::string text = is_tab ? std::string(tab_stop - column % tab_stop, ' ') : shown(c, rest);
    size_t width = columns_of(text);
    cells_.push_back({byte, column, std::move(text)});
    column += width;
    byte += c.length;
  }
  cells_.push_back({end, column, ""});
}

/// The column of the character that a byte is of, or of the end.
size_t LineRenderer::column_at(size_t byte) const {
  auto after = std::upper_bound(cells_.begin(), cells_.end(), byte,
                                [](size_t value, const Cell& cell) { return value < cell.byte; });
  return after == cells_.begin() ? 0 : std::prev(after)->column;
}

void LineRenderer::choose_window() {
  size_t total = cells_.back().column + 1;
  if (total <= room_ || marks_.empty()) return;
  auto end_of = [&](const Mark& mark) { return column_at(mark.column - 1 + std::max(mark.length, 1u)); };
  size_t first = column_at(marks_.front().column - 1), last = 0;
  for (const Mark& mark : marks_) last = std::max(last, end_of(mark));
  if (last - first > room_) {
    auto primary = std::min_element(marks_.begin(), marks_.end(),
                                    [](const Mark& a, const Mark& b) { return a.kind < b.kind; });
    first = column_at(primary->column - 1);
    last = std::min(std::max(end_of(*primary), first), first + room_);
  }
  size_t before = (room_ - (last - first)) / 2;
  left_ = std::min(first > before ? first - before : 0, total - room_);
}

Span LineRenderer::span_of(const Mark& mark) const {
  size_t first = column_at(mark.column - 1);
  size_t last = std::max(first + 1, column_at(mark.column - 1 + mark.length));
  auto clip = [&](size_t column) { return std::clamp(column, left_, left_ + room_) - left_; };
  Span span{std::min(clip(first), room_ - 1), clip(last), &mark};
  span.last = std::max(span.last, span.first + 1);
  return span;
}

std::string LineRenderer::source() const {
  bool cut_before = left_ > 0 || cells_.front().byte > 0;
  size_t begin = left_ + cut_before, end = left_ + room_;
  bool cut_after = cells_.back().column > end;
  end -= cut_after;
  Row row(colours_);
  if (cut_before) row.put(0, "…", colours_.gutter);
  std::string text;
  size_t at = begin;
  for (const Cell& cell : cells_) {
    if (cell.column < begin || cell.text.empty()) continue;
    size_t width = columns_of(cell.text);
    if (cell.column + width > end) break;
    if (cell.column > at) text.append(cell.column - at, ' ');  // a wide character that the edge cut
    at = cell.column + width;
    text += cell.text;
  }
  row.put(begin - left_, text, {});
  if (cut_after) row.put(end - left_, "…", colours_.gutter);
  return row.text();
}

std::string_view LineRenderer::colour(const Mark& mark) const {
  switch (mark.kind) {
    case MarkKind::Primary: return primary_;
    case MarkKind::Secondary: return colours_.secondary;
    case MarkKind::Replaced:
    case MarkKind::Inserted: return colours_.help;
  }
  return {};
}

size_t LineRenderer::rightmost() const {
  size_t last = 0;
  for (const Span& span : spans_) last = std::max(last, span.last);
  return last;
}

Row LineRenderer::underlines() const {
  std::vector<const Mark*> drawn(rightmost());
  for (const Span& span : spans_) {
    for (size_t i = span.first; i < span.last; ++i) {
      if (!drawn[i] || span.mark->kind < drawn[i]->kind) drawn[i] = span.mark;
    }
  }
  Row row(colours_);
  for (size_t i = 0; i < drawn.size();) {
    size_t end = i + 1;
    while (end < drawn.size() && drawn[end] == drawn[i]) ++end;
    if (drawn[i]) row.put(i, std::string(end - i, "^-~+"[size_t(drawn[i]->kind)]), colour(*drawn[i]));
    i = end;
  }
  return row;
}

/// The spans of marks with texts, by column.
std::vector<const Span*> LineRenderer::texts() const {
  std::vector<const Span*> found;
  for (const Span& span : spans_) {
    if (!span.mark->text.empty()) found.push_back(&span);
  }
  return found;
}

bool LineRenderer::fits_beside(const std::vector<const Span*>& texts) const {
  if (texts.empty()) return false;
  size_t last = rightmost();
  if (texts.back()->last != last) return false;
  bool is_alone = texts.size() == 1 || texts[texts.size() - 2]->first != texts.back()->first;
  return is_alone && last + 1 + columns_of(texts.back()->mark->text) <= room_;
}

void LineRenderer::append_hanging(std::string& out, std::vector<const Span*> hanging) const {
  auto stalks = [&](size_t count) {
    Row row(colours_);
    for (size_t i = 0; i < count; ++i) {
      if (i == 0 || hanging[i]->first != hanging[i - 1]->first) {
        row.put(hanging[i]->first, "|", colour(*hanging[i]->mark));
      }
    }
    return row;
  };
  if (!hanging.empty()) row(out, "", stalks(hanging.size()).text());
  while (!hanging.empty()) {
    const Span& span = *hanging.back();
    size_t left = hanging.size() - 1;
    while (left > 0 && hanging[left - 1]->first == span.first) --left;
    size_t width = std::max(room_ - span.first, fewest_columns);
    for (const std::string& text : wrap(escape_control(span.mark->text), width)) {
      Row row_of_text = stalks(left);
      row_of_text.put(span.first, text, colour(*span.mark));
      row(out, "", row_of_text.text());
    }
    hanging.pop_back();
  }
}

}  // namespace

const Palette& palette(const RenderOptions& options) { return options.colour ? ansi_colours : no_colours; }

void append_line(std::string& out, uint32_t number, std::string_view line, std::vector<Mark> marks,
                 const RenderOptions& options, std::string_view primary) {
  LineRenderer(line, std::move(marks), options, primary).append(out, std::to_string(number));
}

void append_gap(std::string& out, const RenderOptions& options) {
  const Palette& colours = palette(options);
  out += fmt::format("{}  ... |{}\n", colours.gutter, colours.off);
}

}  // namespace tessera
