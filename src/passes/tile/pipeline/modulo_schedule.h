#pragma once
// Modulo scheduling: a schedule of one iteration that is repeated at a constant interval, so that iterations overlap.
//
// Iterative modulo scheduling of B. R. Rau, "Iterative Modulo Scheduling: An Algorithm for Software Pipelining Loops",
// MICRO 27, 1994. Times are clocks. An operation occupies units for many clocks at once, so a unit's reservations are
// ranges on a circle of the interval's length instead of cells of a table.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace tessera::pipeline {

/// How operations share a unit: one at a time, or mixed, so that only the sum of their clocks counts. Of the last kind
/// each phase has a unit of its own, for one operation at a time.
enum class UnitUse : uint8_t { Alone, Mixed, Own };

/// A unit that an operation occupies from its start on, for some clocks.
struct Occupancy {
  size_t unit;
  int64_t clocks;
};

/// `to` of an iteration starts `delay` clocks or more after `from` of the iteration `distance` before it.
struct Dependence {
  size_t from, to;
  int64_t delay, distance;
};

struct ModuloProblem {
  std::vector<UnitUse> units;
  std::vector<std::vector<Occupancy>> operations;  ///< what each one occupies
  std::vector<Dependence> dependences;             ///< those of distance 0 form no cycle
  /// As many groups of warps run the same operations, an even part of an interval after one another.
  int64_t phases = 1;
  std::vector<int64_t> earliest = {};  ///< the first clock at which each operation may start; empty: 0
};

struct ModuloSchedule {
  int64_t interval = 0;              ///< clocks from an iteration to the next
  std::vector<int64_t> start;        ///< of each operation, from 0 on
  int64_t resource_bound = 0;        ///< clocks that the busiest unit needs for an iteration
  size_t busiest = 0;                ///< that unit
  int64_t recurrence_bound = 0;      ///< the least interval that cycles of dependences allow
  std::vector<size_t> recurrence;    ///< the operations of a cycle that has it, in order; empty: there is no cycle
};

/// The most clocks that a unit is occupied by an iteration, and the unit.
std::pair<int64_t, size_t> resource_bound(const ModuloProblem& problem);

/// The least interval that cycles of dependences allow, and such a cycle.
std::pair<int64_t, std::vector<size_t>> recurrence_bound(const ModuloProblem& problem);

/// A schedule of a short interval, `least` or more. The interval is the greatest of that and the two bounds where the
/// heuristic finds a schedule there, else a little more.
ModuloSchedule schedule(const ModuloProblem& problem, int64_t least = 1);

/// Moves operations to later times where that makes `cost` less. Dependences and units stay kept.
void move_later(const ModuloProblem& problem, ModuloSchedule& schedule, const std::function<double()>& cost);

/// Whether all dependences hold and no unit has more than it can do.
bool is_valid(const ModuloProblem& problem, const ModuloSchedule& schedule);

}  // namespace tessera::pipeline
