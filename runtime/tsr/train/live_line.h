#pragma once
// How training goes, on standard error: a line that is drawn again on a terminal, else a line now and then.

#include <chrono>
#include <optional>
#include <string>

#include "runtime/tsr/train/log.h"

namespace tessera::tool::train {

class LiveLine {
 public:
  /// `unit` is "tokens" or "rows"; `per_step` how many a step is given.
  LiveLine(uint64_t first, uint64_t steps, int64_t per_step, std::string unit);
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;
  ~LiveLine() { clear(); }

  void show(const Record& record);
  /// Prints a line of its own.
  void say(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;
  void clear();
  std::string text(const Record& record) const;

  uint64_t first_, steps_;
  int64_t per_step_;
  std::string unit_;
  bool is_terminal_;
  bool is_drawn_ = false;
  double smoothed_ = 0;
  double weight_ = 0;  ///< of all losses in `smoothed_`
  std::optional<float> held_out_;
  Clock::time_point shown_{};
};

/// Columns of the terminal at a descriptor; 80 where that is not known.
int terminal_width(int descriptor);

/// "1 h 05 min", "2 min 03 s", "7 s".
std::string duration_text(double seconds);

}  // namespace tessera::tool::train
