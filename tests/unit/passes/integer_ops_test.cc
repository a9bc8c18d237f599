// What expand_math writes for divisions of integers by numbers, computed by target_eval.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "ir/text/verifier.h"
#include "passes/pass.h"
#include "unit/ir/text_fixture.h"
#include "unit/passes/target_eval.h"

using namespace tessera;
using test::TargetEval;

namespace {

/// What expand_math makes for a GPU of a kernel with this body, run on the buffers; `counts` are those of the ops run.
void run_expanded(const std::string& body, std::vector<std::vector<uint8_t>>& buffers,
                  std::map<std::string_view, int>& counts) {
  TextFixture f;
  std::string parameters, types;
  for (size_t i = 0; i < buffers.size(); ++i) {
    parameters += fmt::format("{}%x{}: ptr", i ? ", " : "", i);
    types += fmt::format("{}!tensor<{}, i64>", i ? ", " : "", buffers[i].size() / 8);
  }
  std::string text = fmt::format(
      "module @m level(target) version(1) {{\n  target.func @k.0({}) {{dims = [], grid = [1], outputs = 1, "
      "params = [{}], schedule = {{}}, scratch = 0, threads = 32}} {{\n{}target.return\n  }}\n}}\n",
      parameters, types, body);
  auto read = parse_modules(f.context, f.sources.add("k.tir", text), f.diagnostics);
  INFO(render_all(f.diagnostics, {}));
  REQUIRE(read);
  PassContext context{f.diagnostics, find_machine("cuda:sm_90a"), nullptr, "", {}};
  REQUIRE(expand_math(*read->front(), context));
  REQUIRE(verify(*read->front(), f.diagnostics));
  std::vector<std::vector<uint8_t>*> all;
  for (auto& bytes : buffers) all.push_back(&bytes);
  TargetEval eval(all);
  eval.run(read->front()->body()->front());
  counts = eval.counts();
}

std::vector<uint8_t> bytes_of(const std::vector<int64_t>& numbers) {
  std::vector<uint8_t> bytes(numbers.size() * 8);
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

std::vector<int64_t> numbers_of(const std::vector<uint8_t>& bytes) {
  std::vector<int64_t> numbers(bytes.size() / 8);
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

/// floor(x / divisor) and x mod divisor of each number, as a GPU computes them.
std::vector<int64_t> divided(const std::vector<int64_t>& numbers, int64_t divisor,
                             std::map<std::string_view, int>& counts) {
  std::string type = fmt::format("reg<i64 x {}>", numbers.size());
  std::vector<std::vector<uint8_t>> buffers{bytes_of(numbers), bytes_of(numbers), bytes_of(numbers)};
  run_expanded(fmt::format("%a: {0} = target.load %x0\n%c: {0} = target.constant {{value = {1}}}\n%q: {0} = "
                           "target.floor_div %a, %c\n%r: {0} = target.mod %a, %c\ntarget.store %q, %x1\n"
                           "target.store %r, %x2\n",
                           type, divisor),
               buffers, counts);
  std::vector<int64_t> results = numbers_of(buffers[1]), rest = numbers_of(buffers[2]);
  results.insert(results.end(), rest.begin(), rest.end());
  return results;
}

/// What a GPU makes of one number and another that only a run knows: quotient towards zero, floor and modulo.
std::vector<int64_t> divided_when_run(int64_t a, int64_t b, std::map<std::string_view, int>& counts) {
  std::vector<std::vector<uint8_t>> buffers{bytes_of({a, b}), bytes_of({0, 0, 0})};
  run_expanded(
      "%eight: i64 = target.constant {value = 8}\n%two: i64 = target.constant {value = 16}\n%at: ptr = target.offset "
      "%x0, %eight\n%a: i64 = target.load %x0\n%b: i64 = target.load %at\n%p: i64 = target.div %a, %b\n%q: i64 = "
      "target.floor_div %a, %b\n%r: i64 = target.mod %a, %b\n%y: ptr = target.offset %x1, %eight\n%z: ptr = "
      "target.offset %x1, %two\ntarget.store %p, %x1\ntarget.store %q, %y\ntarget.store %r, %z\n",
      buffers, counts);
  return numbers_of(buffers[1]);
}

}  // namespace

TEST_CASE("numbers of 64 bits are divided by small ones in digits, rounded down") {
  std::mt19937_64 random(1);
  for (int64_t divisor : {3, 6, 7, 10, 12, 100, 641, 65535, 65536, 65537}) {
    std::vector<int64_t> numbers = {0, 1, -1, divisor, -divisor, divisor - 1, 1 - divisor, INT64_MAX, INT64_MIN};
    for (int64_t more :
         {-INT64_MAX, int64_t(1) << 32, (int64_t(1) << 32) - 1, -(int64_t(1) << 32), int64_t(0xffff0000)})
      numbers.push_back(more);
    while (numbers.size() < 64) numbers.push_back(int64_t(random()) >> (random() % 64));
    std::map<std::string_view, int> counts;
    std::vector<int64_t> results = divided(numbers, divisor, counts);
    for (size_t i = 0; i < numbers.size(); ++i) {
      int64_t remainder = (numbers[i] % divisor + divisor) % divisor;
      INFO(numbers[i] << " by " << divisor);
      __int128 down = (__int128(numbers[i]) - remainder) / divisor;
      CHECK(results[i] == int64_t(down));
      CHECK(results[numbers.size() + i] == remainder);
    }
    // Three steps for both; a wide divisor, or a power of two, has no digits.
    if (divisor < 65536) CHECK(counts["target.div"] == 3);
  }
}

TEST_CASE("numbers of 64 bits that turn out to have 32 are divided as such") {
  constexpr int64_t most = INT64_MAX, least = INT64_MIN, wide = int64_t(1) << 32;
  std::vector<int64_t> numbers = {0, 1, 3, 7, 1000, -1, -3, -7, wide - 1, wide, wide + 5, -wide, most, least};
  for (int64_t a : numbers) {
    for (int64_t b : numbers) {
      std::map<std::string_view, int> counts;
      std::vector<int64_t> results = divided_when_run(a, b, counts);
      INFO(a << " by " << b);
      if (b == 0) {
        CHECK(results == std::vector<int64_t>{0, 0, 0});
      } else {
        __int128 quotient = __int128(a) / b, remainder = __int128(a) % b;
        bool lower = remainder != 0 && (remainder < 0) != (b < 0);
        CHECK(results[0] == int64_t(quotient));
        CHECK(results[1] == int64_t(quotient - lower));
        CHECK(results[2] == int64_t(remainder + (lower ? b : 0)));
      }
      // One division towards zero and one down, each of one kind.
      CHECK(counts["target.div"] == 2);
      bool is_short = a >= 0 && b >= 0 && a < wide && b < wide;
      CHECK(counts["target.cond_branch"] == 2);
      CHECK((counts["target.neg"] == 0) == is_short);
    }
  }
}
