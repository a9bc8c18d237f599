#include "runtime/tsr/train/curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "runtime/files/text.h"

namespace tessera::tool::train {

namespace {

using format::cat;

constexpr int plot_rows = 12;
constexpr int label_width = 9;
constexpr std::string_view held_out_mark = "o";

/// Characters of eight dots each, two columns of four.
class Canvas {
 public:
  Canvas(int columns, int rows) : columns_(columns), rows_(rows), dots_(size_t(columns * rows)) {}

  void dot(int x, int y) {
    static constexpr int bits[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};
    if (x < 0 || y < 0 || x >= columns_ * 2 || y >= rows_ * 4) return;
    dots_[size_t(y / 4 * columns_ + x / 2)] |= bits[x % 2][y % 4];
  }
  /// A line that has a dot in each column, and in each row where it is steep.
  void line(int x0, int y0, int x1, int y1) {
    int count = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= count; ++i) {
      dot(x0 + int(std::lround(double(x1 - x0) * i / count)), y0 + int(std::lround(double(y1 - y0) * i / count)));
    }
  }
  void mark(int x, int y) {
    if (x < 0 || y < 0 || x >= columns_ * 2 || y >= rows_ * 4) return;
    dots_[size_t(y / 4 * columns_ + x / 2)] = marked;
  }
  bool is_marked(int column, int row) const { return dots_[size_t(row * columns_ + column)] == marked; }
  std::string character(int column, int row) const {
    int bits = dots_[size_t(row * columns_ + column)];
    if (bits == 0) return " ";
    return {char(0xe2), char(0xa0 | bits >> 6), char(0x80 | (bits & 0x3f))};  // U+2800 and the bits, in UTF-8
  }

 private:
  static constexpr int marked = 0x100;
  int columns_, rows_;
  std::vector<int> dots_;
};

std::string padded(const std::string& text, int width) {
  return std::string(size_t(std::max(width - int(text.size()), 0)), ' ') + text;
}

/// The places of points among dots.
struct Scale {
  Extent extent;
  int width, height;  ///< in dots

  int x(const Point& at) const {
    return int(std::lround((at.step - extent.first_step) / (extent.last_step - extent.first_step) * (width - 1)));
  }
  int y(const Point& at) const {
    return int(std::lround((extent.high - at.loss) / (extent.high - extent.low) * (height - 1)));
  }
};

std::string axis_label(const Extent& extent, int row) {
  std::string label;
  if (row % 4 == 0 || row == plot_rows - 1) {
    double value = extent.high - (extent.high - extent.low) * (row + 0.5) / plot_rows;
    label = tick_text(value, (extent.high - extent.low) / plot_rows);
  }
  return padded(label, label_width - 2);
}

std::string step_axis(const Extent& extent, int columns) {
  std::string first = tick_text(extent.first_step, 1), last = tick_text(extent.last_step, 1);
  std::string middle = "step";
  int room = columns - int(first.size() + last.size());
  if (room < int(middle.size()) + 2) return cat(first, " ", last);
  int before = (room - int(middle.size())) / 2;
  return cat(first, std::string(size_t(before), ' '), middle,
             std::string(size_t(room - before - int(middle.size())), ' '), last);
}

}  // namespace

std::vector<Point> thinned(const std::vector<Point>& points, size_t most) {
  if (points.size() <= most) return points;
  std::vector<Point> means;
  for (size_t i = 0; i < most; ++i) {
    size_t begin = points.size() * i / most, end = points.size() * (i + 1) / most;
    Point sum{0, 0};
    for (size_t at = begin; at < end; ++at) sum = {sum.step + points[at].step, sum.loss + points[at].loss};
    means.push_back({sum.step / double(end - begin), sum.loss / double(end - begin)});
  }
  means.front().step = points.front().step;
  means.back().step = points.back().step;
  return means;
}

std::vector<double> ticks(double low, double high, int count) {
  double rough = (high - low) / count, power = std::pow(10, std::floor(std::log10(rough))), step = power * 10;
  for (double factor : {5.0, 2.0, 1.0}) {
    if (power * factor >= rough) step = power * factor;
  }
  std::vector<double> found;
  for (double i = std::ceil(low / step); i * step <= high + step * 1e-9; ++i) found.push_back(i * step);
  return found;
}

std::string tick_text(double value, double step) {
  int digits = std::clamp(int(std::ceil(-std::log10(std::max(step, 1e-9)))), 0, 6);
  std::array<char, 64> buffer;
  bool is_long = std::abs(value) >= 1e7;
  int length = std::snprintf(buffer.data(), buffer.size(), is_long ? "%.*g" : "%.*f", is_long ? 3 : digits, value);
  return {buffer.data(), size_t(std::clamp(length, 0, 63))};
}

Extent extent_of(const Curve& curve) {
  Extent all{INFINITY, -INFINITY, INFINITY, -INFINITY};
  for (const auto* line : {&curve.train, &curve.held_out}) {
    for (const Point& at : *line) {
      all = {std::min(all.first_step, at.step), std::max(all.last_step, at.step), std::min(all.low, at.loss),
             std::max(all.high, at.loss)};
    }
  }
  if (all.last_step <= all.first_step) all.last_step = all.first_step + 1;
  double least = std::max(std::abs(all.high), 1.0) * 1e-6;
  if (all.high - all.low < least) all = {all.first_step, all.last_step, all.low - least, all.high + least};
  return all;
}

std::string curve_text(const Curve& curve, int width, bool has_colours) {
  if (curve.train.empty()) return {};
  int columns = std::max(std::min(width, 100) - label_width, 10);
  Canvas canvas(columns, plot_rows);
  Curve drawn{thinned(curve.train, size_t(columns)), thinned(curve.held_out, size_t(columns) / 2)};
  Scale scale{extent_of(drawn), columns * 2, plot_rows * 4};
  const std::vector<Point>& line = drawn.train;
  for (size_t i = 0; i < line.size(); ++i) {
    const Point& from = line[i == 0 ? 0 : i - 1];
    canvas.line(scale.x(from), scale.y(from), scale.x(line[i]), scale.y(line[i]));
  }
  for (const Point& at : drawn.held_out) canvas.mark(scale.x(at), scale.y(at));
  std::string text;
  for (int row = 0; row < plot_rows; ++row) {
    text += cat(axis_label(scale.extent, row), " │");
    for (int column = 0; column < columns; ++column) {
      bool is_mark = canvas.is_marked(column, row);
      std::string character = is_mark ? std::string(held_out_mark) : canvas.character(column, row);
      if (!has_colours || character == " ") text += character;
      else text += cat(is_mark ? "\x1b[33m" : "\x1b[36m", character, "\x1b[0m");
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  text += cat(std::string(label_width - 1, ' '), "└");
  for (int column = 0; column < columns; ++column) text += "─";
  text += cat("\n", std::string(label_width, ' '), step_axis(scale.extent, columns), "\n");
  return text + cat(std::string(label_width, ' '), "loss: ⠒ training", curve.held_out.empty() ? "" : ", o held out",
                    "\n");
}

}  // namespace tessera::tool::train
