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

/// floor(x / divisor) and x mod divisor of each number, as a GPU computes them.
std::vector<int64_t> divided(const std::vector<int64_t>& numbers, int64_t divisor,
                             std::map<std::string_view, int>& counts) {
  TextFixture f;
  std::string lanes = std::to_string(numbers.size()), type = "reg<i64 x " + lanes + ">";
  std::string text = fmt::format(
      "module @m level(target) version(1) {{\n  target.func @k.0(%x: ptr, %y: ptr, %z: ptr) {{dims = [], grid = [1], "
      "outputs = 2, params = [!tensor<{0}, i64>, !tensor<{0}, i64>, !tensor<{0}, i64>], schedule = {{}}, scratch = 0, "
      "threads = 32}} {{\n%a: {1} = target.load %x\n%c: {1} = target.constant {{value = {2}}}\n%q: {1} = "
      "target.floor_div %a, %c\n%r: {1} = target.mod %a, %c\ntarget.store %q, %y\ntarget.store %r, %z\n"
      "target.return\n  }}\n}}\n",
      lanes, type, divisor);
  auto read = parse_modules(f.context, f.sources.add("k.tir", text), f.diagnostics);
  INFO(render_all(f.diagnostics, {}));
  REQUIRE(read);
  PassContext context{f.diagnostics, find_machine("cuda:sm_90a"), nullptr, "", {}};
  REQUIRE(expand_math(*read->front(), context));
  REQUIRE(verify(*read->front(), f.diagnostics));
  std::vector<uint8_t> buffers[3];
  for (auto& bytes : buffers) bytes.resize(numbers.size() * 8);
  std::memcpy(buffers[0].data(), numbers.data(), buffers[0].size());
  TargetEval eval({&buffers[0], &buffers[1], &buffers[2]});
  eval.run(read->front()->body()->front());
  counts = eval.counts();
  std::vector<int64_t> results(2 * numbers.size());
  std::memcpy(results.data(), buffers[1].data(), buffers[1].size());
  std::memcpy(results.data() + numbers.size(), buffers[2].data(), buffers[2].size());
  return results;
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
    // Three steps for each of the two; a wide divisor, or a power of two, has no digits.
    if (divisor < 65536) CHECK(counts["target.div"] == 6);
  }
}
