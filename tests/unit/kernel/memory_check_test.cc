// Kernels that order their accesses of explicit memory, and near misses. What is wrong in one place is in
// tests/diagnostics/memory_slots.tsr.

#include <catch2/catch.hpp>

#include "unit/kernel/fixture.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

/// What is reported of a kernel of x: [M, K] and `length` that gives a sum of [m, 8] tiles.
std::string reported(const std::string& body) {
  KernelFixture fixture;
  std::string text = fixture.build_source(
      "@kernel.schedule(Schedule(BM=8))\n"
      "def f(x: Tensor[M, K, f32], length: Tensor[i32]) -> Tensor[M, 8, f32]:\n"
      "    t   = tile.context(m=M, k=K)\n"
      "    n   = tile.load(length)\n"
      "    sum = tile.zeros((t.m, 8), f32)\n" +
      body + "    return sum\n");
  return fixture.diagnostics.has_errors() ? text : std::string();
}

/// A ring of `slots` slots that copies `ahead` tiles ahead.
std::string ring(int slots, int ahead, int pending, const std::string& last) {
  std::string body = fmt::format("    s = tile.alloc(({}, t.m, 8), f32)\n", slots);
  for (int i = 0; i < ahead; ++i) body += fmt::format("    tile.async_copy(x, (t.i, {0}), s[{0}])\n", i);
  body += "    for k in tile.range(K, 8):\n";
  body += fmt::format("        tile.async_copy(x, (t.i, k + {0}), s[k + {0}])\n", ahead);
  body += fmt::format("        tile.wait(pending={})\n        tile.barrier()\n", pending);
  body += "        sum += tile.load(s[k])\n";
  return body + last + "    tile.wait()\n";
}

constexpr const char* barrier_at_end = "        tile.barrier()\n";

}  // namespace

TEST_CASE("rings of slots are right where each slot is read before it is filled again") {
  for (int slots = 2; slots <= 5; ++slots) {
    INFO(slots << " slots");
    CHECK(reported(ring(slots, slots - 1, slots - 1, barrier_at_end)).empty());
    CHECK(reported(ring(slots, slots - 1, 0, barrier_at_end)).empty());
    CHECK_THAT(reported(ring(slots, slots - 1, slots, barrier_at_end)),
               Catch::Contains("'tile.load' reads memory that 'tile.async_copy' may still write"));
    CHECK_THAT(reported(ring(slots, slots, slots, barrier_at_end)), Catch::Contains("ask for more slots"));
    CHECK_THAT(reported(ring(slots, slots - 1, slots - 1, "")), Catch::Contains("in an earlier iteration"));
  }
}

TEST_CASE("one slot more saves the second barrier") {
  for (int slots = 3; slots <= 6; ++slots) {
    INFO(slots << " slots");
    CHECK(reported(ring(slots, slots - 2, slots - 2, "")).empty());
  }
}

TEST_CASE("conditions on iterations, sizes and programs are followed") {
  auto copied = [](const std::string& condition) {
    return "    s = tile.alloc((2, t.m, 8), f32)\n    tile.async_copy(x, (t.i, 0), s[0])\n"
           "    for k in tile.range(K, 8):\n        if " + condition + ":\n"
           "            tile.async_copy(x, (t.i, k + 1), s[k + 1])\n            tile.wait(pending=1)\n"
           "        else:\n            tile.wait()\n        tile.barrier()\n        sum += tile.load(s[k])\n"
           "        tile.barrier()\n";
  };
  CHECK(reported(copied("(k + 1) * 8 < K")).empty());
  CHECK_THAT(reported(copied("(k + 2) * 8 < K")), Catch::Contains("nothing has written"));
  CHECK_THAT(reported(copied("k * 8 < K")), Catch::Contains("may be in flight"));
  CHECK_THAT(reported(copied("k < n")), Catch::Contains("may be in flight"));
}

TEST_CASE("equal conditions on contents are one condition") {
  auto guarded = [](const std::string& first, const std::string& second) {
    return "    s = tile.alloc((t.m, 8), f32)\n    if " + first + ":\n        tile.async_copy(x, (t.i, 0), s)\n"
           "        tile.wait()\n    tile.barrier()\n    if " + second + ":\n        sum = tile.load(s)\n";
  };
  CHECK(reported(guarded("n > 2", "n > 2")).empty());
  CHECK(reported(guarded("n > 2", "n - 1 > 2")).empty());
  CHECK(reported(guarded("tile.load(length) > 2", "tile.load(length) > 2")).empty());
  CHECK_THAT(reported(guarded("n > 2", "n < 2")), Catch::Contains("nothing has written"));
}

TEST_CASE("loops that begin and end where contents or programs say are run") {
  auto within = [](const std::string& range) {
    return "    s = tile.alloc((2, t.m, 8), f32)\n    for k in " + range +
           ":\n        tile.async_copy(x, (t.i, k), s[k])\n        tile.wait()\n        tile.barrier()\n"
           "        sum += tile.load(s[k])\n";
  };
  for (const char* range :
       {"tile.range(K, 8, start=n)", "tile.range(K, 8, stop=n)", "tile.range(K, 8, stop=t.i * 8 + 8)"}) {
    INFO(range);
    CHECK(reported(within(range)).empty());
    // The first iteration, or the second, need not be.
    bool begins = std::string(range).find("start") != std::string::npos;
    std::string later = within(range) + fmt::format("    sum += tile.load(s[{}])\n", begins ? 0 : 1);
    CHECK_THAT(reported(later), Catch::Contains("nothing has written"));
  }
}

TEST_CASE("loops in loops and slots of slots are told apart") {
  std::string nested =
      "    s = tile.alloc((2, t.m, 8), f32)\n    for i in tile.range(24, 8):\n        for j in tile.range(16, 8):\n"
      "            tile.store(tile.load(x, (t.i, j), (t.m, 8)), s[i + j])\n            tile.barrier()\n"
      "            sum += tile.load(s[i + j])\n";
  CHECK(reported(nested).find("in an earlier iteration") != std::string::npos);
  CHECK(reported(nested + "            tile.barrier()\n").empty());
  std::string rows =
      "    s = tile.alloc((2, 8, 8), f32)\n    row = tile.zeros((8,), f32)\n    tile.store(row, s[0][1])\n"
      "    tile.store(row, s[1][1])\n    tile.store(row, s[0][2])\n    tile.barrier()\n    row = tile.load(s[2][9])\n";
  CHECK(reported(rows).empty());
  CHECK_THAT(reported(rows + "    row = tile.load(s[0][3])\n"), Catch::Contains("nothing has written"));
  CHECK_THAT(reported(rows + "    tile.store(sum, s[0])\n"), Catch::Contains("'tile.store' writes memory"));
}

TEST_CASE("a check ends, however far loops count") {
  std::string loops = "    s = tile.alloc((t.m, 8), f32)\n    for i in tile.range(1000000000, 1):\n"
                      "        for j in tile.range(1000000000, 1):\n            tile.store(sum, s)\n"
                      "            tile.barrier()\n";
  CHECK(reported(loops).empty());
}

TEST_CASE("where a tile ends is found, however often it passes through memory") {
  std::string copies = "    s0 = tile.alloc((t.m, 8), f32)\n", loops;
  for (int i = 1; i <= 40; ++i) {
    copies += fmt::format("    s{} = tile.alloc((t.m, 8), f32)\n", i);
    for (const char* more : {"", " * 2.0"}) {
      loops += fmt::format("        tile.store(tile.load(s{}){}, s{})\n        tile.barrier()\n", i - 1, more, i);
    }
  }
  copies += "    for k in tile.range(K, 8):\n        tile.store(tile.load(x, (t.i, k), (t.m, 8)), s0)\n"
            "        tile.barrier()\n" + loops;
  CHECK(reported(copies + "        sum += tile.load(s0)\n        tile.barrier()\n").empty());
  CHECK_THAT(reported(copies + "        sum += tile.max(tile.load(s40), axis=1)[:, None]\n        tile.barrier()\n"),
             Catch::Contains("may count elements past the end"));
}

TEST_CASE("numbers of tiles are compared, however long their arithmetic") {
  std::string doubled = "    i = n\n    j = n\n";
  for (int i = 0; i < 60; ++i) doubled += "    i = i + i\n    j = j + j\n";
  CHECK(reported(doubled + "    s = tile.alloc((2, t.m, 8), f32)\n    tile.async_copy(x, (t.i, i), s[i])\n"
                           "    tile.wait()\n    tile.barrier()\n"
                           "    sum = sum + tile.max(tile.load(s[j]), axis=1)[:, None]\n").empty());
}
