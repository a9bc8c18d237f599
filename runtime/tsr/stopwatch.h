#pragma once
// How long calls take: by the host's clock on a CPU, by the GPU's events on a GPU.

#include <functional>
#include <vector>

#include "runtime/include/tessera.h"

namespace tessera::tool {

/// Functions return 0, or the exit code after saying what is wrong.
class Stopwatch {
 public:
  /// For calls on the NULL stream of the context, which outlives this.
  Stopwatch(tsr_context_t context, bool has_events) : context_(context), has_events_(has_events) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch();

  using Call = std::function<tsr_status_t()>;
  /// Makes calls and appends the seconds that each of them took: one on a CPU; a few, queued one
  /// behind the other so that the GPU does not wait for the host, on a GPU. `prepare` comes before each and is not
  /// timed.
  int time(const Call& prepare, const Call& call, std::vector<double>& seconds);

 private:
  int make_events();
  int time_queued(const Call& prepare, const Call& call, std::vector<double>& seconds);

  tsr_context_t context_;
  bool has_events_;
  std::vector<tsr_event_t> events_;  ///< before and after each call
};

}  // namespace tessera::tool
