#include "support/render/units.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string_view>

namespace tessera {

namespace {

/// Three digits, and never an exponent where the number is below a thousand or has no larger unit.
std::string digits_of(double number) {
  return number >= 999.5 ? fmt::format("{:.0f}", number) : fmt::format("{:.3g}", number);
}

/// In the first unit, each 1000 times the one before, in which the number has at most three digits.
std::string scaled(double number, std::span<const std::string_view> units) {
  size_t unit = 0;
  for (; number >= 999.5 && unit + 1 < units.size(); ++unit) number /= 1000;
  return fmt::format("{} {}", digits_of(number), units[unit]);
}

}  // namespace

std::string bytes_text(double bytes) {
  static constexpr std::array<std::string_view, 6> units{"B", "KB", "MB", "GB", "TB", "PB"};
  return scaled(bytes, units);
}

std::string flop_text(double flop) {
  static constexpr std::array<std::string_view, 6> units{"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"};
  return scaled(flop, units);
}

std::string seconds_text(double seconds) {
  static constexpr std::array<std::string_view, 3> units{"us", "ms", "s"};
  return scaled(seconds * 1e6, units);
}

}  // namespace tessera
