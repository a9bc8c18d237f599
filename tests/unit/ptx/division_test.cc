#include "codegen/ptx/division.h"

#include <bit>
#include <catch2/catch.hpp>
#include <random>

using namespace tessera::codegen::ptx;

namespace {

uint32_t high(uint32_t a, uint32_t b) { return uint32_t((uint64_t(a) * b) >> 32); }

/// As the emitter writes it.
uint32_t quotient(uint32_t x, DivisionByFactor by) {
  uint32_t h = high(x, by.factor);
  return by.adds ? (((x - h) >> 1) + h) >> (by.shift - 1) : h >> by.shift;
}

/// The first number whose quotient is wrong, of those around multiples of the divisor and the ends; 0 for none.
uint32_t wrong_for(uint32_t divisor, std::mt19937& random) {
  DivisionByFactor by = division_by(divisor);
  uint32_t last = UINT32_MAX / divisor * divisor;
  uint32_t numbers[] = {1, divisor - 1, divisor, divisor + 1, last - 1, last, last + 1, INT32_MAX, uint32_t(1) << 31,
                        UINT32_MAX - 1, UINT32_MAX, uint32_t(random()), uint32_t(random())};
  for (uint32_t x : numbers) {
    if (quotient(x, by) != x / divisor) return x;
  }
  return 0;
}

}  // namespace

TEST_CASE("division by a constant is a multiplication, for every number of 32 bits") {
  std::mt19937 random(7);
  bool some_add = false;
  for (uint32_t divisor = 3; divisor < 20000; ++divisor) {
    if (std::has_single_bit(divisor)) continue;
    some_add |= division_by(divisor).adds;
    INFO(divisor);
    REQUIRE(wrong_for(divisor, random) == 0);
  }
  CHECK(some_add);
  for (int bits = 15; bits < 31; ++bits) {
    for (uint32_t divisor : {(uint32_t(1) << bits) - 1, (uint32_t(1) << bits) + 1, (uint32_t(3) << (bits - 1)) + 2}) {
      INFO(divisor);
      REQUIRE(wrong_for(divisor, random) == 0);
    }
  }
  CHECK(wrong_for(INT32_MAX, random) == 0);
}
