#include "runtime/tsr/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "runtime/files/text.h"

namespace tessera::tool {

namespace {

bool is_terminal(int fd) {
  const char* term = std::getenv("TERM");
  return ::isatty(fd) && !(term && std::string_view(term) == "dumb");
}

Style style_for(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  return Style(is_terminal(fd) && !(no_colour && *no_colour));
}

}  // namespace

std::string Style::mark(std::string_view code, std::string_view text) const {
  if (!enabled_) return std::string(text);
  std::string out = "\x1b[";
  out += code;
  out += 'm';
  out += text;
  return out += "\x1b[0m";
}

Style output_style() {
  return style_for(STDOUT_FILENO);
}
Style error_style() {
  return style_for(STDERR_FILENO);
}

namespace {

void write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

void put(std::string_view text) {
  write(format::printable(text));
}
void put_bold(std::string_view text) {
  write(output_style().bold(format::printable(text)));
}
void put_dim(std::string_view text) {
  write(output_style().dim(format::printable(text)));
}

Progress::Progress(std::string label, size_t total)
    : label_(std::move(label)), total_(total), enabled_(is_terminal(STDERR_FILENO) && total > 1) {}

Progress::~Progress() {
  if (enabled_ && drawn_percent_ >= 0) std::fputs("\r\x1b[K", stderr);
}

void Progress::advance(size_t steps) {
  done_ = std::min(done_ + steps, total_);
  if (!enabled_) return;
  int percent = int(done_ * 100 / total_);
  if (percent == drawn_percent_) return;
  drawn_percent_ = percent;
  draw();
}

void Progress::draw() const {
  constexpr size_t width = 30;
  std::string bar(width * size_t(drawn_percent_) / 100, '#');
  bar.resize(width, '.');
  std::fprintf(stderr, "\r%s [%s] %3d %%\x1b[K", label_.c_str(), bar.c_str(), drawn_percent_);
  std::fflush(stderr);
}

}  // namespace tessera::tool
