#include "runtime/files/threads.h"

#include <sched.h>

#include <charconv>
#include <cstdlib>
#include <thread>

namespace tessera::runtime {

std::optional<int> parse_threads(std::string_view text) {
  int threads = 0;
  const char* last = text.data() + text.size();
  auto [end, status] = std::from_chars(text.data(), last, threads);
  bool fits = status == std::errc() && end == last && threads >= 1 && threads <= most_threads;
  return fits ? std::optional(threads) : std::nullopt;
}

int default_threads() {
  if (const char* text = std::getenv("TSR_THREADS")) {
    if (std::optional<int> threads = parse_threads(text)) return *threads;
  }
  return available_processors();
}

int available_processors() {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    int count = CPU_COUNT(&allowed);
    if (count > 0) return count;
  }
  unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : int(count);
}

}  // namespace tessera::runtime
