// The interpreter on programs of several warps: right ones give the values of simple ones however
// they are timed, and what is wrong with others is found and placed.

#include <algorithm>

#include "ir/tile/eval.h"
#include "unit/ir/text_fixture.h"
#include "unit/ir/tile_ring_gemm.h"
#include "unit/ir/tile_fixture.h"

using namespace tessera;

namespace {

struct RingTest : TextFixture {
  TensorValue a = *TensorValue::make(DType::BF16, {32, 40});
  TensorValue b = *TensorValue::make(DType::BF16, {40, 16});
  TensorValue y = *TensorValue::make(DType::F32, {32, 16});

  RingTest() {
    for (int64_t i = 0; i < a.count(); ++i) a.set(i, {.f = double(i * 37 % 41) / 16 - 1});
    for (int64_t i = 0; i < b.count(); ++i) b.set(i, {.f = double(i * 29 % 43) / 32 - 0.5});
  }

  bool run(const std::string& text, std::optional<uint64_t> seed = {}) {
    auto modules = parse_modules(context, sources.add("test.tir", with_own_names(text)), diagnostics);
    INFO(render_all(diagnostics, {}));
    REQUIRE(modules);
    std::vector<TensorValue*> tensors{&a, &b, &y};
    tile::RunOptions options;
    options.seed = seed;
    return bool(tile::run_kernel((*modules)[0]->body()->front(), tensors, {}, diagnostics, options));
  }
  std::string said() const { return render_all(diagnostics, {}); }
};

std::vector<double> values(const TensorValue& tensor) {
  std::vector<double> all;
  for (int64_t i = 0; i < tensor.count(); ++i) all.push_back(tensor.get(i).f);
  return all;
}

/// The text with occurrence `which` of `from` replaced.
std::string replaced(std::string text, const std::string& from, const std::string& to, int which = 0) {
  size_t at = text.find(from);
  for (; which > 0 && at != std::string::npos; --which) at = text.find(from, at + 1);
  INFO(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

struct Mutation {
  std::string what;
  RingKind kind;
  std::string from, to;
  int which;            ///< occurrence of `from`
  std::string message;  ///< part of it
  std::string place;    ///< part of the line that is pointed at
};

const RingKind channel = RingKind::Channel, barriers = RingKind::Barriers;

std::vector<Mutation> mutations() {
  return {
      {"dropped wait", channel, "tile.channel_wait %ring, %iteration\n", "\n", 0,
       "it reads shared memory that tile.copy_async may still write", "tile.mma %sh"},
      {"dropped wait", barriers, "tile.barrier_wait %f, %parity\n", "\n", 1,
       "it reads shared memory that tile.copy_async may still write", "tile.mma %sh"},
      {"wrong parity of a reader", barriers, "tile.barrier_wait %f, %parity", "tile.barrier_wait %f, %other", 0,
       "may still write", "tile.mma %sh"},
      {"wrong parity of the writer", barriers, "tile.barrier_wait %e, %other", "tile.barrier_wait %e, %parity", 0,
       "the program is stuck: role 'load' waits for phase 0 of barrier 0, which lacks 8 of 8 arrivals",
       "tile.barrier_wait %e"},
      {"too few arrivals wanted", barriers, "{arrivals = 8}", "{arrivals = 4}", 0,
       "it reads shared memory that tile.copy_async may still write", "tile.mma %sh"},
      {"too many arrivals wanted", barriers, "{arrivals = 8}", "{arrivals = 9}", 0,
       "role 'load' waits for phase 0 of barrier 0, which lacks 1 of 9 arrivals", "tile.barrier_wait %e"},
      {"missing fence", channel, "tile.fence_async\n", "\n", 0, "it does not see shared memory that tile.store wrote",
       "tile.store_async %out"},
      {"fence after the barrier", channel, "tile.fence_async\n       tile.barrier",
       "tile.barrier\n       tile.fence_async", 1, "it does not see shared memory that tile.store wrote",
       "tile.store_async %out"},
      {"missing barrier before store_async", channel, "tile.fence_async\n       tile.barrier\n", "tile.fence_async\n",
       0, "it reads shared memory that tile.store may still write", "tile.store_async %out"},
      {"released too early", channel, "%q: tile<16 x 8, f32> = tile.mma_wait [%p] {pending = 0}",
       "tile.channel_release %ring, %iteration\n%q: tile<16 x 8, f32> = tile.mma_wait [%p] {pending = 0}", 1,
       "iteration 0 is given back out of order", "        tile.channel_release"},
      {"released before the MMA is done", barriers,
       "%q: tile<16 x 8, f32> = tile.mma_wait [%p] {pending = 0}\n        tile.fence_async\n        "
       "tile.barrier_arrive %e",
       "tile.barrier_arrive %e\n        %q: tile<16 x 8, f32> = tile.mma_wait [%p] {pending = 0}", 1,
       "it writes shared memory that tile.mma may still read", "tile.copy_async %a"},
      {"missing fence before the slot is given back", barriers, "tile.fence_async\n        tile.barrier_arrive %e",
       "tile.barrier_arrive %e", 1, "it may write shared memory before tile.mma has read it", "tile.copy_async %a"},
      {"missing release", channel, "tile.channel_release %ring, %iteration\n", "\n", 0,
       "it writes shared memory that tile.mma may still read", "tile.copy_async %a"},
      {"missing arrival", barriers, "tile.barrier_arrive %e\n", "\n", 1,
       "role 'load' waits for phase 0 of barrier 0, which lacks 4 of 8 arrivals", "tile.barrier_wait %e"},
      {"too many bytes", channel, "{bytes = 640}", "{bytes = 768}", 0, "lacks 0 of 1 arrivals and 128 bytes",
       "tile.channel_wait"},
      {"too few bytes", channel, "{bytes = 640}", "{bytes = 512}", 0, "tile.copy_async may still write",
       "tile.mma %sh"},
      {"bytes of no copy", channel, "{bytes = 640}", "{bytes = 600}", 0,
       "40 bytes more come than were announced for phase 0", "tile.copy_async %b"},
      {"missing mma_wait", channel, "tile.mma_wait [%p] {pending = 0}", "tile.mma_wait [%p] {pending = 1}", 0,
       "it writes shared memory that tile.mma may still read", "tile.copy_async %a"},
      {"used before mma_wait", channel, "%q: tile<16 x 8, f32> = tile.mma_wait [%p] {pending = 0}",
       "%q: tile<16 x 8, f32> = tile.neg %p", 0, "it uses the result of a tile.mma that may be in flight",
       "tile.neg %p"},
      {"slot of the next iteration read", barriers, "tile.slot %rb, %iteration", "tile.slot %rb, %next", 1,
       "may still write", "tile.mma %sh"},
      {"slot of the next iteration written", barriers, "tile.slot %rb, %iteration", "tile.slot %rb, %next", 0,
       "may still write", "tile.mma %sh"},
      {"missing store_wait", channel, "tile.store_wait {pending = 0}\n       tile.barrier", "tile.barrier", 0,
       "it writes shared memory that tile.store_async may still read", "tile.store %sum"},
      {"missing store_wait at the end", channel, "      tile.store_wait {pending = 0}\n      tile.yield", "tile.yield",
       0, "role 'upper' ends while a tile.store_async is in flight", "tile.yield"},
      {"missing barrier after store_wait", channel, "tile.store_wait {pending = 0}\n       tile.barrier",
       "tile.store_wait {pending = 0}", 0, "tile.store_async may still read", "tile.store %sum"},
      {"barriers used before they are made", barriers, "    tile.barrier\n    tile.role", "    tile.role", 0,
       "its barrier may not have been made yet", "tile.barrier_wait %e"},
      {"an iteration left out", channel, "tile.add %t0, %k", "tile.add %t0, %c3", 0,
       "the program is stuck: role 'load' waits for phase 0 of barrier 0, which lacks 8 of 8 arrivals",
       "tile.channel_acquire"},
      {"an iteration acquired twice", channel, "tile.channel_acquire %ring, %iteration",
       "tile.channel_acquire %ring, %c0", 0, "iteration 0 comes out of order: the slot's next iteration is 3",
       "tile.channel_acquire"},
  };
}

/// Adds the number of the next iteration where a slot of it is needed.
std::string with_next_iteration(const std::string& text, const std::string& to) {
  if (to.find("%next") == std::string::npos) return text;
  std::string all;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at) + 1;
    std::string line = text.substr(at, end - at);
    all += line;
    if (line.find("%iteration: i64") != std::string::npos) all += "        %next: i64 = tile.add %iteration, %c1\n";
    at = end;
  }
  return all;
}

}  // namespace

TEST_CASE("roles with a ring of slots give the matmul of one thread, in any order") {
  RingTest plain;
  REQUIRE(plain.run(plain_gemm()));
  for (RingKind kind : {channel, barriers}) {
    for (int seed = -1; seed < 6; ++seed) {
      RingTest test;
      bool ran = test.run(ring_gemm(kind), seed < 0 ? std::nullopt : std::optional<uint64_t>(uint64_t(seed)));
      INFO(test.said());
      REQUIRE(ran);
      CHECK(values(test.y) == values(plain.y));
    }
  }
}

TEST_CASE("a program whose waits are wrong is found in the first order that is tried") {
  for (const Mutation& mutation : mutations()) {
    std::string text = replaced(ring_gemm(mutation.kind), mutation.from, mutation.to, mutation.which);
    RingTest test;
    CHECK_FALSE(test.run(with_next_iteration(text, mutation.to)));
    INFO(mutation.what << "\n" << test.said());
    CHECK_THAT(test.said(), Catch::Contains("[tile-run]") && Catch::Contains("test.tir:") &&
                                Catch::Contains(mutation.message) && Catch::Contains(mutation.place));
    CHECK(test.diagnostics.error_count() == 1);
  }
}

TEST_CASE("a program whose waits are wrong is refused in every order") {
  for (const Mutation& mutation : mutations()) {
    std::string text = replaced(ring_gemm(mutation.kind), mutation.from, mutation.to, mutation.which);
    for (uint64_t seed = 0; seed < 3; ++seed) {
      RingTest test;
      INFO(mutation.what);
      CHECK_FALSE(test.run(with_next_iteration(text, mutation.to), seed));
    }
  }
}
