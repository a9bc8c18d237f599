#include "tools/driver/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

namespace tessera::driver {

namespace {

constexpr std::chrono::milliseconds usual_delay{1000}, redraw_interval{100};
constexpr std::string_view erased = "\r\x1b[K";

std::chrono::milliseconds delay() {
  const char* text = std::getenv("TESSERA_PROGRESS_AFTER");
  if (!text) return usual_delay;
  int64_t given = 0;
  auto [end, error] = std::from_chars(text, text + std::strlen(text), given);
  bool is_number = error == std::errc() && *end == 0 && given >= 0;
  return is_number ? std::chrono::milliseconds(given) : usual_delay;
}

/// Longer lines would be wrapped, and could not be erased.
size_t columns() {
  winsize size{};
  bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return is_known ? size.ws_col - 1 : 79;
}

void put(std::string_view text) { [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, text.data(), text.size()); }

}  // namespace

std::unique_ptr<Progress> Progress::on_terminal() {
  const char* terminal = std::getenv("TERM");
  bool can_erase = terminal && std::string_view(terminal) != "dumb";
  return can_erase && ::isatty(STDERR_FILENO) ? std::make_unique<Progress>(delay()) : nullptr;
}

Progress::Progress(std::chrono::milliseconds after) : after_(after) {
  try {
    if (after_.count() > 0) watcher_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {
    // No thread can be had: the compile goes on without a line.
  }
}

Progress::~Progress() {
  {
    std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ends_.notify_all();
  if (watcher_.joinable()) watcher_.join();
  if (is_drawn_) put(erased);
}

/// A step may be long, so another thread looks when it is time.
void Progress::watch() {
  std::unique_lock lock(mutex_);
  for (auto wait = after_; !ends_.wait_for(lock, wait, [this] { return is_over_; }); wait = redraw_interval) {
    if (has_changed_) draw();
  }
}

void Progress::draw() {
  std::string line = text_.substr(0, columns());
  put(std::string(erased) + line);
  is_drawn_ = true;
  has_changed_ = false;
}

void Progress::set(std::string text) {
  text_ = std::move(text);
  has_changed_ = true;
  if (after_.count() == 0) draw();
}

void Progress::begin(size_t parts) {
  std::lock_guard lock(mutex_);
  parts_ = parts;
  part_number_ = 0;
  part_.clear();
}

void Progress::part(std::string name) {
  std::lock_guard lock(mutex_);
  ++part_number_;
  // Parts that are made anew are counted once.
  part_ = part_number_ <= parts_ ? fmt::format("{} ({} of {})", name, part_number_, parts_) : std::move(name);
}

void Progress::step(std::string_view name) {
  std::lock_guard lock(mutex_);
  pieces_done_ = 0;
  set(part_.empty() ? std::string(name) : fmt::format("{}: {}", part_, name));
}

void Progress::piece(std::string_view step, size_t pieces) {
  std::lock_guard lock(mutex_);
  ++pieces_done_;
  set(fmt::format("{}: {} of {} parts", step, pieces_done_, pieces));
}

}  // namespace tessera::driver
