// Lines of what programs printed, and buffers that are refused.

#include "runtime/format/print_text.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <limits>

using namespace tessera::format;

namespace {

constexpr int64_t huge = std::numeric_limits<int64_t>::max();

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// A scalar per program and iteration, all of them shown.
struct Scalars {
  Scalars(std::string label, int64_t programs, std::vector<int64_t> iterations, int64_t kept, uint32_t loop) {
    std::vector<int32_t> numbers(size_t(programs * kept));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = int32_t(i);
    values = bytes_of(numbers);
    shown = std::string(numbers.size(), '\1');
    item = {label, "", Dtype::I32, {programs, kept}, {}, std::move(iterations), loop, values, shown};
  }
  std::string values, shown;
  PrintedItem item;
};

}  // namespace

TEST_CASE("programs are printed in order, loops iteration by iteration of the outermost", "[format]") {
  Scalars a("a", 2, {2}, 2, 0), b("b", 2, {2, 3}, 4, 0), c("c", 2, {}, 1, 2);
  auto text = printed_text(std::vector<int64_t>{1, 2}, std::vector{a.item, b.item, c.item});
  REQUIRE(text);
  CHECK(*text ==
        "program [0, 0], iteration 0: a: 0\n"
        "program [0, 0], iteration [0, 0]: b: 0\nprogram [0, 0], iteration [0, 1]: b: 1\nprogram [0, 0], iteration [0, "
        "2]: b: 2\n"
        "program [0, 0], iteration 1: a: 1\n"
        "program [0, 0], iteration [1, 0]: b: 3\nprogram [0, 0], iteration [1, 0]: b: the first 4 iterations of 6\n"
        "program [0, 0]: c: 0\n"
        "program [0, 1], iteration 0: a: 2\n"
        "program [0, 1], iteration [0, 0]: b: 4\nprogram [0, 1], iteration [0, 1]: b: 5\nprogram [0, 1], iteration [0, "
        "2]: b: 6\n"
        "program [0, 1], iteration 1: a: 3\n"
        "program [0, 1], iteration [1, 0]: b: 7\nprogram [0, 1], iteration [1, 0]: b: the first 4 iterations of 6\n"
        "program [0, 1]: c: 1\n");
}

TEST_CASE("of a tile the elements are printed that are shown", "[format]") {
  std::string values = bytes_of<float>({1, 2, 3, 0.1f, 5, -0.0f});
  std::string shown("\1\0\1\1\1\0", 6), cut = std::string(6, '\1');
  PrintedItem item{"v", "f.tsr:1:2", Dtype::F32, {1, 1, 2, 3}, {2, 3}, {}, 0, values, shown};
  auto printed = [&] { return printed_text(std::vector<int64_t>{1}, std::vector{item}).value_or("nothing"); };
  const std::string begin = "f.tsr:1:2: program [0]: v";
  CHECK(printed() == begin + "[0, 0]: 1\n" + begin + "[0, 2]: 3\n" + begin + "[1, 0:2]: 0.1, 5\n");
  item.shown = cut;
  item.extents = {2, 64};
  CHECK(printed() == begin + "[0, 0:3]: 1, 2, 3\n" + begin + "[1, 0:3]: 0.1, 5, -0\n" + begin +
                         ": the first [2, 3] of [2, 64]\n");
  item.values = {};
  item.label = "a\n\x1b[2J\xe2\x80\xae";
  CHECK(printed() == "f.tsr:1:2: program [0]: a\\x0a\\x1b[2J\\u202e\n");
}

TEST_CASE("lines beyond the bound are counted", "[format]") {
  Scalars many("n", int64_t(most_printed_lines) + 5, {}, 1, 0);
  auto text = printed_text(std::vector<int64_t>{int64_t(most_printed_lines) + 5}, std::vector{many.item});
  REQUIRE(text);
  CHECK(text->ends_with("program [999]: n: 999\n... and 5 more lines\n"));
}

TEST_CASE("buffers of other programs or sizes are not printed", "[format]") {
  Scalars one("x", 2, {3}, 3, 0);
  auto refused = [&](const std::function<void(PrintedItem&)>& change, std::vector<int64_t> grid = {2}) {
    PrintedItem item = one.item;
    change(item);
    return !printed_text(grid, std::vector{item});
  };
  CHECK_FALSE(refused([](PrintedItem&) {}));
  CHECK(refused([](PrintedItem&) {}, {3}));
  CHECK(refused([](PrintedItem&) {}, {-1, -2}));
  CHECK(refused([](PrintedItem&) {}, {huge, huge}));
  CHECK(refused([](PrintedItem& p) { p.shape = {2}; }));
  CHECK(refused([](PrintedItem& p) { p.shape = {2, 4}; }));
  CHECK(refused([](PrintedItem& p) { p.shape = {2, huge}; }));
  CHECK(refused([](PrintedItem& p) { p.extents = {1}; }));
  CHECK(refused([](PrintedItem& p) { p.values.remove_suffix(1); }));
  CHECK(refused([](PrintedItem& p) { p.dtype = Dtype::I64; }));
  // Iterations may be anything: they number lines.
  for (std::vector<int64_t> iterations : {{huge, huge, huge}, {0, 0}, {-1, -1}, std::vector<int64_t>()}) {
    CHECK_FALSE(refused([&](PrintedItem& p) { p.trip_counts = iterations; }));
    CHECK_FALSE(refused([&](PrintedItem& p) {
      p.shape = {2, 0}, p.trip_counts = iterations, p.values = p.shown = {};
    }));
  }
}
