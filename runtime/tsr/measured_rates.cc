#include "runtime/tsr/measured_rates.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <bit>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "ir/numbers/peak_figures.h"
#include "runtime/tsr/common_interval.h"

namespace tessera::tool {

namespace {

constexpr int fewest_attempts = 16;    ///< of which the best counts: other programs only slow one down
constexpr double attempt_time = 1e-3;  ///< seconds of one, at least: in less than its turn on a core a thread is alone
constexpr double measure_time = 4e-2;  ///< seconds of all attempts, at least
constexpr size_t least_bytes = 4096;   ///< of a thread
constexpr size_t most_bytes = size_t(1) << 27;

using V256 [[gnu::vector_size(32), gnu::may_alias]] = float;
using V512 [[gnu::vector_size(64), gnu::may_alias]] = float;
struct alignas(64) Line {
  char bytes[64];
};
using Memory = std::vector<Line>;

/// Multiply-adds in chains that do not wait for each other: more than the latency of one times the units. The seed and
/// the result keep the compiler from leaving work out. This file is compiled to fuse them (CMakeLists.txt).
template <typename V>
[[gnu::always_inline]] inline float multiply(int64_t rounds, float seed) {
  constexpr int chains = 12;
  V sums[chains] = {}, factor = V{} + 0.5f, addend = V{} + 1.0f;
#pragma GCC unroll 12
  for (int i = 0; i < chains; ++i) sums[i] += seed * float(i);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (V& sum : sums) sum = sum * factor + addend;
  }
  V total{};
  for (V& sum : sums) total += sum;
  return total[0];
}

template <typename V>
[[gnu::always_inline]] inline float read(const Memory& memory) {
  constexpr size_t at_once = 8;
  V sums[at_once] = {};
  const V *at = reinterpret_cast<const V*>(memory.data()), *end = at + memory.size() * sizeof(Line) / sizeof(V);
  for (; at + at_once <= end; at += at_once) {
#pragma GCC unroll 8
    for (size_t i = 0; i < at_once; ++i) sums[i] += at[i];
  }
  V total{};
  for (V& sum : sums) total += sum;
  return total[0];
}

[[gnu::target("avx2,fma")]] float multiply_256(int64_t rounds, float seed) { return multiply<V256>(rounds, seed); }
[[gnu::target("avx512f")]] float multiply_512(int64_t rounds, float seed) { return multiply<V512>(rounds, seed); }
[[gnu::target("avx2")]] float read_256(const Memory& memory) { return read<V256>(memory); }
[[gnu::target("avx512f")]] float read_512(const Memory& memory) { return read<V512>(memory); }

using Work = std::function<void()>;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Calls `work` until `is_over`, which is given the time. The clock is read rarely, as some calls are short.
template <typename F>
ThreadCalls call_until(const F& is_over, const Work& work) {
  double calls = 0, at_once = 1;
  for (double begin = now();;) {
    for (double i = 0; i < at_once; ++i) work();
    calls += at_once;
    double end = now();
    if (is_over(end)) return {calls, end};
    if (end - begin < attempt_time / 64) at_once *= 2;
    begin = end;
  }
}

/// Calls a second of threads that work at the same time, until the last one has begun; `prepare` makes the work of one.
double best_rate(int threads, const std::function<Work()>& prepare) {
  std::vector<ThreadCalls> done(static_cast<size_t>(threads));
  double begin = 0, best = 0, enough = now() + measure_time;
  int attempts = 0;
  std::atomic<int> begun = 0;
  std::barrier start(threads, [&]() noexcept {
    begun = 0;
    begin = now();
  });
  std::barrier finish(threads, [&]() noexcept {
    best = std::max(best, rate_together(begin, done));
    ++attempts;
  });
  auto run = [&](int thread) {
    Work work = prepare();
    while (attempts < fewest_attempts || begin < enough) {
      start.arrive_and_wait();
      ++begun;
      auto is_over = [&](double time) { return time >= begin + attempt_time && begun == threads; };
      done[size_t(thread)] = call_until(is_over, work);
      finish.arrive_and_wait();
    }
  };
  std::vector<std::jthread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
  run(0);
  others.clear();
  return best;
}

/// For the compiler the value is needed.
void use(float value) { asm volatile("" : : "x"(value)); }

bool is_wide(const Machine& machine) { return machine.vector_bytes == sizeof(V512); }

double gigahertz(const Machine& machine, int threads) {
  constexpr int64_t rounds = 1000;
  constexpr double chains = 12, operations = 2;
  double lanes = double(machine.vector_bytes) / sizeof(float);
  double rate = best_rate(threads, [&] {
    return [&machine] { use((is_wide(machine) ? multiply_512 : multiply_256)(rounds, 0.25f)); };
  });
  return rate * rounds * chains * operations * lanes * 1e-9 / cpu_figures(machine, 1, 0).f32;
}

/// Threads that can run at the same time. More of them take turns, and the machine gives them no more than these.
int at_a_time(int threads) { return std::clamp(int(std::thread::hardware_concurrency()), 1, threads); }

}  // namespace

MeasuredRates::MeasuredRates(const Machine& machine, int threads)
    : machine_(machine), threads_(at_a_time(threads)), gigahertz_(gigahertz(machine, threads_)) {}

PeakFigures MeasuredRates::figures(double bytes) {
  size_t of_thread = std::clamp(size_t(bytes / threads_), least_bytes, most_bytes);
  size_t measured = std::bit_floor(of_thread);  // fewer bytes are no slower
  auto [known, is_new] = bandwidths_.try_emplace(measured, 0);
  if (is_new) known->second = bandwidth(measured);
  return cpu_figures(machine_, gigahertz_, known->second);
}

double MeasuredRates::bandwidth(size_t bytes) const {
  const Memory lines(bytes / sizeof(Line));
  double reading = best_rate(threads_, [&] {
    return [this, from = lines] { use((is_wide(machine_) ? read_512 : read_256)(from)); };
  });
  double copying = best_rate(threads_, [&] {
    return [memory = lines]() mutable {
      size_t half = memory.size() / 2;
      std::memcpy(&memory[half], memory.data(), half * sizeof(Line));
      use(memory[half].bytes[0]);
    };
  });
  return std::max(reading, copying) * double(bytes) * 1e-9;
}

}  // namespace tessera::tool
