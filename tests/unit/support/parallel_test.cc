#include "support/parallel.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <vector>

using tessera::parallel_for;

TEST_CASE("parallel work is done once each") {
  for (size_t count : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> calls(count);
    parallel_for(count, [&](size_t i) { ++calls[i]; });
    for (const auto& n : calls) CHECK(n == 1);
  }
}

TEST_CASE("parallel work may be parallel again") {
  std::atomic<int> sum = 0;
  parallel_for(5, [&](size_t i) { parallel_for(i, [&](size_t j) { sum += int(j) + 1; }); });
  CHECK(sum == 1 + 3 + 6 + 10);
}
