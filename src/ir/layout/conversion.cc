// Plans of conversions, from the two maps alone.
//
// The parts of registers, lanes and warps are independent (layout.h), so two layouts whose lane and
// warp parts agree differ by a selection of registers, and two whose warp parts agree by exchanges
// within a warp. For exchanges every element that a lane needs is sorted by lane_xor =
// permutation(receiver) ^ sender. One such number pairs each receiver with one sender, so no lane
// can be asked for two registers in one round; n elements of a lane_xor take n rounds.
//
// The permutation makes the rounds full. Receiver l needs elements of senders S(l) + V, where S is
// linear and V is what the target's registers add; a linear bijection with values in S(l) + V
// visits every sender of a receiver as lane_xor runs through V. It exists where no element is
// replicated; elsewhere, and where it saves nothing, it is the identity.

#include "ir/layout/conversion.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "ir/layout/f2.h"
#include "support/check.h"

namespace tessera::layout {

namespace {

/// Beyond this many registers an exchange is not worth planning.
constexpr int max_exchanged_registers = 1024;

bool same_parts(const Layout& a, const Layout& b, InputDim dim) {
  for (int index = 0; index < a.size(dim); ++index) {
    if (a.part(dim, index) != b.part(dim, index)) return false;
  }
  return true;
}

Conversion select_registers(const Layout& from, const Layout& to) {
  Conversion plan{ConversionKind::Registers, {}, {}, {}};
  bool same = from.registers_per_thread() == to.registers_per_thread();
  for (int reg = 0; reg < to.registers_per_thread(); ++reg) {
    int source = from.canonical_owner(to.register_offset(reg)).reg;
    if (from.registers_per_thread() > reg && from.register_offset(reg) == to.register_offset(reg))
      source = reg;
    plan.registers.push_back(source);
    same = same && source == reg;
  }
  if (same) return {};
  return plan;
}

struct Move {
  int source, destination;  ///< registers
};

int permuted(const std::vector<int>& lane_bases, int lane) {
  if (lane_bases.empty()) return lane;
  int image = 0;
  for (size_t bit = 0; bit < lane_bases.size(); ++bit) {
    if (lane >> bit & 1) image ^= lane_bases[bit];
  }
  return image;
}

/// Bases of a permutation with values in S(l) + V, or none. Bits stay where they may.
std::vector<int> lane_permutation(const Layout& from, const Layout& to) {
  F2Span registers;  // V, by those of its vectors that are independent
  std::vector<uint32_t> shifts = {0};
  for (int reg = 0; reg < to.registers_per_thread(); ++reg) {
    uint32_t lane = uint32_t(from.canonical_owner(to.register_offset(reg)).lane);
    if (registers.contains(lane)) continue;
    registers.add(lane);
    for (size_t i = 0, count = shifts.size(); i < count; ++i) shifts.push_back(shifts[i] ^ lane);
  }
  F2Span images;
  std::vector<int> bases;
  for (int bit = 1; bit < to.lanes(); bit *= 2) {
    uint32_t sender = uint32_t(from.canonical_owner(to.part(InputDim::Lane, bit)).lane);
    std::vector<uint32_t> choices;
    if (registers.contains(sender ^ uint32_t(bit))) choices.push_back(uint32_t(bit));
    for (uint32_t shift : shifts) choices.push_back(sender ^ shift);
    auto choice = std::find_if(choices.begin(), choices.end(),
                               [&](uint32_t c) { return !images.contains(c); });
    if (choice == choices.end()) return {};
    images.add(*choice);
    bases.push_back(int(*choice));
  }
  return bases;
}

/// Where the receiver of permuted number `image` gets an element: the owner with the least
/// lane_xor.
Owner nearest_owner(const Layout& from, const Point& element, int image) {
  std::vector<Owner> owners = from.owners(element);
  return *std::min_element(owners.begin(), owners.end(), [&](const Owner& a, const Owner& b) {
    return std::tuple(a.lane ^ image, a.reg) < std::tuple(b.lane ^ image, b.reg);
  });
}

Conversion exchange(const Layout& from, const Layout& to, std::vector<int> lane_bases) {
  size_t lanes = size_t(to.lanes());
  Conversion plan{ConversionKind::Shuffles, {}, {}, std::move(lane_bases)};
  std::map<int, std::vector<std::vector<Move>>> by_xor;  // lane_xor -> receiver -> moves
  for (int reg = 0; reg < to.registers_per_thread(); ++reg) {
    for (size_t lane = 0; lane < lanes; ++lane) {
      int image = permuted(plan.lane_bases, int(lane));
      Owner owner = nearest_owner(from, to.coordinates(reg, int(lane), 0), image);
      auto& moves = by_xor[owner.lane ^ image];
      moves.resize(lanes);
      moves[lane].push_back({owner.reg, reg});
    }
  }
  for (const auto& [lane_xor, moves] : by_xor) {
    size_t rounds = 0;
    for (const auto& list : moves) rounds = std::max(rounds, list.size());
    for (size_t i = 0; i < rounds; ++i) {
      ShuffleRound round{lane_xor, std::vector<int>(lanes, -1), std::vector<int>(lanes, -1)};
      for (size_t lane = 0; lane < lanes; ++lane) {
        if (i >= moves[lane].size()) continue;
        round.source[size_t(plan.source_lane(round, int(lane)))] = moves[lane][i].source;
        round.destination[lane] = moves[lane][i].destination;
      }
      plan.rounds.push_back(std::move(round));
    }
  }
  return plan;
}

int uniform(const std::vector<int>& registers) {
  int common = -1;
  for (int reg : registers) {
    if (reg < 0) continue;
    if (common >= 0 && common != reg) return -1;
    common = reg;
  }
  return common;
}

}  // namespace

int ShuffleRound::uniform_source() const {
  return uniform(source);
}
int ShuffleRound::uniform_destination() const {
  return uniform(destination);
}

int Conversion::source_lane(const ShuffleRound& round, int lane) const {
  return permuted(lane_bases, lane) ^ round.lane_xor;
}

int Conversion::shuffle_count() const {
  int count = 0;
  for (const ShuffleRound& round : rounds) {
    bool crosses = false;
    for (size_t lane = 0; lane < round.destination.size(); ++lane) {
      crosses =
          crosses || (round.destination[lane] >= 0 && source_lane(round, int(lane)) != int(lane));
    }
    count += crosses;
  }
  return count;
}

Conversion plan_conversion(const Layout& from, const Layout& to, int max_shuffles) {
  TSR_CHECK(from.rank() == to.rank() && from.extents() == to.extents(),
            "a conversion changes the extents");
  TSR_CHECK(from.lanes() == to.lanes() && from.warps() == to.warps(),
            "a conversion changes the threads");
  if (from == to) return {};
  const Conversion shared{ConversionKind::Shared, {}, {}, {}};
  if (!same_parts(from, to, InputDim::Warp)) return shared;
  if (same_parts(from, to, InputDim::Lane)) return select_registers(from, to);
  if (std::max(from.registers_per_thread(), to.registers_per_thread()) > max_exchanged_registers)
    return shared;
  Conversion plan = exchange(from, to, {});
  if (std::vector<int> bases = lane_permutation(from, to); !bases.empty()) {
    Conversion permuting = exchange(from, to, std::move(bases));
    if (permuting.shuffle_count() < plan.shuffle_count()) plan = std::move(permuting);
  }
  return plan.shuffle_count() <= max_shuffles ? plan : shared;
}

}  // namespace tessera::layout
