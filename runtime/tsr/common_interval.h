#pragma once
// What threads did in an interval that they have in common, as one rate.

#include <algorithm>
#include <span>

namespace tessera::tool {

struct ThreadCalls {
  double calls;
  double end;  ///< of the last one, in seconds
};

/// Calls a second of threads that all began at `begin`. The interval is everyone's, by the clock on the wall: it ends
/// with the last call of the last thread, so that threads that wait for a core count nothing meanwhile.
inline double rate_together(double begin, std::span<const ThreadCalls> threads) {
  double calls = 0, end = begin;
  for (const ThreadCalls& thread : threads) {
    calls += thread.calls;
    end = std::max(end, thread.end);
  }
  return end > begin ? calls / (end - begin) : 0;
}

}  // namespace tessera::tool
