// Modulo schedules: the bounds of known loops, and random loops beside a search through all schedules.

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <random>

#include "passes/tile/pipeline/modulo_schedule.h"

using namespace tessera::pipeline;

namespace {

ModuloProblem random_problem(std::mt19937& random, size_t most_operations) {
  auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
  ModuloProblem problem{{UnitUse::Alone, UnitUse::Alone, UnitUse::Mixed}};
  size_t count = size_t(1 + below(int64_t(most_operations)));
  for (size_t i = 0; i < count; ++i) {
    problem.operations.emplace_back();
    for (size_t unit = 0; unit < problem.units.size(); ++unit) {
      if (below(2)) problem.operations.back().push_back({unit, below(5)});
    }
  }
  for (int64_t i = below(2 * int64_t(count)); i > 0; --i) {
    size_t from = size_t(below(int64_t(count))), to = size_t(below(int64_t(count)));
    problem.dependences.push_back({from, to, below(7), from < to ? below(2) : 1 + below(2)});
  }
  return problem;
}

/// Whether any schedule has the interval: all starts within the length of the longest chain are tried.
bool has_schedule(const ModuloProblem& problem, int64_t interval) {
  int64_t length = interval;
  for (const Dependence& each : problem.dependences) length += each.delay;
  ModuloSchedule tried{interval, std::vector<int64_t>(problem.operations.size())};
  std::function<bool(size_t)> from = [&](size_t i) {
    if (i == tried.start.size()) return is_valid(problem, tried);
    for (tried.start[i] = 0; tried.start[i] < length; ++tried.start[i]) {
      if (from(i + 1)) return true;
    }
    return false;
  };
  return from(0);
}

}  // namespace

TEST_CASE("a loop without dependences is bound by its busiest unit") {
  ModuloProblem problem{{UnitUse::Alone, UnitUse::Mixed}, {{{0, 3}, {1, 9}}, {{0, 4}}, {{1, 2}}}, {}};
  CHECK(resource_bound(problem) == std::pair<int64_t, size_t>(11, 1));
  ModuloSchedule made = schedule(problem);
  CHECK(made.interval == 11);
  CHECK(made.recurrence.empty());
}

TEST_CASE("a cycle of dependences bounds the interval by its delays over its iterations") {
  // 0 -> 1 -> 0 of the next but one iteration: 7 clocks in two iterations.
  ModuloProblem problem{{UnitUse::Alone}, {{{0, 1}}, {{0, 1}}, {{0, 1}}}, {{0, 1, 4, 0}, {1, 0, 3, 2}, {1, 2, 50, 0}}};
  auto [bound, cycle] = recurrence_bound(problem);
  CHECK(bound == 4);
  ModuloSchedule made = schedule(problem);
  CHECK(made.interval == 4);
  CHECK(made.start[2] >= made.start[1] + 50);  // a long chain lengthens the iteration, not the interval
}

TEST_CASE("paths along many cycles do not overflow") {
  // They double with each operation: the preset `sanitize` finds sums that leave 64 bits.
  ModuloProblem problem{{UnitUse::Alone}};
  constexpr size_t count = 64;
  for (size_t from = 0; from < count; ++from) {
    problem.operations.push_back({});
    for (size_t to = 0; to < count; ++to) problem.dependences.push_back({from, to, 1000, 1});
  }
  CHECK(recurrence_bound(problem).first == 1000);
}

TEST_CASE("the cycle that bounds an interval is named") {
  ModuloProblem problem{{UnitUse::Alone}, {{}, {}, {}}, {{0, 1, 5, 0}, {1, 2, 5, 0}, {2, 1, 6, 1}, {2, 0, 1, 3}}};
  auto [bound, cycle] = recurrence_bound(problem);
  CHECK(bound == 11);
  std::ranges::sort(cycle);
  CHECK(cycle == std::vector<size_t>{1, 2});
}

TEST_CASE("a broken dependence and a unit that is occupied twice are found") {
  ModuloProblem problem{{UnitUse::Alone}, {{{0, 2}}, {{0, 2}}}, {{0, 1, 3, 0}}};
  ModuloSchedule made = schedule(problem);
  REQUIRE(is_valid(problem, made));
  ModuloSchedule early = made;
  early.start[1] = early.start[0] + 2;
  CHECK_FALSE(is_valid(problem, early));
  ModuloSchedule twice = made;
  twice.start[1] = twice.start[0] + made.interval;
  CHECK_FALSE(is_valid(problem, twice));
}

TEST_CASE("later starts keep a schedule valid and cost less") {
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    ModuloProblem problem = random_problem(random, 12);
    ModuloSchedule made = schedule(problem);
    auto held = [&] {
      double sum = 0;
      for (const Dependence& each : problem.dependences) {
        sum += double(made.start[each.to] + each.distance * made.interval - made.start[each.from]);
      }
      return sum;
    };
    double before = held();
    move_later(problem, made, held);
    CHECK(is_valid(problem, made));
    CHECK(held() <= before);
  }
}

TEST_CASE("random loops have the least interval that any schedule has, nearly always") {
  std::mt19937 random(1994);
  int tried = 0, longer = 0;
  for (int i = 0; i < 300; ++i) {
    ModuloProblem problem = random_problem(random, 4);
    ModuloSchedule made = schedule(problem);
    REQUIRE(is_valid(problem, made));
    CHECK(made.interval >= std::max(made.resource_bound, made.recurrence_bound));
    ++tried;
    int64_t bound = std::max(made.resource_bound, made.recurrence_bound);
    if (made.interval == bound) continue;
    // Above the bounds the heuristic may miss a schedule; it may not miss many.
    bool missed = false;
    for (int64_t interval = bound; interval < made.interval; ++interval) missed |= has_schedule(problem, interval);
    longer += missed;
  }
  CHECK(tried == 300);
  CHECK(longer <= 6);
}

TEST_CASE("phases share a unit without meeting, and have units of their own") {
  // Two phases need 2 * (3 + 1) clocks of the shared unit; of their own one each phase needs 2 + 1.
  ModuloProblem problem{{UnitUse::Alone, UnitUse::Own}, {{{0, 3}, {1, 2}}, {{0, 1}, {1, 1}}}, {{0, 1, 4, 0}}, 2};
  CHECK(resource_bound(problem).first == 8);
  ModuloSchedule made = schedule(problem);
  CHECK(made.interval == 8);
  CHECK(is_valid(problem, made));
  CHECK(made.start[1] % 4 == (made.start[0] + 3) % 4);
  problem.earliest = {5, 0};
  CHECK(schedule(problem).start[0] >= 5);
  problem.phases = 1;
  CHECK(schedule(problem).interval == 4);
}
