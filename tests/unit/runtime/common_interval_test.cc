// How fast threads are together: calls of all by one interval.

#include <catch2/catch.hpp>
#include <vector>

#include "runtime/tsr/common_interval.h"

using namespace tessera::tool;

TEST_CASE("threads that each have a core add their rates") {
  CHECK(rate_together(5, std::vector<ThreadCalls>{{100, 7}}) == 50);
  CHECK(rate_together(5, std::vector<ThreadCalls>(4, {100, 7})) == 200);
}

TEST_CASE("threads that take turns on a core are as fast as one") {
  CHECK(rate_together(0, std::vector<ThreadCalls>{{100, 2}, {100, 4}, {100, 6}, {100, 8}}) == 50);
}

TEST_CASE("a thread that ends late lengthens the interval of all") {
  CHECK(rate_together(0, std::vector<ThreadCalls>{{100, 1}, {1, 2}}) == 50.5);
}

TEST_CASE("no time is no rate") { CHECK(rate_together(3, std::vector<ThreadCalls>{{1, 3}}) == 0); }
