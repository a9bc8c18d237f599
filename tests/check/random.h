#pragma once
// Random choices that are the same with every library: SplitMix64 (Steele, Lea and Flood, 2014).

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::check {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// 0 to n - 1.
  size_t pick(size_t n) { return size_t(next() % n); }
  bool one_in(size_t n) { return pick(n) == 0; }
  template <typename T, size_t n>
  const T& of(const T (&choices)[n]) {
    return choices[pick(n)];
  }
  /// In [0, 1), a multiple of 2^-53.
  double unit() { return double(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace tessera::check
