#pragma once
// The losses of a run as a picture: of characters for a terminal, and as SVG.

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::tool::train {

struct Point {
  double step;
  double loss;
};

/// What is drawn: each line is in order of its steps.
struct Curve {
  std::vector<Point> train;
  std::vector<Point> held_out;
};

/// At most `most` points: the means of as many parts of the steps.
std::vector<Point> thinned(const std::vector<Point>& points, size_t most);

/// Numbers with few digits that divide a range, about `count` of them.
std::vector<double> ticks(double low, double high, int count);
std::string tick_text(double value, double step);

/// The smallest and the largest step and loss of both lines, a little wider where they are the same.
struct Extent {
  double first_step, last_step, low, high;
};
Extent extent_of(const Curve& curve);

/// Lines of at most `width` characters: dots of Braille for training, "o" for held-out data.
std::string curve_text(const Curve& curve, int width, bool has_colours);
/// A picture that is readable on light and on dark pages.
std::string curve_svg(const Curve& curve);

}  // namespace tessera::tool::train
