// Ranges of integers at Target level hold what random programs compute, and divisions of what fits 32 bits are of 32.

#include "passes/target/value_ranges.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "ir/target/ops.h"
#include "ir/text/verifier.h"
#include "passes/pass.h"
#include "unit/ir/text_fixture.h"
#include "unit/passes/target_eval.h"

using namespace tessera;
using test::TargetEval;

namespace {

/// A function that stores, of each i64 that it computes from four u32 and one i64 in memory, the value.
class RangesProgram {
 public:
  explicit RangesProgram(const std::string& ops) {
    std::string text =
        "module @m level(target) version(1) {\n  target.func @k.0(%x: ptr, %w: ptr, %y: ptr) {dims = [], grid = [1], "
        "outputs = 1, params = [!tensor<4, u32>, !tensor<1, i64>, !tensor<64, i64>], schedule = {}, scratch = 0, "
        "threads = 32} {\n%v4: i64 = target.load %w\n";
    for (int i = 0; i < 4; ++i) {
      text += fmt::format(
          "%o{0}: i64 = target.constant {{value = {1}}}\n%p{0}: ptr = target.offset %x, %o{0}\n%u{0}: u32 = "
          "target.load "
          "%p{0}\n%v{0}: i64 = target.cast %u{0}\n",
          i, 4 * i);
    }
    text += ops + "target.return\n  }\n}\n";
    auto read = parse_modules(f_.context, f_.sources.add("k.tir", text), f_.diagnostics);
    INFO(text << render_all(f_.diagnostics, {}));
    REQUIRE(read);
    module_ = std::move(read->front());
  }

  Op* func() { return module_->body()->front(); }

  void expand() {
    PassContext context{f_.diagnostics, find_machine("cuda:sm_90a"), nullptr, "", {}};
    REQUIRE(expand_math(*module_, context));
    REQUIRE(verify(*module_, f_.diagnostics));
  }

  std::vector<int64_t> run(const std::vector<uint32_t>& numbers, int64_t wide) {
    std::vector<uint8_t> buffers[3];
    buffers[0].resize(16);
    buffers[1].resize(8);
    buffers[2].resize(64 * 8);
    std::memcpy(buffers[0].data(), numbers.data(), 16);
    std::memcpy(buffers[1].data(), &wide, 8);
    TargetEval eval({&buffers[0], &buffers[1], &buffers[2]});
    eval.run(func());
    std::vector<int64_t> results(64);
    std::memcpy(results.data(), buffers[2].data(), buffers[2].size());
    return results;
  }

 private:
  TextFixture f_;
  std::unique_ptr<Module> module_;
};

std::string stored(int value, int place) {
  return fmt::format(
      "%o{0}: i64 = target.constant {{value = {1}}}\n%p{0}: ptr = target.offset %y, %o{0}\ntarget.store "
      "%v{0}, %p{0}\n",
      value, 8 * place);
}

/// Values 5 to 12 are constants, the others random ops of what came before.
std::string random_ops(std::mt19937_64& random, int first, int last) {
  constexpr std::string_view kinds[] = {"add", "sub", "mul", "floor_div", "mod", "shr", "and", "min", "max"};
  constexpr int64_t constants[] = {1, 3, 7, 128, 1000, 65537, -5, int64_t(1) << 40};
  std::string text;
  for (int i = 5; i < first; ++i)
    text += fmt::format("%v{}: i64 = target.constant {{value = {}}}\n", i, constants[i - 5]);
  for (int i = first; i < last; ++i) {
    std::string_view kind = kinds[random() % std::size(kinds)];
    text +=
        fmt::format("%v{}: i64 = target.{} %v{}, %v{}\n", i, kind, random() % i, random() % i) + stored(i, i - first);
  }
  return text;
}

}  // namespace

TEST_CASE("a range holds what random programs compute, and short divisions give the same") {
  std::mt19937_64 random(7);
  constexpr int first = 13, last = 43;
  int narrow = 0;
  for (int round = 0; round < 300; ++round) {
    std::string ops = random_ops(random, first, last);
    RangesProgram program(ops), expanded(ops);
    expanded.expand();
    std::vector<ValueRange> ranges;
    for (Op* op = program.func()->region()->front()->front(); op; op = op->next()) {
      if (op->is(target::info(target::OpKind::Store))) ranges.push_back(range_of(op->in(target::in::Store::value)));
    }
    for (int run = 0; run < 8; ++run) {
      std::vector<uint32_t> numbers(4);
      for (uint32_t& number : numbers)
        number = run == 0 ? ~0u : run == 1 ? 0 : uint32_t(random() >> (32 + random() % 32));
      int64_t wide = run == 0 ? INT64_MIN : int64_t(random()) >> random() % 64;
      std::vector<int64_t> results = program.run(numbers, wide), same = expanded.run(numbers, wide);
      for (int i = 0; i < last - first; ++i) {
        INFO(ops << "value " << first + i);
        CHECK(results[i] == same[i]);
        CHECK(ranges[i].least <= results[i]);
        CHECK(results[i] <= ranges[i].most);
        narrow += ranges[i].is_within(0, UINT32_MAX);
      }
    }
  }
  CHECK(narrow > 1000);
}

TEST_CASE("indices of programs are divided in 32 bits") {
  RangesProgram program(
      "%c: i32 = nv.cta_id\n%n: i64 = target.cast %c\n%a: i64 = target.constant {value = 127}\n%b: i64 = target.add "
      "%v0, "
      "%a\n%s: i64 = target.constant {value = 7}\n%e: i64 = target.shr %b, %s\n%v5: i64 = target.floor_div %n, "
      "%e\n%v6: "
      "i64 = target.mod %v5, %v1\n%v7: i64 = target.floor_div %v4, %v1\n" +
      stored(5, 0) + stored(6, 1) + stored(7, 2));
  program.expand();
  int divisions[2] = {};
  walk(program.func(), [&](Op* op) {
    if (op->info().elementwise == ElementwiseKind::Div) ++divisions[op->operand(0)->type()->dtype == DType::I64];
  });
  // The last one is of 64 bits where its numbers turn out to have them.
  CHECK(divisions[0] == 3);
  CHECK(divisions[1] == 1);
}
