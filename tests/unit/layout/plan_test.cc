// Plans are run on tiles whose elements say which element they are.

#include <catch2/catch.hpp>
#include <map>

#include "ir/layout/conversion.h"
#include "ir/layout/reduction.h"
#include "unit/layout/samples.h"

using namespace tessera::layout;

namespace {

/// What all threads hold, by (register, lane, warp).
class Machine {
 public:
  explicit Machine(const Layout& layout) {
    samples::each_place(layout,
                        [&](const Owner& owner) { held_[owner] = samples::at(layout, owner); });
  }
  const Point& at(int reg, int lane, int warp) const { return held_.at({reg, lane, warp}); }

  /// True if the conversion leaves every thread with what `to` says.
  bool converts(const Conversion& plan, const Layout& to) const {
    std::map<Owner, Point> result;
    for (int warp = 0; warp < to.warps(); ++warp) {
      for (int lane = 0; lane < to.lanes(); ++lane) {
        for (int reg = 0; reg < to.registers_per_thread(); ++reg) {
          if (plan.kind == ConversionKind::Nothing) result[{reg, lane, warp}] = at(reg, lane, warp);
          if (plan.kind == ConversionKind::Registers)
            result[{reg, lane, warp}] = at(plan.registers[reg], lane, warp);
        }
      }
      for (const ShuffleRound& round : plan.rounds) {
        for (int lane = 0; lane < to.lanes(); ++lane) {
          int from = plan.source_lane(round, lane);
          if (round.destination[lane] < 0) continue;
          if (round.source[from] < 0) return false;
          if (!result
                   .emplace(Owner{round.destination[lane], lane, warp},
                            at(round.source[from], from, warp))
                   .second) {
            return false;  // an element that was there already
          }
        }
      }
    }
    bool right = true;
    samples::each_place(
        to, [&](const Owner& owner) { right = right && result[owner] == samples::at(to, owner); });
    return right;
  }

 private:
  std::map<Owner, Point> held_;
};

/// A layout of the same tile in which lanes, registers or warps mean something else.
Layout shuffled(const Layout& layout, std::mt19937& random) {
  LayoutSpec spec = layout.spec();
  for (InputDim dim : all_input_dims) {
    if (random() % 2) std::shuffle(spec.of(dim).begin(), spec.of(dim).end(), random);
  }
  auto &registers = spec.of(InputDim::Register), &lanes = spec.of(InputDim::Lane),
       &warps = spec.of(InputDim::Warp);
  if (!registers.empty() && !lanes.empty() && random() % 2)
    std::swap(registers.back(), lanes.front());
  if (!warps.empty() && !lanes.empty() && random() % 4 == 0) std::swap(warps.back(), lanes.back());
  if (!registers.empty() && random() % 3 == 0) registers.insert(registers.begin(), Point{});
  std::optional<Layout> made = Layout::make(spec);
  return made ? *made : layout;
}

/// Runs a reduction on lists of elements; every result must be exactly its elements, each once.
bool reduces(const Layout& source, int axis, bool keep) {
  Reduction plan = plan_reduction(source, axis, keep);
  const Layout& result = plan.result;
  using List = std::vector<Point>;
  std::map<Owner, List> partial;
  samples::each_place(result, [&](const Owner& owner) {
    for (int reg : plan.registers[size_t(owner.reg)]) {
      partial[owner].push_back(source.coordinates(reg, owner.lane, owner.warp));
    }
  });
  auto add = [](List& to, const List& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (int mask : plan.lane_masks) {
    std::map<Owner, List> before = partial;
    for (auto& [owner, list] : partial)
      add(list, before.at({owner.reg, owner.lane ^ mask, owner.warp}));
  }
  if (plan.slot_count() > 1) {
    std::map<std::pair<int, Point>, List> memory;
    for (const auto& [owner, list] : partial) {
      bool stores = source.is_canonical({0, 0, owner.warp}) &&
                    result.is_canonical({owner.reg, owner.lane, 0});
      if (!stores) continue;
      if (!memory.emplace(std::pair(plan.slot_of(owner.warp), samples::at(result, owner)), list)
               .second)
        return false;
    }
    for (auto& [owner, list] : partial) {
      list.clear();
      for (int slot = 0; slot < plan.slot_count(); ++slot)
        add(list, memory.at({slot, samples::at(result, owner)}));
    }
  }
  for (auto& [owner, list] : partial) {
    // As many different ones as the axis is long, all with the result's other coordinates.
    std::sort(list.begin(), list.end());
    bool once = std::adjacent_find(list.begin(), list.end()) == list.end();
    if (!once || int(list.size()) != source.extent(axis)) return false;
    Layout kept = keep ? result : result.insert_axis(axis);
    Point expected = samples::at(kept, owner);
    for (Point& element : list) {
      element[size_t(axis)] = 0;
      if (element != expected) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("conversions give every thread what the target says") {
  std::map<ConversionKind, int> kinds;
  std::mt19937 random(7);
  for (const Layout& from : samples::all(300)) {
    if (from.element_count() > 8192) continue;
    Machine machine(from);
    for (int i = 0; i < 4; ++i) {
      Layout to = i == 0 ? from : shuffled(from, random);
      Conversion plan = plan_conversion(from, to, 1 << 20);
      ++kinds[plan.kind];
      if (plan.kind == ConversionKind::Shared) {
        bool warps_move = false;
        for (int warp = 0; warp < from.warps(); ++warp) {
          warps_move =
              warps_move || from.part(InputDim::Warp, warp) != to.part(InputDim::Warp, warp);
        }
        CHECK(warps_move);
        continue;
      }
      CHECK(machine.converts(plan, to));
      CHECK((i != 0 || plan.kind == ConversionKind::Nothing));
    }
  }
  for (ConversionKind kind : {ConversionKind::Nothing, ConversionKind::Registers,
                              ConversionKind::Shuffles, ConversionKind::Shared}) {
    CHECK(kinds[kind] > 20);
  }
}

TEST_CASE("an exchange of a register bit with a lane bit takes one shuffle of half the registers") {
  Point one{1}, two{2};
  Layout from = *Layout::make({1, {{{one}, {two}}}, {}}),
         to = *Layout::make({1, {{{two}, {one}}}, {}});
  Conversion plan = plan_conversion(from, to);
  CHECK(plan.kind == ConversionKind::Shuffles);
  CHECK(plan.rounds.size() == 2);
  CHECK(plan.shuffle_count() == 1);
  CHECK(plan_conversion(from, to, 0).kind == ConversionKind::Shared);
}

TEST_CASE("a converted accumulator is an operand") {
  CHECK(plan_conversion(*wgmma_accumulator(64, 128, 4), *wgmma_operand_a(64, 128, 4)).kind ==
        ConversionKind::Nothing);
  CHECK(plan_conversion(*mma_accumulator(64, 64, 4, 1), *mma_operand_a(64, 64, 4, 1)).kind ==
        ConversionKind::Nothing);
  CHECK(plan_conversion(*Layout::make({2, {{{Point{0, 1}, Point{1, 0}}}}, {}}),
                        *Layout::make({2, {{{Point{1, 0}, Point{0, 1}}}}, {}}))
            .registers == std::vector{0, 2, 1, 3});
  // 8-bit operands have four neighbours in a register: lanes trade places, and each round is full.
  Conversion narrow =
      plan_conversion(*wgmma_accumulator(64, 64, 4), *wgmma_operand_a(64, 64, 4, 8));
  CHECK(narrow.kind == ConversionKind::Shuffles);
  CHECK(narrow.rounds.size() == 32);
  CHECK(narrow.lane_bases.size() == 5);
  CHECK(plan_conversion(*wgmma_accumulator(64, 64, 4),
                        *blocked(std::vector<int32_t>{64, 64}, 8, 32, 4))
            .kind == ConversionKind::Shared);
}

TEST_CASE("rows of a statistic spread over the accumulator that they came from") {
  // What broadcasting needs: registers of the accumulator find theirs in its slice, in every
  // thread.
  Layout accumulator = *wgmma_accumulator(128, 24, 4);
  Slice rows = accumulator.slice(1, true);
  CHECK(rows.layout.registers_per_thread() == 4);
  CHECK(rows.register_map[0] == rows.register_map[1]);
  CHECK(rows.register_map[0] != rows.register_map[2]);
}

TEST_CASE("a reduction combines every element once") {
  for (const Layout& source : samples::all()) {
    if (source.element_count() > 4096) continue;
    for (int axis = 0; axis < source.rank(); ++axis) {
      CHECK(reduces(source, axis, true));
      CHECK(reduces(source, axis, false));
    }
  }
}

TEST_CASE("rows of an accumulator take two shuffles, columns three and shared memory") {
  Reduction rows = plan_reduction(*wgmma_accumulator(64, 16, 4), 1, false);
  CHECK(rows.registers == std::vector<std::vector<int>>{{0, 1, 4, 5}, {2, 3, 6, 7}});
  CHECK(rows.lane_masks == std::vector<int>{1, 2});
  CHECK(rows.slot_count() == 1);
  Reduction columns = plan_reduction(*wgmma_accumulator(192, 16, 12), 0, false);
  CHECK(columns.lane_masks == std::vector<int>{4, 8, 16});
  CHECK(columns.slot_count() == 12);
  CHECK(columns.slot_of(7) == 7);
}
