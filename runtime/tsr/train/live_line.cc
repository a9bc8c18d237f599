#include "runtime/tsr/train/live_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "runtime/files/text.h"
#include "runtime/tsr/errors.h"
#include "runtime/tsr/terminal.h"

namespace tessera::tool::train {

namespace {

using format::cat;

constexpr double smoothing = 0.95;
constexpr const char* wipe = "\r\x1b[K";

std::string fixed(double value, int digits) {
  std::array<char, 64> buffer;
  int length = std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, value);
  return {buffer.data(), size_t(std::clamp(length, 0, 63))};
}

/// "830", "12.3 k", "4.56 M".
std::string rate_text(double rate) {
  if (rate < 10) return fixed(rate, 2);
  if (rate < 1000) return fixed(rate, 0);
  return rate < 1e6 ? cat(fixed(rate / 1e3, 1), " k") : cat(fixed(rate / 1e6, 2), " M");
}

bool draws_on_terminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) && !(term && std::string_view(term) == "dumb");
}

}  // namespace

int terminal_width(int descriptor) {
  struct winsize size {};
  bool is_known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : 80;
}

std::string duration_text(double seconds) {
  auto whole = int64_t(seconds + 0.5);
  auto two = [](int64_t n) { return cat(n < 10 ? "0" : "", n); };
  if (whole >= 3600) return cat(whole / 3600, " h ", two(whole / 60 % 60), " min");
  if (whole >= 60) return cat(whole / 60, " min ", two(whole % 60), " s");
  return cat(whole, " s");
}

LiveLine::LiveLine(uint64_t first, uint64_t steps, int64_t per_step, std::string unit)
    : first_(first), steps_(steps), per_step_(per_step), unit_(std::move(unit)), is_terminal_(draws_on_terminal()) {}

void LiveLine::show(const Record& record) {
  smoothed_ = smoothed_ * smoothing + double(record.loss) * (1 - smoothing);
  weight_ = weight_ * smoothing + (1 - smoothing);
  if (record.held_out) held_out_ = record.held_out;
  Clock::time_point now = Clock::now();
  auto pause = is_terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10'000);
  bool is_last = record.step == steps_, is_first = record.step == first_ + 1;
  if (!is_first && !is_last && !record.held_out && now - shown_ < pause) return;
  shown_ = now;
  if (is_terminal_) {
    std::fprintf(stderr, "\r%s\x1b[K", text(record).c_str());
    is_drawn_ = true;
    errors().begin_with(wipe);
  } else {
    std::fprintf(stderr, "%s\n", text(record).c_str());
  }
  std::fflush(stderr);
}

std::string LiveLine::text(const Record& record) const {
  Style style = error_style();
  double rate = double(record.step - first_) / std::max(record.seconds, 1e-9);
  std::string line;
  int room = is_terminal_ ? terminal_width(STDERR_FILENO) - 1 : INT_MAX;
  // What has no room is left out: a line that is too long could not be drawn again.
  auto add = [&](std::string_view label, const std::string& value, std::string_view unit) {
    room -= int(label.size() + value.size() + unit.size());
    if (room >= 0) line += cat(label, style.bold(value), style.dim(unit));
  };
  add("step ", cat(record.step, "/", steps_), "");
  add("  loss ", fixed(smoothed_ / weight_, 4), "");
  if (held_out_) add("  held out ", fixed(double(*held_out_), 4), "");
  std::string unit = per_step_ > 0 ? unit_ : "steps";
  add("  ", rate_text(rate * double(std::max<int64_t>(per_step_, 1))), cat(" ", unit, "/s"));
  if (record.step < steps_) add("  ", duration_text(double(steps_ - record.step) / rate), " left");
  return line;
}

void LiveLine::say(const std::string& text) {
  clear();
  std::fprintf(stderr, "%s\n", format::printable(text).c_str());
}

void LiveLine::clear() {
  if (is_drawn_) std::fputs(wipe, stderr);
  is_drawn_ = false;
  errors().begin_with("");
}

}  // namespace tessera::tool::train
