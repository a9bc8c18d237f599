#include "passes/graph/to_schedule/kernel_space.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "ir/core/common_attributes.h"
#include "ir/graph/ops.h"
#include "passes/analysis/row_tiles.h"
#include "support/check.h"

namespace tessera {

namespace {

using graph::OpKind;

/// Extents guessed for axes whose size is not known.
constexpr int64_t guessed_whole_axis = 1024;
constexpr int64_t guessed_columns = 1024;
constexpr int64_t max_rows = 64;

/// How large tiles are on a kind of machine.
struct TileLimits {
  int64_t elements;         ///< of a program's tile
  int64_t edge;             ///< of the square tiles used where two accesses run along different axes
  int64_t line;             ///< columns taken together where rows are combined
  int64_t copied_line;      ///< columns taken together where rows are put together
  int64_t rows;             ///< elements along a program axis of a kernel with whole axes
  bool powers_of_two;
  bool stretches;           ///< whether such a tile is longer where an axis is shorter than its edge
};

/// On a CPU about 32 KB of f32, which stays in a first-level cache. On a GPU what keeps memory busy: elements are held
/// in registers, and there are many programs. Those whose threads need not wait for each other hold a quarter as
/// much, since some store while others load; half as much where they only move elements, which is soon done.
TileLimits tile_limits(const Machine* machine, const FusionGroup& group) {
  if (!machine || !machine->is_gpu()) return {8192, 64, 64, 1024, max_rows, false, false};
  ElementRegisters registers;
  for (const Op* op : group.members) registers.add(op);
  int64_t elements = rows_of_program(*machine, 1, registers.count());
  auto computes = [](const Op* op) { return op->info().elementwise != ElementwiseKind::None; };
  bool moves = std::ranges::none_of(group.members, computes);
  if (group.reduced.empty()) return {elements / (moves ? 2 : 4), 64, 32, 32, max_rows, true, true};
  return {elements, 64, 32, 32, elements, true, true};
}

TileLimits halved(TileLimits limits, int64_t times) {
  for (; times > 0; --times) {
    limits.elements /= 2;
    limits.edge = std::max<int64_t>(limits.edge / 2, 8);
    limits.line = std::max<int64_t>(limits.line / 2, 8);
    limits.copied_line = std::max<int64_t>(limits.copied_line / 2, 8);
  }
  return limits;
}

void add_unique(std::vector<BufferAccess>& accesses, BufferAccess access) {
  if (std::find(accesses.begin(), accesses.end(), access) == accesses.end()) {
    accesses.push_back(std::move(access));
  }
}

Op* concat_of(const FusionGroup& group) {
  return group.parts.empty() ? nullptr : group.members.back();
}

/// Unit strides along the axes of coordinates that the group computes, so that these are not
/// collapsed.
std::vector<BufferAccess> coordinates(const GraphReads& reads, const FusionGroup& group) {
  std::vector<BufferAccess> unit;
  DimTable& table = reads.dims();
  auto add = [&](int axis) {
    if (axis < 0) return;
    BufferAccess access{nullptr, std::vector<Dim>(group.extents.size(), table.constant(0)),
                        table.constant(0)};
    access.strides[size_t(axis)] = table.constant(1);
    unit.push_back(std::move(access));
  };
  for (Op* op : group.members) {
    bool is_iota = graph::kind_of(op) == OpKind::Iota;
    if (is_iota) add(group.maps.at(op->result())[size_t(op->attr(common::Along::axis))]);
    for (unsigned i = 0; i < reads.operand_count(op); ++i) {
      const Read& read = reads.read(op, i);
      Op* source = read_source(reads, read);
      if (!source || graph::kind_of(source) != OpKind::Iota) continue;
      add(base_map(read, operand_map(group, op, i))[size_t(source->attr(common::Along::axis))]);
    }
  }
  return unit;
}

/// True if two neighbouring iteration axes are walked as one by an access.
bool runs_on(DimTable& table, const FusionGroup& group, const BufferAccess& access, int outer,
             int inner) {
  Dim stride = access.strides[size_t(inner)];
  return access.strides[size_t(outer)] == table.mul(stride, group.extents[size_t(inner)]);
}

/// True if every reduction of the group combines both axes or neither.
bool reduced_alike(const FusionGroup& group, int a, int b) {
  auto has = [](const std::vector<int>& axes, int axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  return std::all_of(group.reduced.begin(), group.reduced.end(), [&](const auto& reduction) {
    return has(reduction.second, a) == has(reduction.second, b);
  });
}

/// The largest divisor of `extent` up to `limit` if it is at least half of that, else `limit`.
int64_t even_block(int64_t extent, int64_t limit) {
  if (extent <= limit) return std::max<int64_t>(extent, 1);
  for (int64_t block = limit; block * 2 >= limit; --block) {
    if (extent % block == 0) return block;
  }
  return limit;
}

int64_t block_of(Dim extent, int64_t limit, bool powers_of_two) {
  auto constant = extent->constant();
  limit = std::max<int64_t>(limit, 1);
  if (!powers_of_two) return even_block(constant ? *constant : limit, limit);
  limit = int64_t(std::bit_floor(uint64_t(limit)));
  if (!constant || *constant >= limit) return limit;
  return int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(*constant, 1))));
}

/// Program axes along which some access is contiguous although it also varies along a later one.
std::vector<bool> crossed_axes(const std::vector<BufferAccess>& accesses, size_t programs) {
  std::vector<bool> axes(programs);
  for (const BufferAccess& access : accesses) {
    for (size_t k = 0; k < programs; ++k) {
      bool varies_later =
          std::any_of(access.strides.begin() + long(k) + 1, access.strides.begin() + long(programs),
                      [](Dim stride) { return !stride->is_constant(0); });
      if (access.strides[k]->is_constant(1) && varies_later) axes[k] = true;
    }
  }
  return axes;
}

/// The longer edge of a tile in which an axis before the last is shorter than the edge: of as many elements, if memory
/// runs along that axis.
int64_t longer_edge(const KernelSpace& space, const std::vector<bool>& crossed, int64_t edge) {
  int64_t longer = edge;
  for (size_t k = 0; k + 1 < crossed.size(); ++k) {
    std::optional<int64_t> extent = crossed[k] ? space.extents[k]->constant() : std::nullopt;
    if (extent && *extent > 0 && *extent < edge) longer *= edge / int64_t(std::bit_ceil(uint64_t(*extent)));
  }
  return longer;
}

/// Elements of a program's tile for each element of its program axes: the product of reduced axes,
/// the sum of the axes of a concat's parts.
int64_t whole_elements(const KernelSpace& space, bool parts, int64_t most, int64_t guess) {
  int64_t product = 1, sum = 0;
  for (size_t k = 0; k < space.rank(); ++k) {
    if (!space.whole[k]) continue;
    int64_t extent = std::clamp<int64_t>(space.extents[k]->constant().value_or(guess), 1, most);
    product = std::min(product * extent, most);
    sum = std::min(sum + extent, most);
  }
  return parts ? std::max<int64_t>(sum, 1) : product;
}

/// True if an access that varies along a whole axis is contiguous along program axis `k`.
bool runs_across(const std::vector<BufferAccess>& accesses, size_t k, size_t programs) {
  return std::any_of(accesses.begin(), accesses.end(), [&](const BufferAccess& access) {
    return access.strides[k]->is_constant(1) &&
           std::any_of(access.strides.begin() + long(programs), access.strides.end(),
                       [](Dim stride) { return !stride->is_constant(0); });
  });
}

/// `most` elements, or else `guess`, are what axes have that a program has whole; the last one where it has none.
void choose_blocks(DimTable& table, KernelSpace& space, const std::vector<BufferAccess>& accesses,
                   bool parts, const TileLimits& limits, std::optional<int64_t> most, int64_t guess) {
  size_t programs = size_t(std::count(space.whole.begin(), space.whole.end(), false));
  int64_t budget = limits.elements / whole_elements(space, parts, limits.elements, most.value_or(guess));
  std::vector<bool> crossed = crossed_axes(accesses, programs);
  space.transposes = std::find(crossed.begin(), crossed.end(), true) != crossed.end();
  if (space.transposes && programs == space.rank()) budget = std::max(budget, limits.edge * limits.edge);
  bool may_stretch = limits.stretches && programs == space.rank();
  int64_t longest = may_stretch ? longer_edge(space, crossed, limits.edge) : limits.edge;
  space.blocks = space.extents;
  for (size_t k = programs; k-- > 0;) {
    bool last = k + 1 == programs;
    int64_t limit = budget;
    if (last) space.across = runs_across(accesses, k, programs);
    int64_t line = last && space.across ? parts ? limits.copied_line : limits.line : 1;
    limit = std::max(limit, line);
    if (programs != space.rank() || !last) limit = std::min(limit, last ? std::max(limits.rows, line) : max_rows);
    if (last && programs > 1 && !space.extents[k]->constant())
      limit = std::min(limit, guessed_columns);
    if (space.transposes) limit = std::min(limit, last ? longest : crossed[k] ? limits.edge : int64_t(1));
    bool is_short = last && most && programs == space.rank() && !space.extents[k]->constant();
    Dim extent = is_short ? table.constant(*most) : space.extents[k];
    int64_t block = block_of(extent, limit, limits.powers_of_two);
    space.blocks[k] = table.constant(block);
    budget = std::max<int64_t>(budget / block, 1);
  }
}

}  // namespace

bool reads_group_value(const FusionGroup& group, const Read& read) {
  return group.maps.count(read.base) != 0;
}

Op* read_source(const GraphReads& reads, const Read& read) {
  Op* def = read.base->def();
  bool source = def && graph_role(def) == GraphRole::Source && !reads.forced(read.base);
  return source ? def : nullptr;
}

std::vector<BufferAccess> group_loads(const GraphReads& reads, const FusionGroup& group) {
  std::vector<BufferAccess> loads;
  for (Op* op : group.members) {
    for (unsigned i = 0; i < reads.operand_count(op); ++i) {
      const Read& read = reads.read(op, i);
      if (reads_group_value(group, read) || read_source(reads, read)) continue;
      bool is_memory = op == update_of(group) && i == graph::in::UpdateSlice::buffer;
      if (is_memory) continue;
      AxisMap map = operand_map(group, op, i);
      add_unique(loads,
                 {read.base, iteration_strides(reads.dims(), read, map, group.extents.size()),
                  read.access.offset});
    }
  }
  return loads;
}

int stepping_axis(const FusionGroup& group) {
  Op* update = update_of(group);
  if (!update || !update->attr(graph::attr::UpdateSlice::wrap)) return -1;
  return group.maps.at(update->result())[size_t(update->attr(common::Along::axis))];
}

namespace {

/// Where an update goes: as a whole to one of the places at which it fits, or, where it goes round, each element of
/// the axis to one of all.
void place_update(DimTable& table, const FusionGroup& group, const Access& whole, BufferAccess& store) {
  Op* update = update_of(group);
  size_t axis = size_t(update->attr(common::Along::axis));
  Dim extent = update->result()->type()->dims[axis];
  Dim length = update->in(graph::in::UpdateSlice::update)->type()->dims[axis];
  store.place_stride = whole.strides[axis];
  store.places = extent;
  if (!update->attr(graph::attr::UpdateSlice::wrap))
    store.places = table.add(table.sub(extent, length), table.constant(1));
  if (int step = stepping_axis(group); step >= 0) store.strides[size_t(step)] = table.constant(0);
}

}  // namespace

std::vector<BufferAccess> group_stores(DimTable& table, const FusionGroup& group) {
  std::vector<BufferAccess> stores;
  Op* concat = concat_of(group);
  for (Value* output : group.outputs) {
    Access whole = contiguous_access(table, output->type()->dims);
    size_t parts = output->def() == concat ? group.parts.size() : 1;
    Dim start = table.constant(0);
    for (size_t p = 0; p < parts; ++p) {
      const AxisMap& map = output->def() == concat ? group.parts[p] : group.maps.at(output);
      BufferAccess access{output, std::vector<Dim>(group.extents.size(), table.constant(0)),
                          table.constant(0)};
      for (size_t i = 0; i < map.size(); ++i) {
        if (map[i] >= 0) access.strides[size_t(map[i])] = whole.strides[i];
      }
      if (output->def() == concat) {
        size_t axis = size_t(concat->attr(common::Along::axis));
        access.offset = table.mul(start, whole.strides[axis]);
        start = table.add(start, concat->operand(unsigned(p))->type()->dims[axis]);
      }
      if (output->def() == update_of(group)) place_update(table, group, whole, access);
      stores.push_back(std::move(access));
    }
  }
  return stores;
}

BufferAccess collapse(DimTable& table, const KernelSpace& space, const FusionGroup& group,
                      const BufferAccess& access) {
  // Iteration axes in the order of the kernel's, as collapse_strides wants them.
  std::vector<size_t> order(group.extents.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return space.axis_of[a] < space.axis_of[b]; });
  std::vector<Dim> extents, strides;
  std::vector<int> group_of;
  for (size_t axis : order) {
    extents.push_back(group.extents[axis]);
    strides.push_back(access.strides[axis]);
    group_of.push_back(space.axis_of[axis]);
  }
  auto collapsed = collapse_strides(table, extents, strides, group_of, space.rank());
  TSR_CHECK(collapsed, "an access does not fit the kernel's axes");
  return {access.base, std::move(*collapsed), access.offset, access.places, access.place_stride};
}

KernelSpace plan_space(const GraphReads& reads, const FusionGroup& group, const std::vector<BufferAccess>& loads,
                       const std::vector<BufferAccess>& stores, const Machine* machine, int64_t halvings,
                       std::optional<int64_t> most) {
  DimTable& table = reads.dims();
  std::vector<BufferAccess> accesses = loads;
  accesses.insert(accesses.end(), stores.begin(), stores.end());
  std::vector<BufferAccess> constraints = coordinates(reads, group);
  if (int step = stepping_axis(group); step >= 0) {
    std::vector<Dim> strides(group.extents.size(), table.constant(0));
    strides[size_t(step)] = table.constant(1);
    constraints.push_back({nullptr, std::move(strides), table.constant(0)});
  }
  constraints.insert(constraints.end(), accesses.begin(), accesses.end());
  KernelSpace space;
  space.axis_of.resize(group.extents.size());
  for (bool whole : {false, true}) {
    int before = -1;  // the iteration axis before this one, of the same kind
    for (size_t i = 0; i < group.extents.size(); ++i) {
      if (group.whole[i] != whole) continue;
      bool own_axis =
          before < 0 || (whole && !group.parts.empty()) || !reduced_alike(group, before, int(i)) ||
          !std::all_of(constraints.begin(), constraints.end(), [&](const BufferAccess& access) {
            return runs_on(table, group, access, before, int(i));
          });
      if (own_axis) {
        space.extents.push_back(group.extents[i]);
        space.whole.push_back(whole);
      } else {
        space.extents.back() = table.mul(space.extents.back(), group.extents[i]);
      }
      space.axis_of[i] = int(space.extents.size()) - 1;
      before = int(i);
    }
    bool no_program_axis = !whole && space.extents.empty();
    if (no_program_axis) {
      space.extents.push_back(table.constant(1));
      space.whole.push_back(false);
    }
  }
  for (BufferAccess& access : accesses) access = collapse(table, space, group, access);
  TileLimits limits = halved(tile_limits(machine, group), halvings);
  // On a GPU there are kernels for shorter rows (row_tiles.h).
  int64_t guess = machine && machine->is_gpu() ? limits.elements : guessed_whole_axis;
  choose_blocks(table, space, accesses, !group.parts.empty(), limits, most, guess);
  if (int step = stepping_axis(group); step >= 0) space.blocks[size_t(space.axis_of[size_t(step)])] = table.constant(1);
  return space;
}

}  // namespace tessera
