#include <array>
#include <cstdio>

#include "runtime/files/text.h"
#include "runtime/tsr/train/curve.h"

namespace tessera::tool::train {

namespace {

using format::cat;

constexpr double width = 720, height = 400, left = 64, right = 16, top = 36, bottom = 48;
constexpr size_t most_points = 600;

constexpr const char* style =
    "<style>\n"
    "  text { font: 12px system-ui, sans-serif; fill: #57606a }\n"
    "  .title { font-size: 14px; fill: #24292f }\n"
    "  .grid { stroke: #d0d7de }\n"
    "  .axis { stroke: #57606a }\n"
    "  .line { fill: none; stroke-width: 1.75; stroke-linejoin: round }\n"
    "  .train { stroke: #0969da } .dot-train { fill: #0969da }\n"
    "  .held { stroke: #bc4c00 } .dot-held { fill: #bc4c00 }\n"
    "  @media (prefers-color-scheme: dark) {\n"
    "    text { fill: #8b949e } .title { fill: #e6edf3 } .grid { stroke: #30363d } .axis { stroke: #8b949e }\n"
    "    .train { stroke: #58a6ff } .dot-train { fill: #58a6ff }\n"
    "    .held { stroke: #f0883e } .dot-held { fill: #f0883e }\n"
    "  }\n"
    "</style>\n";

std::string number(double value) {
  std::array<char, 32> buffer;
  int length = std::snprintf(buffer.data(), buffer.size(), "%.1f", value);
  return {buffer.data(), size_t(length)};
}

class Picture {
 public:
  explicit Picture(const Curve& curve) : curve_(curve), extent_(extent_of(curve)) {}

  std::string text() {
    text_ = cat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", number(width), " ", number(height),
                "\" width=\"", number(width), "\" height=\"", number(height), "\">\n<title>Loss by step</title>\n",
                style);
    label(left, 22, "start", "Loss by step", " class=\"title\"");
    loss_axis();
    step_axis();
    line(curve_.train, "train");
    line(curve_.held_out, "held");
    for (const Point& at : curve_.held_out) dot(x(at.step), y(at.loss), "held");
    legend();
    return text_ + "</svg>\n";
  }

 private:
  double x(double step) const {
    double part = (step - extent_.first_step) / (extent_.last_step - extent_.first_step);
    return left + part * (width - left - right);
  }
  double y(double loss) const {
    double part = (extent_.high - loss) / (extent_.high - extent_.low);
    return top + part * (height - top - bottom);
  }

  void label(double at_x, double at_y, std::string_view anchor, std::string_view words, std::string_view more = "") {
    text_ += cat("<text x=\"", number(at_x), "\" y=\"", number(at_y), "\" text-anchor=\"", anchor, "\"", more, ">",
                 words, "</text>\n");
  }
  void stroke(double x0, double y0, double x1, double y1, std::string_view kind) {
    text_ += cat("<line class=\"", kind, "\" x1=\"", number(x0), "\" y1=\"", number(y0), "\" x2=\"", number(x1),
                 "\" y2=\"", number(y1), "\"/>\n");
  }
  void dot(double at_x, double at_y, std::string_view kind) {
    text_ += cat("<circle class=\"dot-", kind, "\" cx=\"", number(at_x), "\" cy=\"", number(at_y), "\" r=\"3\"/>\n");
  }

  void loss_axis() {
    std::vector<double> at = ticks(extent_.low, extent_.high, 6);
    for (double loss : at) {
      stroke(left, y(loss), width - right, y(loss), "grid");
      label(left - 8, y(loss) + 4, "end", tick_text(loss, at.size() > 1 ? at[1] - at[0] : 1e-6));
    }
    stroke(left, top, left, height - bottom, "axis");
  }

  void step_axis() {
    std::vector<double> at = ticks(extent_.first_step, extent_.last_step, 8);
    for (double step : at) {
      stroke(x(step), height - bottom, x(step), height - bottom + 5, "axis");
      label(x(step), height - bottom + 20, "middle", tick_text(step, at.size() > 1 ? at[1] - at[0] : 1));
    }
    stroke(left, height - bottom, width - right, height - bottom, "axis");
    label((left + width - right) / 2, height - 8, "middle", "step");
  }

  void line(const std::vector<Point>& points, std::string_view kind) {
    if (points.empty()) return;
    text_ += cat("<polyline class=\"line ", kind, "\" points=\"");
    for (const Point& at : thinned(points, most_points)) text_ += cat(number(x(at.step)), ",", number(y(at.loss)), " ");
    text_.back() = '"';
    text_ += "/>\n";
  }

  void legend() {
    double at = width - right - 190;
    dot(at, 18, "train");
    label(at + 8, 22, "start", "training");
    if (curve_.held_out.empty()) return;
    dot(at + 96, 18, "held");
    label(at + 104, 22, "start", "held out");
  }

  const Curve& curve_;
  Extent extent_;
  std::string text_;
};

}  // namespace

std::string curve_svg(const Curve& curve) {
  return curve.train.empty() ? std::string() : Picture(curve).text();
}

}  // namespace tessera::tool::train
