// The map of a layout, its inverse, its normal form and the layouts derived from it.

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "unit/layout/samples.h"

using namespace tessera::layout;

namespace {

Point at(std::initializer_list<int32_t> values) {
  return point(std::vector<int32_t>(values));
}

std::string refusal(LayoutSpec spec) {
  std::string why;
  return Layout::make(std::move(spec), &why) ? "" : why;
}

/// Every place, by the element that it holds.
std::map<Point, std::vector<Owner>> inverse_by_force(const Layout& layout) {
  std::map<Point, std::vector<Owner>> places;
  samples::each_place(
      layout, [&](const Owner& owner) { places[samples::at(layout, owner)].push_back(owner); });
  return places;
}

bool holds(const std::vector<Owner>& owners, const Owner& owner) {
  return std::find(owners.begin(), owners.end(), owner) != owners.end();
}

}  // namespace

TEST_CASE("every element has owners, and exactly those that the map says") {
  for (const Layout& layout : samples::all()) {
    auto places = inverse_by_force(layout);
    bool right = int64_t(places.size()) == layout.element_count();
    bool replicated = false;
    for (auto& [element, expected] : places) {
      std::vector<Owner> owners = layout.owners(element);
      Owner canonical = layout.canonical_owner(element);
      right = right && owners[0] == canonical && owners.size() == expected.size();
      for (const Owner& owner : expected) {
        right = right && holds(owners, owner) && layout.is_canonical(owner) == (owner == canonical);
      }
      replicated = replicated || expected.size() > 1;
    }
    CHECK(right);
    CHECK(replicated == layout.is_replicated());
  }
}

TEST_CASE("the canonical owner is found by masks and fields of the index") {
  for (const Layout& layout : samples::all()) {
    bool right = true;
    samples::each_place(layout, [&](const Owner& owner) {
      bool stores = !(unsigned(owner.lane) & layout.free_bits(InputDim::Lane));
      for (const IndexField& field : layout.free_fields(InputDim::Register))
        stores = stores && field.of(owner.reg) == 0;
      for (const IndexField& field : layout.free_fields(InputDim::Warp))
        stores = stores && field.of(owner.warp) == 0;
      right = right && stores == layout.is_canonical(owner);
      for (InputDim dim : all_input_dims) {
        int index = std::array{owner.reg, owner.lane, owner.warp}[size_t(dim)];
        for (uint32_t mask : layout.replica_masks(dim)) {
          right = right && layout.part(dim, index) == layout.part(dim, index ^ int(mask));
        }
      }
    });
    CHECK(right);
  }
}

TEST_CASE("coordinates are the register's constant and the sum of the thread's terms") {
  for (const Layout& layout : samples::all()) {
    std::vector<ThreadTerm> terms = layout.thread_terms();
    bool right = true;
    samples::each_place(layout, [&](const Owner& owner) {
      Point sum = layout.register_offset(owner.reg);
      for (const ThreadTerm& term : terms) {
        sum[term.axis] += term.of(term.dim == InputDim::Lane ? owner.lane : owner.warp);
      }
      right = right && sum == samples::at(layout, owner);
    });
    CHECK(right);
  }
}

TEST_CASE("a wgmma accumulator by threads holds the same places with the rows in order of threads") {
  for (auto [m, n, warps] : {std::array{64, 8, 4}, {128, 16, 4}, {256, 64, 8}, {512, 8, 4}}) {
    INFO(m << " x " << n << ", " << warps << " warps");
    Layout ordered = *wgmma_accumulator_by_threads(m, n, warps), plain = *wgmma_accumulator(m, n, warps);
    REQUIRE(ordered.registers_per_thread() == plain.registers_per_thread());
    // A row of one is a row of the other, whose columns lie in the same registers and lanes.
    std::map<int, int> rows;
    bool same = true;
    for (int warp = 0; warp < warps; ++warp) {
      for (int lane = 0; lane < 32; ++lane) {
        for (int reg = 0; reg < ordered.registers_per_thread(); ++reg) {
          Point one = ordered.coordinates(reg, lane, warp), other = plain.coordinates(reg, lane, warp);
          same = same && one[1] == other[1] && rows.emplace(one[0], other[0]).first->second == other[0];
        }
      }
    }
    CHECK(same);
    CHECK(int(rows.size()) == m);
    int held = m / (8 * warps);
    for (int lane : {0, 3, 4, 31}) {
      std::set<int> own;
      for (int reg = 0; reg < ordered.registers_per_thread(); ++reg) own.insert(ordered.coordinates(reg, lane, 1)[0]);
      CHECK(int(own.size()) == held);
      CHECK(*own.begin() == (8 + lane / 4) * held);
      CHECK(*own.rbegin() == *own.begin() + held - 1);
    }
  }
  CHECK(!wgmma_accumulator_by_threads(192, 8, 4));
  CHECK(!wgmma_accumulator_by_threads(64, 24, 4));
  CHECK(!wgmma_accumulator_by_threads(64, 8, 8));
  CHECK(!wgmma_accumulator_by_threads(64, 4, 4));
  CHECK(!wgmma_accumulator_by_threads(0, 8, 4));
}

TEST_CASE("a wgmma accumulator holds rows of quads") {
  Layout layout = *wgmma_accumulator(128, 176, 4);
  CHECK(layout.registers_per_thread() == 176);
  CHECK(layout.lanes() == 32);
  CHECK(layout.coordinates(0, 5, 2) == at({33, 2}));
  CHECK(layout.coordinates(3, 5, 2) == at({41, 3}));
  CHECK(layout.coordinates(4 * 21 + 1, 31, 3) == at({55, 175}));
  CHECK(layout.coordinates(88, 0, 0) == at({64, 0}));  // the second block of 64 rows
  CHECK(wgmma_accumulator(256, 8, 8)->coordinates(0, 0, 4) == at({64, 0}));
  CHECK(wgmma_accumulator(256, 8, 8)->coordinates(4, 0, 4) == at({192, 0}));
  CHECK(!wgmma_accumulator(64, 8, 3));
  CHECK(!wgmma_accumulator(64, 12, 4));
  CHECK(!wgmma_accumulator(64, 8, 8));
  CHECK(!wgmma_accumulator(-64, 8, 4));

  std::vector<ThreadTerm> terms = layout.thread_terms();
  REQUIRE(terms.size() == 3);  // (lane / 4) % 8 rows, 2 * (lane % 4) columns, 16 * (warp % 4) rows
  CHECK((terms[0].dim == InputDim::Lane && terms[0].axis == 0 && terms[0].step == 1));
  CHECK(terms[0].field == IndexField{4, 8});
  CHECK((terms[1].axis == 1 && terms[1].step == 2 && terms[1].field == IndexField{1, 4}));
  CHECK((terms[2].dim == InputDim::Warp && terms[2].step == 16 &&
         terms[2].field == IndexField{1, 4}));
}

TEST_CASE("operand fragments are where the instructions read them") {
  CHECK(*wgmma_operand_a(64, 16, 4) == *wgmma_accumulator(64, 16, 4));
  CHECK(wgmma_operand_a(64, 32, 4, 8)->coordinates(7, 6, 0) == at({9, 11}));
  CHECK(wgmma_operand_a(64, 8, 4, 32)->coordinates(3, 6, 0) == at({9, 6}));
  CHECK(!wgmma_operand_a(64, 32, 4, 4));
  Layout a = *mma_operand_a(32, 32, 2, 2);
  CHECK(a.coordinates(6, 6, 0) == at({9, 12}));
  CHECK(a.coordinates(8, 0, 1) == at({16, 16}));
  CHECK(a.coordinates(8, 0, 3) == a.coordinates(8, 0, 1));
  Layout b = *mma_operand_b(32, 32, 2, 2);
  CHECK(b.coordinates(3, 6, 0) == at({13, 1}));
  CHECK(b.coordinates(4, 0, 2) == at({0, 24}));
  CHECK(b.coordinates(8, 0, 1) == at({16, 0}));
  Layout acc = *mma_accumulator(64, 32, 2, 2);
  CHECK(acc.coordinates(3, 6, 3) == at({41, 21}));
  CHECK(!mma_accumulator(64, 24, 2, 2));
  CHECK(amx_operand_b(64, 16)->coordinates(35, 0, 0) == at({3, 1}));
  CHECK(amx_operand_b(64, 16)->coordinates(512, 0, 0) == at({32, 0}));
  CHECK(amx_operand_a(16, 64)->coordinates(33, 0, 0) == at({1, 1}));
  CHECK(amx_accumulator(32, 32)->coordinates(256 + 17, 0, 0) == at({1, 17}));
  CHECK(!amx_accumulator(16, 24));
}

TEST_CASE("blocked layouts follow the memory") {
  Layout layout = *blocked(std::vector<int32_t>{128, 64}, 8, 32, 4);
  CHECK(layout.vector_width(1) == 8);
  CHECK(layout.vector_width(1, 12) == 4);
  CHECK(layout.vector_width(0) == 1);
  CHECK(layout.coordinates(0, 9, 1) == at({5, 8}));
  CHECK(layout.coordinates(8, 0, 0) == at({16, 0}));
  CHECK(!layout.is_replicated());
  Layout small = *blocked(std::vector<int32_t>{16}, 4, 32, 6);
  CHECK(small.free_bits(InputDim::Lane) == 0b11100);
  CHECK(small.owners(at({0})).size() == 8 * 6);
  Layout three = *blocked(std::vector<int32_t>{6, 176}, 8, 32, 3);
  CHECK(three.vector_width(1) == 8);
  // Warps may be dealt out in another order: here each has whole rows.
  Layout rows = *blocked(std::vector<int32_t>{8, 512}, 8, 32, 4, std::vector<int>{1, 0}, std::vector<int>{0, 1});
  for (int warp = 0; warp < 4; ++warp) CHECK(rows.coordinates(0, 0, warp)[0] == warp);
  CHECK(rows.coordinates(8, 31, 0)[1] == 256 + 31 * 8);
  CHECK(!blocked(std::vector<int32_t>{6, 12}, 8, 32, 1));
  CHECK(!blocked(std::vector<int32_t>{6, 12}, 3, 32, 1));
  CHECK(!blocked(std::vector<int32_t>{6, 12}, 1, 24, 1));
  CHECK(!blocked(std::vector<int32_t>{6, 0}, 1, 32, 1));
  CHECK(!blocked(std::vector<int32_t>{6, 12}, 1, 32, 1, std::vector<int>{0, 0}));
  CHECK(!blocked(std::vector<int32_t>{6, 12}, 1, 32, 1, std::vector<int>{0, 2}));
  Layout many = *blocked(std::vector<int32_t>{1, 2, 4, 4, 4, 2, 4, 2}, 1, 32, 4);
  CHECK(many.extent(6) == 4);
  CHECK(many.extent(7) == 2);
}

TEST_CASE("a vector is what neighbouring registers hold") {
  for (const Layout& layout : samples::all()) {
    for (int axis = 0; axis < layout.rank(); ++axis) {
      int best = 1;
      for (int width = 2; layout.registers_per_thread() % width == 0; width *= 2) {
        bool runs = true;
        for (int reg = 0; reg < layout.registers_per_thread(); ++reg) {
          Point expected = layout.register_offset(reg / width * width);
          runs = runs && expected[axis] % width == 0;
          expected[axis] += reg % width;
          runs = runs && expected == layout.register_offset(reg);
        }
        if (runs) best = width;
      }
      CHECK(layout.vector_width(axis) == best);
    }
  }
}

TEST_CASE("equal maps are equal layouts") {
  std::map<std::vector<Point>, Layout> seen;
  int met = 0;
  for (const Layout& layout : samples::all(4000)) {
    std::vector<Point> map = {
        at({layout.rank(), layout.registers_per_thread(), layout.lanes(), layout.warps()})};
    samples::each_place(layout,
                        [&](const Owner& owner) { map.push_back(samples::at(layout, owner)); });
    auto [known, added] = seen.emplace(map, layout);
    met += !added;
    CHECK(known->second == layout);
    CHECK(known->second.hash() == layout.hash());
    CHECK(*Layout::make(layout.spec()) == layout);
  }
  CHECK(met > 50);
  Layout six = *Layout::make({1, {}, {{InputDim::Register, 0, 6}}});
  CHECK(six == *Layout::make({1, {}, {{InputDim::Register, 0, 2}, {InputDim::Register, 0, 3}}}));
  CHECK(six != *Layout::make({1, {}, {{InputDim::Warp, 0, 6}}}));
}

TEST_CASE("a slice projects coordinates and keeps one register of each") {
  for (const Layout& layout : samples::all()) {
    for (int axis = 0; axis < layout.rank(); ++axis) {
      Slice kept = layout.slice(axis, true), removed = layout.slice(axis, false);
      CHECK(kept.layout.extent(axis) == 1);
      CHECK(kept.layout.remove_axis(axis) == removed.layout);
      CHECK(removed.layout.insert_axis(axis) == kept.layout);
      CHECK(kept.layout.free_bits(InputDim::Register) == 0);
      CHECK(kept.layout.lanes() == layout.lanes());
      CHECK(kept.layout.warps() == layout.warps());
      bool right = true;
      samples::each_place(layout, [&](const Owner& owner) {
        Point projected = samples::at(layout, owner);
        projected[axis] = 0;
        int reg = kept.register_map[size_t(owner.reg)];
        right = right && kept.layout.coordinates(reg, owner.lane, owner.warp) == projected;
      });
      CHECK(right);
    }
  }
}

TEST_CASE("transposing and reshaping move axes") {
  for (const Layout& layout : samples::all()) {
    if (layout.rank() < 2) continue;
    std::vector<int> perm(size_t(layout.rank()));
    std::iota(perm.rbegin(), perm.rend(), 0);
    Layout transposed = layout.transpose(perm);
    bool right = true;
    samples::each_place(layout, [&](const Owner& owner) {
      Point from = samples::at(layout, owner), to = samples::at(transposed, owner);
      for (int axis = 0; axis < layout.rank(); ++axis)
        right = right && to[axis] == from[perm[axis]];
    });
    CHECK(right);
    CHECK(transposed.transpose(perm) == layout);
  }
  Layout layout = *blocked(std::vector<int32_t>{8, 16}, 4, 32, 1);
  Layout wide = *layout.reshape(std::vector<int32_t>{1, 8, 1, 16});
  CHECK(wide.coordinates(3, 31, 0) == at({0, 7, 0, 15}));
  CHECK(*wide.reshape(std::vector<int32_t>{8, 16}) == layout);
  CHECK(!layout.reshape(std::vector<int32_t>{16, 8}));
  CHECK(!layout.reshape(std::vector<int32_t>{8}));
  CHECK(!layout.reshape(std::vector<int32_t>{8, 16, 2}));
}

TEST_CASE("what breaks the invariants is not a layout") {
  auto axis0 = [](int32_t value) { return at({value}); };
  CHECK(refusal({1, {{{axis0(2)}}}, {}}) == "no basis reaches a bit of axis 0 below its highest");
  CHECK(refusal({1, {{{axis0(1)}, {axis0(1)}}}, {}}) ==
        "lanes share a coordinate bit with another index");
  CHECK(refusal({1, {{{axis0(3)}}}, {}}) == "some elements have no owner");
  CHECK(refusal({1, {{{axis0(3), at({})}}}, {}}) ==
        "the bases of registers do not reach all their coordinates");
  CHECK(refusal({1, {{{at({0, 1})}}}, {}}) == "a basis is outside the tile");
  CHECK(refusal({1, {{{axis0(-1)}}}, {}}) == "a basis is outside the tile");
  CHECK(refusal({9, {}, {}}) == "it has more than 8 axes");
  CHECK(refusal({-1, {}, {}}) == "it has more than 8 axes");
  CHECK(refusal({1, {{{}, std::vector<Point>(7)}}, {}}) == "it has more than 64 lanes");
  CHECK(refusal({1, {{std::vector<Point>(40)}}, {}}) == "it has more than 65536 registers");
  CHECK(refusal({1, {}, {{InputDim::Lane, 0, 2}}}) == "lanes do not repeat");
  CHECK(refusal({1, {}, {{InputDim::Warp, 1, 2}}}) == "a repeat has no axis");
  CHECK(refusal({1, {}, {{InputDim::Warp, -2, 2}}}) == "a repeat has no axis");
  CHECK(refusal({1, {}, {{InputDim::Warp, 0, 0}}}) == "a repeat has no extent");
  CHECK(refusal({1, {}, {{InputDim::Warp, 0, 65}}}) == "it has more than 64 warps");
  CHECK(refusal({1, {}, {{InputDim::Register, 0, 1 << 30}}}) == "it has more than 65536 registers");
  CHECK(refusal({1, {}, {{InputDim::Register, 0, 2, 3}}}) == "the repeats along axis 0 leave gaps");
  CHECK(refusal({1,
                 {},
                 {{InputDim::Register, 0, 1 << 16},
                  {InputDim::Warp, 0, 64},
                  {InputDim::Warp, 0, 1 << 9}}}) == "it has more than 64 warps");
  CHECK(refusal({1, {{{axis0((1 << 24) - 1)}}}, {{InputDim::Register, 0, 2}}}) ==
        "axis 0 is longer than 16777216");
  CHECK(refusal({1, {}, {{InputDim::Warp, Repeat::replicate, 2, 4}}}) ==
        "a repeat that replicates has a stride");
}
