#pragma once
// What standard output is given, and colours and progress, on terminals only.

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::tool {

/// Marks text with colours, or leaves it alone.
class Style {
 public:
  explicit Style(bool enabled) : enabled_(enabled) {}
  bool enabled() const { return enabled_; }
  std::string bold(std::string_view text) const { return mark("1", text); }
  std::string dim(std::string_view text) const { return mark("2", text); }
  std::string bold_red(std::string_view text) const { return mark("1;31", text); }

 private:
  std::string mark(std::string_view code, std::string_view text) const;
  bool enabled_;
};

/// For standard output and standard error: on when that is a terminal and NO_COLOR is not set.
Style output_style();
Style error_style();

/// Prints to standard output, plain or marked. Much of it comes from files of others: what would
/// steer a terminal or deceive a reader is escaped (format::printable).
void put(std::string_view text);
void put_bold(std::string_view text);
void put_dim(std::string_view text);

/// A bar on standard error that appears only on a terminal and is wiped at the end.
class Progress {
 public:
  Progress(std::string label, size_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();
  void advance(size_t steps = 1);

 private:
  void draw() const;
  std::string label_;
  size_t total_;
  size_t done_ = 0;
  int drawn_percent_ = -1;
  bool enabled_;
};

}  // namespace tessera::tool
