// What operations wait for, beside a model that looks at every byte.

#include "runtime/cuda/memory_order.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>

using namespace tessera::runtime::cuda;

namespace {

constexpr size_t room = 64;

/// The operations before each that touch a byte which one of both writes.
class ByBytes {
 public:
  std::set<size_t> add(const std::vector<MemoryUse>& uses, const char* memory) {
    std::vector<int> touched(room);  // 1: read, 2: written
    for (const MemoryUse& use : uses) {
      for (size_t i = 0; i < use.bytes; ++i) {
        int& byte = touched[size_t(static_cast<const char*>(use.at) - memory) + i];
        byte = std::max(byte, use.writes ? 2 : 1);
      }
    }
    std::set<size_t> found;
    for (size_t other = 0; other < all_.size(); ++other) {
      for (size_t i = 0; i < room; ++i) {
        if (touched[i] && all_[other][i] && touched[i] + all_[other][i] > 2) found.insert(other);
      }
    }
    all_.push_back(std::move(touched));
    return found;
  }

 private:
  std::vector<std::vector<int>> all_;
};

}  // namespace

TEST_CASE("operations wait for all that share memory with them, directly or not, and for none twice") {
  std::mt19937 random(GENERATE(1u, 2u, 3u, 4u, 5u));
  static const char memory[room] = {};
  MemoryOrder order;
  ByBytes model;
  std::vector<std::set<size_t>> ended;  // before each operation
  for (size_t number = 0; number < 150; ++number) {
    std::vector<MemoryUse> uses;
    for (size_t n = random() % 4; n > 0; --n) {
      size_t at = random() % room, bytes = random() % std::min<size_t>(room - at + 1, 9);
      uses.push_back({memory + at, bytes, random() % 3 == 0});
    }
    std::set<size_t> needed = model.add(uses, memory), before;
    std::vector<size_t> waits_for = order.add(uses);
    CHECK(std::ranges::is_sorted(waits_for, std::greater<>()));
    for (size_t other : waits_for) {
      CHECK(needed.count(other));
      CHECK(!before.count(other));
      before.insert(ended[other].begin(), ended[other].end());
      before.insert(other);
    }
    CHECK(std::ranges::includes(before, needed));
    ended.push_back(std::move(before));
  }
}

TEST_CASE("what shares nothing waits for nothing") {
  static const char memory[room] = {};
  MemoryOrder order;
  CHECK(order.add(std::vector<MemoryUse>{{memory, 8, true}}).empty());
  CHECK(order.add(std::vector<MemoryUse>{{memory + 8, 8, true}}).empty());
  CHECK(order.add(std::vector<MemoryUse>{}).empty());
  CHECK(order.add(std::vector<MemoryUse>{{memory, 8, false}, {memory + 16, 8, true}}) == std::vector<size_t>{0});
  CHECK(order.add(std::vector<MemoryUse>{{memory, 4, false}, {memory + 24, 8, true}}) == std::vector<size_t>{0});
  CHECK(order.add(std::vector<MemoryUse>{{memory + 2, 16, true}}) == std::vector<size_t>{4, 3, 1});
  CHECK(order.add(std::vector<MemoryUse>{{memory, 2, true}}) == std::vector<size_t>{4, 3});
}
