// Packing of temps into the arena.

#include "runtime/core/launches.h"

#include <catch2/catch.hpp>

#include "unit/runtime/sample.h"

using namespace tessera::test;
using namespace tessera::format;
using tessera::runtime::place_buffers;
using tessera::runtime::Placement;

namespace {

/// Temps of `bytes` bytes that live through [first, last], packed.
struct Item {
  int64_t bytes;
  uint32_t first;
  uint32_t last;
};

Placement pack(const std::vector<Item>& items) {
  PlanBuilder b("pack");
  for (const Item& item : items) {
    b.temp({std::to_string(item.bytes)}, item.first, item.last, Dtype::U8);
  }
  Placement placement;
  REQUIRE_FALSE(place_buffers(b.plan, {}, placement).failed());
  return placement;
}

}  // namespace

TEST_CASE("temps share memory when their lives do not meet", "[runtime]") {
  Placement placement = pack({{100, 0, 1}, {100, 2, 3}, {100, 1, 2}});
  CHECK(placement.offsets == std::vector<int64_t>{0, 0, 128});
  CHECK(placement.arena_bytes == 256);
}

TEST_CASE("a gap between placed temps is used", "[runtime]") {
  // By size: 1000 at 0, 900 beside it; 200 fits below 900 once 1000 is dead.
  Placement placement = pack({{200, 2, 3}, {1000, 0, 1}, {900, 0, 3}});
  CHECK(placement.offsets == std::vector<int64_t>{0, 0, 1024});
  CHECK(placement.arena_bytes == 1024 + 960);
}

TEST_CASE("no two live temps overlap, and all are aligned", "[runtime]") {
  std::vector<Item> items;
  uint32_t seed = 12345;
  auto random = [&](uint32_t below) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
  };
  for (int i = 0; i < 200; ++i) {
    uint32_t first = random(50);
    items.push_back({int64_t(random(5000)), first, first + random(10)});
  }
  Placement placement = pack(items);
  int64_t sum = 0;
  for (size_t a = 0; a < items.size(); ++a) {
    sum += items[a].bytes;
    CHECK(placement.offsets[a] % 64 == 0);
    CHECK(placement.offsets[a] + items[a].bytes <= placement.arena_bytes);
    for (size_t b = 0; b < a; ++b) {
      bool meet = items[a].first <= items[b].last && items[b].first <= items[a].last;
      bool overlap = placement.offsets[a] < placement.offsets[b] + items[b].bytes &&
                     placement.offsets[b] < placement.offsets[a] + items[a].bytes;
      if (meet && overlap) FAIL(a << " and " << b << " share memory");
    }
  }
  CHECK(placement.arena_bytes < sum / 4);
  CHECK(placement.offsets == pack(items).offsets);
}

TEST_CASE("sizes beyond memory are refused", "[runtime]") {
  PlanBuilder b("large");
  b.temp({"4611686018427387904", "4"}, 0, 0);
  Placement placement;
  auto status = place_buffers(b.plan, {}, placement);
  CHECK(status.code == TSR_EOOM);
  CHECK(status.text ==
        "large: the size of 't0', shape [4611686018427387904, 4], overflows 64 bits");
  PlanBuilder c("large");
  c.temp({"144115188075855872"}, 0, 0, Dtype::U8);
  Placement other;
  CHECK(place_buffers(c.plan, {}, other).code == TSR_EOOM);
}
