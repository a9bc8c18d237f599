// Shared memory: offsets, the operands that wgmma reads, bank conflicts, addresses of registers.

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "ir/layout/access.h"
#include "ir/layout/wgmma_descriptor.h"
#include "unit/layout/samples.h"

using namespace tessera::layout;

namespace {

using Extents = std::vector<int32_t>;
using Order = std::vector<int>;

Point at(int32_t a, int32_t b) {
  Point result{};
  result[0] = a;
  result[1] = b;
  return result;
}

template <typename F>
void each_element(const Point& extents, F f) {
  for (int32_t a = 0; a < extents[0]; ++a) {
    for (int32_t b = 0; b < extents[1]; ++b) f(at(a, b));
  }
}

std::vector<SharedLayout> shared_samples() {
  std::vector<SharedLayout> all;
  for (const Extents& extents : {Extents{64, 64}, {24, 176}, {5, 100}, {128, 8}, {1, 1}}) {
    for (const Order& order : {Order{1, 0}, Order{0, 1}}) {
      for (int bytes : {1, 2, 4, 8}) {
        for (Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128}) {
          all.push_back(*SharedLayout::swizzled(extents, bytes, swizzle, order));
        }
        all.push_back(*SharedLayout::rows(extents, bytes, order, 16));
        if (bytes <= 4) all.push_back(*SharedLayout::panels(extents[0], extents[1], bytes, 16));
      }
    }
  }
  return all;
}

/// The canonical layouts of the PTX ISA, in units of T = 16 / element bytes elements along the
/// lines: where the hardware looks for element (mn, k) of an operand that starts at `start`.
int64_t canonical_address(const WgmmaOperand& operand, int64_t start, int bytes, int32_t mn,
                          int32_t k) {
  int64_t line = int64_t(operand.swizzle), per_line = line / bytes, address = start;
  if (operand.k_major) {
    address += mn % 8 * line + mn / 8 * operand.stride_bytes + k * bytes;
  } else {
    address += mn % per_line * bytes + mn / per_line * operand.leading_bytes;
    address += k % 8 * line + k / 8 * operand.stride_bytes;
  }
  int64_t bits = line / 16 - 1;  // Swizzle<log2(line / 16), 4, 3>
  return address ^ ((address >> 7 & bits) << 4);
}

}  // namespace

TEST_CASE("every element has bytes of its own within the tile") {
  for (const SharedLayout& shared : shared_samples()) {
    std::set<int64_t> starts;
    bool inside = true;
    each_element(shared.extents(), [&](const Point& element) {
      int64_t offset = shared.offset(element);
      starts.insert(offset);
      inside = inside && offset >= 0 && offset % shared.element_bytes() == 0 &&
               offset + shared.element_bytes() <= shared.size_bytes();
    });
    CHECK(inside);
    CHECK(int64_t(starts.size()) == int64_t(shared.extents()[0]) * shared.extents()[1]);
  }
}

TEST_CASE("the 128-byte swizzle permutes chunks by row") {
  SharedLayout shared = *SharedLayout::swizzled(Extents{64, 128}, 2, Swizzle::B128);
  CHECK(shared.alignment() == 1024);
  CHECK(shared.size_bytes() == 64 * 128 * 2);
  bool right = true;
  each_element(shared.extents(), [&](const Point& element) {
    int row = element[0], column = element[1];
    int64_t chunk = column % 64 / 8 ^ row % 8;
    right = right && shared.offset(element) ==
                         column / 64 * 64 * 128 + row * 128 + chunk * 16 + column % 8 * 2;
  });
  CHECK(right);
  SharedLayout narrow = *SharedLayout::swizzled(Extents{16, 32}, 2, Swizzle::B64);
  CHECK(narrow.offset(at(1, 0)) == 64);  // rows of 64 bytes: two share a line of the banks
  CHECK(narrow.offset(at(2, 0)) == 128 + 16);
  CHECK(narrow.offset(at(8, 0)) == 512);
  CHECK(SharedLayout::swizzled(Extents{12, 128}, 2, Swizzle::B128)->column_stride() == 2048);
}

TEST_CASE("padded rows and panels") {
  SharedLayout padded = *SharedLayout::rows(Extents{4, 64}, 2, {}, 16);
  CHECK(padded.offset(at(3, 5)) == 3 * 144 + 10);
  CHECK(SharedLayout::rows(Extents{4, 64}, 2, Order{0, 1})->offset(at(3, 5)) == 5 * 8 + 6);
  SharedLayout panels = *SharedLayout::panels(6, 40, 2, 16);
  CHECK(panels.offset(at(1, 0)) == 2);
  CHECK(panels.offset(at(0, 1)) == 4);
  CHECK(panels.offset(at(2, 0)) == 64);
  CHECK(panels.offset(at(0, 16)) == 3 * 64);
  CHECK(panels.size_bytes() == 3 * 3 * 64);
  CHECK(SharedLayout::panels(6, 40, 1, 16)->size_bytes() == 3 * 2 * 64);
  CHECK(!SharedLayout::rows(Extents{4, 64}, 3));
  CHECK(!SharedLayout::rows(Extents{}, 2));
  CHECK(!SharedLayout::rows(Extents{4, 0}, 2));
  CHECK(!SharedLayout::rows(Extents{4, 64}, 4, {}, 2));
  CHECK(!SharedLayout::rows(Extents{4, 64}, 4, Order{1, 1}));
  CHECK(!SharedLayout::rows(Extents{1 << 24, 1 << 24, 1 << 24}, 4));
  CHECK(!SharedLayout::panels(6, 40, 8, 16));
  CHECK(!SharedLayout::panels(6, 40, 2, 12));
}

TEST_CASE("the address before the swizzle is a sum of terms") {
  for (const SharedLayout& shared : shared_samples()) {
    bool right = true;
    each_element(shared.extents(), [&](const Point& element) {
      int64_t linear = 0;
      for (const AddressTerm& term : shared.terms()) {
        int32_t value = element[size_t(term.axis)] / term.divisor;
        linear += term.step * (term.count == 0 ? value : value % term.count);
      }
      right = right &&
              shared.offset(element) == (linear ^ ((linear >> 7 & shared.swizzle_mask()) << 4));
    });
    CHECK(right);
  }
}

TEST_CASE("wgmma finds every element of an operand where the tile keeps it") {
  for (const Extents& extents : {Extents{128, 64}, {64, 256}, {96, 128}, {16, 64}, {256, 16}}) {
    for (const Order& order : {Order{1, 0}, Order{0, 1}}) {
      for (Swizzle swizzle : {Swizzle::B32, Swizzle::B64, Swizzle::B128}) {
        for (int k_axis : {0, 1}) {
          SharedLayout shared = *SharedLayout::swizzled(extents, 2, swizzle, order);
          std::optional<WgmmaOperand> operand = wgmma_operand(shared, k_axis);
          REQUIRE(operand);
          CHECK(operand->k_major == (order[0] == k_axis));
          int32_t mn_extent = extents[1 - k_axis], k_extent = extents[k_axis];
          int32_t mn_step = operand->k_major ? 8 : int(swizzle) / 2;
          bool right = true;
          for (int32_t k0 = 0; k0 < k_extent; k0 += 16) {
            for (int32_t mn0 = 0; mn0 < mn_extent; mn0 += mn_step) {
              std::optional<int64_t> start = wgmma_start(shared, k_axis, mn0, k0);
              REQUIRE(start);
              for (int32_t mn = mn0; mn < mn_extent; ++mn) {
                for (int32_t k = k0; k < std::min(k0 + 16, k_extent); ++k) {
                  int64_t expected = shared.offset(k_axis == 1 ? at(mn, k) : at(k, mn));
                  right =
                      right && canonical_address(*operand, *start, 2, mn - mn0, k - k0) == expected;
                }
              }
            }
          }
          CHECK(right);
        }
      }
    }
  }
}

TEST_CASE("descriptors have the fields of the PTX ISA") {
  SharedLayout a = *SharedLayout::swizzled(Extents{128, 64}, 2, Swizzle::B128);
  CHECK(wgmma_operand(a, 1)->descriptor() == (1ULL << 62 | 64ULL << 32 | 1ULL << 16));
  CHECK(*wgmma_start(a, 1, 0, 16) == 32);
  CHECK(*wgmma_start(a, 1, 64, 0) == 64 * 128);
  CHECK(!wgmma_start(a, 1, 0, 8));
  CHECK(!wgmma_start(a, 1, 4, 0));
  CHECK(!wgmma_start(a, 1, 0, 64));
  CHECK(!wgmma_start(a, 1, -8, 0));
  // B as [k, n] rows of n: 64 k of 128 columns are two columns of atoms, 64 * 128 bytes apart.
  SharedLayout b = *SharedLayout::swizzled(Extents{64, 128}, 2, Swizzle::B128);
  std::optional<WgmmaOperand> operand = wgmma_operand(b, 0);
  CHECK(operand->leading_bytes == 64 * 128);
  CHECK(operand->stride_bytes == 1024);
  CHECK(*wgmma_start(b, 0, 0, 16) == 2048);
  CHECK(*wgmma_start(b, 0, 64, 0) == 8192);
  CHECK(wgmma_operand(*SharedLayout::swizzled(Extents{64, 64}, 2, Swizzle::B64), 1)->descriptor() >>
            62 ==
        2);
  CHECK(wgmma_operand(*SharedLayout::swizzled(Extents{64, 64}, 2, Swizzle::B32), 1)->descriptor() >>
            62 ==
        3);
  CHECK(!wgmma_operand(*SharedLayout::rows(Extents{64, 64}, 2), 1));
  CHECK(!wgmma_operand(*SharedLayout::swizzled(Extents{64, 64}, 1, Swizzle::B128), 0));
  CHECK(!wgmma_operand(*SharedLayout::swizzled(Extents{4096, 128}, 2, Swizzle::B128), 0));
  CHECK(!wgmma_operand(*SharedLayout::swizzled(Extents{64}, 2, Swizzle::B128), 0));
}

TEST_CASE("registers are numbered along memory for wider accesses") {
  // Bytes in columns of 128, of which a thread holds 4 neighbours, two in each of two blocks of registers.
  Layout factor = *wgmma_accumulator_by_threads(128, 64, 4);
  SharedLayout columns = *SharedLayout::swizzled(Extents{128, 64}, 1, Swizzle::B128, Order{0, 1});
  CHECK(shared_vector_width(factor, columns) == 1);
  VectorAccess access = vector_access(factor, columns);
  CHECK(access.width == 4);
  CHECK(bank_conflicts(access.layout, columns, 4) == 0);
  REQUIRE(access.registers.size() == size_t(factor.registers_per_thread()));
  bool same = true;
  for (int reg = 0; reg < factor.registers_per_thread(); ++reg) {
    for (int lane = 0; lane < 32; ++lane) {
      int there = int(access.registers[size_t(reg)]);
      same = same && factor.coordinates(reg, lane, 2) == access.layout.coordinates(there, lane, 2);
    }
  }
  CHECK(same);
  // What is as wide as it can be stays.
  Layout rows = *blocked(Extents{64, 64}, 8, 32, 4);
  VectorAccess plain = vector_access(rows, *SharedLayout::rows(Extents{64, 64}, 2));
  CHECK(plain.width == 8);
  CHECK(plain.registers.empty());
  CHECK(plain.layout == rows);
}

TEST_CASE("neighbours in memory are one access, whatever the numbers of their registers") {
  // Sums of a swapped matmul: a thread has four neighbours of a column, as registers 0, 1 and, behind the others, 2, 3.
  Layout sums = *wgmma_accumulator_by_threads(128, 16, 4);
  CHECK(sums.vector_width(0) == 1);
  VectorAccess access = vector_access(sums, 0, 4);
  CHECK(access.width == 4);
  REQUIRE(access.registers.size() == size_t(sums.registers_per_thread()));
  for (int reg = 0; reg < sums.registers_per_thread(); ++reg) {
    int there = int(access.registers[size_t(reg)]);
    CHECK(sums.register_offset(reg) == access.layout.register_offset(there));
  }
  CHECK(vector_access(sums, 0, 2).width == 2);
  CHECK(vector_access(sums, 0, 1).registers.empty());
  CHECK(vector_access(sums, 1, 4).width == sums.vector_width(1));
}

TEST_CASE("bank conflicts of known accesses") {
  Extents square = {64, 64};
  Layout rows = *blocked(square, 8, 32, 4), columns = *blocked(square, 1, 32, 4, Order{0, 1});
  SharedLayout plain = *SharedLayout::rows(square, 2),
               swizzled = *SharedLayout::swizzled(square, 2, Swizzle::B128);
  SharedLayout wide = *SharedLayout::rows(square, 4),
               padded = *SharedLayout::rows(square, 4, {}, 4);
  CHECK(shared_vector_width(rows, plain) == 8);
  CHECK(shared_vector_width(rows, swizzled) == 8);
  CHECK(shared_vector_width(*blocked(square, 8, 32, 4), wide) == 4);
  CHECK(shared_vector_width(columns, plain) == 1);
  CHECK(bank_conflicts(rows, plain, 8) == 0);
  CHECK(bank_conflicts(rows, swizzled, 8) == 0);
  CHECK(bank_conflicts(columns, wide, 1) == 31);   // a column: 32 words of one bank
  CHECK(bank_conflicts(columns, padded, 1) == 0);  // which padding by a word spreads
  // Accumulators of 16 bits in pairs: 8 rows of a quad conflict in one bank, and the swizzle parts
  // them.
  Layout accumulator = *wgmma_accumulator(64, 64, 4);
  CHECK(shared_vector_width(accumulator, plain) == 2);
  CHECK(bank_conflicts(accumulator, plain, 2) == 7);
  CHECK(bank_conflicts(accumulator, swizzled, 2) == 0);
  // The worst access says which banks are asked for how much: those of a column are all in one, those of rows of 16
  // bytes a lane in all, eight lanes at a time.
  WorstAccess column = worst_access(columns, wide, 1);
  CHECK(column.together == 32);
  REQUIRE(column.words.size() == 1);
  CHECK(std::ranges::max(column.words[0]) == 32);
  CHECK(std::ranges::count(column.words[0], 0) == 31);
  WorstAccess row = worst_access(rows, plain, 8);
  CHECK(row.together == 8);
  REQUIRE(row.words.size() == 4);
  for (const auto& words : row.words) CHECK(std::ranges::count(words, 1) == 32);
}

TEST_CASE("the address of a register follows from that of the first") {
  int adds = 0, flips = 0;
  for (const Layout& layout : samples::families()) {
    if (layout.rank() != 2) continue;
    Extents extents = {layout.extent(0), layout.extent(1)};
    for (Swizzle swizzle : {Swizzle::None, Swizzle::B64, Swizzle::B128}) {
      SharedLayout shared = *SharedLayout::swizzled(extents, 2, swizzle);
      for (int reg = 0; reg < std::min(layout.registers_per_thread(), 64); ++reg) {
        AddressStep step = register_address(layout, shared, reg);
        adds += step.kind == AddressStep::Add;
        flips += step.kind == AddressStep::Xor;
        bool right = true;
        samples::each_place(layout, [&](const Owner& owner) {
          if (owner.reg != 0) return;
          int64_t first = shared.offset(samples::at(layout, owner));
          int64_t own = shared.offset(layout.coordinates(reg, owner.lane, owner.warp));
          right = right && (step.kind != AddressStep::Add || own == first + step.value);
          right = right && (step.kind != AddressStep::Xor || own == (first ^ step.value) + step.add);
          right = right && (step.kind != AddressStep::Xor || own == (first ^ (step.value | step.add)));
        });
        CHECK(right);
      }
    }
  }
  CHECK(adds > 100);
  CHECK(flips > 10);
  // The columns of an accumulator stay in the row of the swizzle; 8 rows on is the next period.
  Layout accumulator = *wgmma_accumulator(64, 64, 4);
  SharedLayout shared = *SharedLayout::swizzled(Extents{64, 64}, 2, Swizzle::B128);
  CHECK(register_address(accumulator, shared, 2).kind == AddressStep::Add);
  CHECK(register_address(accumulator, shared, 2).value == 1024);
  CHECK(register_address(accumulator, shared, 4).kind == AddressStep::Xor);
  CHECK(register_address(accumulator, shared, 4).value == 16);
}
