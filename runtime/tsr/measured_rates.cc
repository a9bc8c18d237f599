#include "runtime/tsr/measured_rates.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <ctime>
#include <functional>
#include <thread>
#include <vector>

#include "ir/numbers/peak_figures.h"

namespace tessera::tool {

namespace {

constexpr int attempts = 4;           ///< of which the best counts: other programs only slow one down
constexpr double least_time = 2e-3;   ///< seconds of an attempt
constexpr size_t least_bytes = 4096;  ///< of a thread
constexpr size_t most_bytes = size_t(1) << 27;

using V256 [[gnu::vector_size(32), gnu::may_alias]] = float;
using V512 [[gnu::vector_size(64), gnu::may_alias]] = float;
struct alignas(64) Line {
  char bytes[64];
};
using Memory = std::vector<Line>;

/// Multiply-adds in chains that do not wait for each other: more than the latency of one times the units. The seed and
/// the result keep the compiler from leaving work out.
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

/// Seconds that the calling thread has run: what other programs take of its core does not count.
double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

/// Calls a second of `work` by the calling thread.
double rate_of(const std::function<void()>& work) {
  double calls = 1;
  for (;;) {
    double begin = thread_seconds();
    for (double i = 0; i < calls; ++i) work();
    double seconds = thread_seconds() - begin;
    if (seconds >= least_time) return calls / seconds;
    calls *= seconds > least_time / 100 ? 1.2 * least_time / seconds : 100;
  }
}

/// The sum of the rates of threads that work at the same time; `prepare` makes the work of one.
double best_rate(int threads, const std::function<std::function<void()>()>& prepare) {
  std::vector<double> rates(size_t(threads) * attempts);
  std::atomic<int> ready = 0;
  auto run = [&](int thread) {
    std::function<void()> work = prepare();
    for (int attempt = 0; attempt < attempts; ++attempt) {
      ++ready;
      while (ready < threads * (attempt + 1)) std::this_thread::yield();
      rates[size_t(attempt * threads + thread)] = rate_of(work);
    }
  };
  std::vector<std::jthread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
  run(0);
  others.clear();
  double best = 0;
  for (auto attempt = rates.begin(); attempt != rates.end(); attempt += threads) {
    double sum = 0;
    for (auto rate = attempt; rate != attempt + threads; ++rate) sum += *rate;
    best = std::max(best, sum);
  }
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

}  // namespace

MeasuredRates::MeasuredRates(const Machine& machine, int threads)
    : machine_(machine), threads_(threads), gigahertz_(gigahertz(machine, threads)) {}

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
