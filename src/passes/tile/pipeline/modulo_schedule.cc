#include "passes/tile/pipeline/modulo_schedule.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "support/check.h"

namespace tessera::pipeline {

namespace {

constexpr int64_t never = std::numeric_limits<int64_t>::min() / 4;
constexpr int64_t endless = std::numeric_limits<int64_t>::max() / 4;  ///< of paths that go round positive cycles

int64_t modulo(int64_t a, int64_t b) {
  int64_t rest = a % b;
  return rest < 0 ? rest + b : rest;
}

/// The longest paths of dependences from each operation to each, where an iteration counts `-interval`; `never` for
/// none. With a positive cycle the diagonal has a positive number.
std::vector<std::vector<int64_t>> longest_paths(const ModuloProblem& problem, int64_t interval) {
  size_t n = problem.operations.size();
  std::vector<std::vector<int64_t>> paths(n, std::vector<int64_t>(n, never));
  for (const Dependence& each : problem.dependences) {
    int64_t& path = paths[each.from][each.to];
    path = std::max(path, each.delay - interval * each.distance);
  }
  for (size_t via = 0; via < n; ++via) {
    for (size_t from = 0; from < n; ++from) {
      if (paths[from][via] == never) continue;
      for (size_t to = 0; to < n; ++to) {
        if (paths[via][to] == never) continue;
        int64_t joined = std::min(paths[from][via] + paths[via][to], endless);
        paths[from][to] = std::max(paths[from][to], joined);
      }
    }
  }
  return paths;
}

bool allows(const ModuloProblem& problem, int64_t interval) {
  std::vector<std::vector<int64_t>> paths = longest_paths(problem, interval);
  for (size_t i = 0; i < paths.size(); ++i) {
    if (paths[i][i] > 0) return false;
  }
  return true;
}

/// The operations of a cycle whose delays are `interval` for each iteration that it spans.
std::vector<size_t> critical_cycle(const ModuloProblem& problem, int64_t interval) {
  std::vector<std::vector<int64_t>> paths = longest_paths(problem, interval);
  for (size_t first = 0; first < paths.size(); ++first) {
    if (paths[first][first] != 0) continue;
    std::vector<size_t> cycle{first};
    std::vector<bool> taken(paths.size());
    // Each step is a dependence from which the rest of the cycle is as long as it has to be.
    for (size_t at = first; !taken[at];) {
      taken[at] = true;
      int64_t left = at == first ? 0 : paths[at][first];
      for (const Dependence& each : problem.dependences) {
        if (each.from != at) continue;
        int64_t rest = each.to == first ? 0 : paths[each.to][first];
        if (rest == never || each.delay - interval * each.distance + rest != left) continue;
        at = each.to;
        if (at != first && !taken[at]) cycle.push_back(at);
        break;
      }
    }
    return cycle;
  }
  return {};
}

/// Reservations of the units, at one interval. With several phases they repeat in each part of it.
class Reservations {
 public:
  Reservations(const ModuloProblem& problem, int64_t interval)
      : problem_(problem), taken_(problem.units.size()) {
    for (UnitUse use : problem.units) {
      intervals_.push_back(use == UnitUse::Own ? interval : std::max<int64_t>(interval / problem.phases, 1));
    }
  }

  /// The operations that occupy what this one would at that time.
  std::vector<size_t> conflicts(size_t operation, int64_t time) const {
    std::vector<size_t> found;
    for (const Occupancy& each : problem_.operations[operation]) {
      for (const Range& other : taken_[each.unit]) {
        if (overlap(operation, each, time, other)) found.push_back(other.operation);
      }
    }
    return found;
  }

  bool is_free(size_t operation, int64_t time) const {
    return std::ranges::all_of(problem_.operations[operation], [&](const Occupancy& each) {
      return std::ranges::none_of(taken_[each.unit],
                                  [&](const Range& other) { return overlap(operation, each, time, other); });
    });
  }

  /// The first time of `from` and up to an interval later at which nothing is in the way.
  std::optional<int64_t> first_free(size_t operation, int64_t from) const {
    std::vector<int64_t> candidates{from};
    for (const Occupancy& each : problem_.operations[operation]) {
      for (const Range& other : taken_[each.unit]) {
        candidates.push_back(from + modulo(other.first + other.clocks - from, intervals_[each.unit]));
      }
    }
    std::ranges::sort(candidates);
    for (int64_t time : candidates) {
      if (is_free(operation, time)) return time;
    }
    return std::nullopt;
  }

  /// The last time up to `to` and no more than an interval earlier at which nothing is in the way.
  std::optional<int64_t> last_free(size_t operation, int64_t to) const {
    std::vector<int64_t> candidates{to};
    for (const Occupancy& each : problem_.operations[operation]) {
      for (const Range& other : taken_[each.unit]) {
        candidates.push_back(to - modulo(to - other.first + each.clocks, intervals_[each.unit]));
      }
    }
    std::ranges::sort(candidates, std::greater());
    for (int64_t time : candidates) {
      if (is_free(operation, time)) return time;
    }
    return std::nullopt;
  }

  void place(size_t operation, int64_t time) {
    for (const Occupancy& each : problem_.operations[operation]) {
      if (problem_.units[each.unit] == UnitUse::Mixed || each.clocks == 0) continue;
      taken_[each.unit].push_back({operation, modulo(time, intervals_[each.unit]), each.clocks});
    }
  }

  void remove(size_t operation) {
    for (auto& ranges : taken_) {
      std::erase_if(ranges, [&](const Range& range) { return range.operation == operation; });
    }
  }

 private:
  struct Range {
    size_t operation;
    int64_t first, clocks;
  };

  /// Whether the operation would occupy the unit at that time while another one does.
  bool overlap(size_t operation, const Occupancy& each, int64_t time, const Range& other) const {
    if (each.clocks <= 0 || other.operation == operation) return false;
    int64_t interval = intervals_[each.unit];
    return modulo(time - other.first, interval) < other.clocks || modulo(other.first - time, interval) < each.clocks;
  }

  const ModuloProblem& problem_;
  std::vector<int64_t> intervals_;  ///< of each unit
  std::vector<std::vector<Range>> taken_;
};

/// One try at an interval.
class Attempt {
 public:
  Attempt(const ModuloProblem& problem, int64_t interval)
      : problem_(problem), interval_(interval), units_(problem, interval), start_(problem.operations.size()),
        last_(problem.operations.size(), -1), height_(problem.operations.size()) {}

  std::optional<std::vector<int64_t>> run() {
    find_heights();
    size_t budget = 8 * start_.size();
    for (std::optional<size_t> next = highest(); next; next = highest()) {
      if (budget-- == 0) return std::nullopt;
      put(*next);
    }
    std::vector<int64_t> times;
    for (const std::optional<int64_t>& time : start_) times.push_back(*time);
    return times;
  }

 private:
  /// The height of an operation is the longest path to the end of the iteration.
  void find_heights() {
    bool changed = true;
    for (size_t round = 0; changed && round <= start_.size(); ++round) {
      changed = false;
      for (const Dependence& each : problem_.dependences) {
        int64_t height = height_[each.to] + each.delay - interval_ * each.distance;
        if (height <= height_[each.from]) continue;
        height_[each.from] = height;
        changed = true;
      }
    }
  }

  /// The operation without a time whose height is greatest; of equal ones the first of the source.
  std::optional<size_t> highest() const {
    std::optional<size_t> found;
    for (size_t i = 0; i < start_.size(); ++i) {
      if (!start_[i] && (!found || height_[i] > height_[*found])) found = i;
    }
    return found;
  }

  void put(size_t operation) {
    int64_t earliest = problem_.earliest.empty() ? 0 : problem_.earliest[operation];
    for (const Dependence& each : problem_.dependences) {
      if (each.to != operation || each.from == operation || !start_[each.from]) continue;
      earliest = std::max(earliest, *start_[each.from] + each.delay - interval_ * each.distance);
    }
    std::optional<int64_t> free = units_.first_free(operation, earliest);
    int64_t time = free.value_or(std::max(earliest, last_[operation] + 1));
    for (size_t other : units_.conflicts(operation, time)) remove(other);
    units_.place(operation, time);
    start_[operation] = last_[operation] = time;
    for (const Dependence& each : problem_.dependences) {
      if (each.from != operation || each.to == operation || !start_[each.to]) continue;
      if (*start_[each.to] < time + each.delay - interval_ * each.distance) remove(each.to);
    }
  }

  void remove(size_t operation) {
    units_.remove(operation);
    start_[operation].reset();
  }

  const ModuloProblem& problem_;
  int64_t interval_;
  Reservations units_;
  std::vector<std::optional<int64_t>> start_;
  std::vector<int64_t> last_, height_;
};

}  // namespace

std::pair<int64_t, size_t> resource_bound(const ModuloProblem& problem) {
  std::vector<int64_t> busy(problem.units.size());
  for (const std::vector<Occupancy>& operation : problem.operations) {
    for (const Occupancy& each : operation) {
      busy[each.unit] += problem.units[each.unit] == UnitUse::Own ? each.clocks : each.clocks * problem.phases;
    }
  }
  if (busy.empty()) return {1, 0};
  size_t busiest = size_t(std::ranges::max_element(busy) - busy.begin());
  return {std::max<int64_t>(busy[busiest], 1), busiest};
}

std::pair<int64_t, std::vector<size_t>> recurrence_bound(const ModuloProblem& problem) {
  int64_t high = 1;
  for (const Dependence& each : problem.dependences) high += std::max<int64_t>(each.delay, 0);
  TSR_CHECK(allows(problem, high), "the dependences of an iteration form a cycle");
  int64_t low = 1;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (allows(problem, middle)) high = middle;
    else low = middle + 1;
  }
  return {high, high > 1 ? critical_cycle(problem, high) : std::vector<size_t>()};
}

ModuloSchedule schedule(const ModuloProblem& problem, int64_t least) {
  ModuloSchedule result;
  std::tie(result.resource_bound, result.busiest) = resource_bound(problem);
  std::tie(result.recurrence_bound, result.recurrence) = recurrence_bound(problem);
  for (result.interval = std::max({result.resource_bound, result.recurrence_bound, least});;
       result.interval += std::max<int64_t>(result.interval / 64, 1)) {
    if (auto start = Attempt(problem, result.interval).run()) {
      result.start = std::move(*start);
      break;
    }
  }
  TSR_CHECK(is_valid(problem, result), "a modulo schedule breaks a dependence or occupies a unit twice");
  return result;
}

void move_later(const ModuloProblem& problem, ModuloSchedule& schedule, const std::function<double()>& cost) {
  Reservations units(problem, schedule.interval);
  std::vector<size_t> order(problem.operations.size());
  std::iota(order.begin(), order.end(), size_t(0));
  for (size_t i : order) units.place(i, schedule.start[i]);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return schedule.start[a] > schedule.start[b]; });
  double least = cost();
  for (size_t i : order) {
    std::optional<int64_t> latest;
    for (const Dependence& each : problem.dependences) {
      if (each.from != i || each.to == i) continue;
      int64_t before = schedule.start[each.to] - each.delay + schedule.interval * each.distance;
      latest = std::min(latest.value_or(before), before);
    }
    int64_t now = schedule.start[i];
    if (!latest || *latest <= now) continue;
    units.remove(i);
    std::optional<int64_t> later = units.last_free(i, *latest);
    schedule.start[i] = later && *later > now ? *later : now;
    double moved = cost();
    if (moved < least) least = moved;
    else schedule.start[i] = now;
    units.place(i, schedule.start[i]);
  }
}

bool is_valid(const ModuloProblem& problem, const ModuloSchedule& schedule) {
  for (const Dependence& each : problem.dependences) {
    int64_t earliest = schedule.start[each.from] + each.delay - schedule.interval * each.distance;
    if (schedule.start[each.to] < earliest) return false;
  }
  for (size_t i = 0; i < problem.earliest.size(); ++i) {
    if (schedule.start[i] < problem.earliest[i]) return false;
  }
  if (resource_bound(problem).first > schedule.interval) return false;
  Reservations units(problem, schedule.interval);
  for (size_t i = 0; i < problem.operations.size(); ++i) {
    if (!units.conflicts(i, schedule.start[i]).empty()) return false;
    units.place(i, schedule.start[i]);
  }
  return true;
}

}  // namespace tessera::pipeline
