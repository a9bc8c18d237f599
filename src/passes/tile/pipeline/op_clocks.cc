#include "passes/tile/pipeline/op_clocks.h"

#include <algorithm>

#include "ir/core/common_attributes.h"
#include "ir/tile/op_facts.h"
#include "support/check.h"

namespace tessera::pipeline {

using tile::Cost;
using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

constexpr UnitInfo units[] = {
#define UNIT(Name, text, rate, of, use, latency) {text, rate, UnitUse::use, latency},
#include "passes/tile/pipeline/units.def"
#undef UNIT
};

int64_t over(int64_t amount, int64_t rate) { return (amount + rate - 1) / rate; }

/// Collects what an op occupies.
class Clocks {
 public:
  explicit Clocks(const Machine& machine) : machine_(machine) {}

  Clocks& add(Unit unit, int64_t amount) {
    int64_t rate = unit == Unit::Arithmetic ? machine_.gpu.lanes : info(unit).rate;
    if (amount > 0) made_.occupies.push_back({size_t(unit), over(amount, rate)});
    made_.latency = std::max(made_.latency, made_.busy() + info(unit).latency);
    return *this;
  }
  OpClocks take() { return std::move(made_); }

 private:
  const Machine& machine_;
  OpClocks made_;
};

const MmaInstruction* instruction_of(Op* dot, const DotChoices& dots) {
  auto chosen = dots.instructions.find(dot);
  if (chosen != dots.instructions.end()) return chosen->second;
  if (!dot->is(tile::info(OpKind::Mma))) return nullptr;
  std::optional<std::string_view> name = dot->attr(attr::Mma::instruction);
  return name ? find_mma(*name) : nullptr;
}

/// Of a tile.dot or a tile.mma, whose operands are in the same places.
OpClocks of_dot(Op* dot, const DotChoices& dots, const Machine& machine) {
  Type a = dot->in(in::Dot::a)->type(), b = dot->in(in::Dot::b)->type(), sum = dot->result()->type();
  int64_t m = sum->dims[0]->constant().value_or(1), n = sum->dims[1]->constant().value_or(1);
  int64_t k = a->dims[1]->constant().value_or(1);
  const MmaInstruction* row = instruction_of(dot, dots);
  Clocks clocks(machine);
  if (!row) {
    return clocks.add(Unit::Arithmetic, m * n * k).add(Unit::SharedMemory, tile_bytes(a) + tile_bytes(b)).take();
  }
  double steps = double(m) / double(row->m) * double(n) / double(row->n) * double(k) / double(row->k);
  clocks.add(Unit::MatrixUnit, int64_t(steps * double(row->clocks) / mma_rate(row->unit, machine)));
  // The right operand is read once for each slab of rows of an instruction, the left one once.
  int64_t slab = row->m * std::max<int64_t>(4 / row->warps(), 1);
  clocks.add(Unit::SharedMemory, tile_bytes(a) + tile_bytes(b) * over(m, slab));
  if (row->promotes && dot->is(tile::info(OpKind::Dot))) clocks.add(Unit::Arithmetic, m * n);
  return clocks.take();
}

OpClocks of_load(Op* load, const DotChoices& dots, const Machine& machine) {
  int64_t bytes = tile_bytes(load->result()->type());
  auto brought = dots.brought.find(load);
  if (brought == dots.brought.end()) return Clocks(machine).add(Unit::Loads, bytes).take();
  Unit by = brought->second == DotChoices::By::CopyEngine ? Unit::CopyEngine : Unit::Loads;
  return Clocks(machine).add(by, bytes).add(Unit::SharedMemory, bytes).take();
}

OpClocks of_elementwise(Op* op, const Machine& machine) {
  ElementwiseKind kind = op->info().elementwise;
  Type type = op->result()->type();
  int64_t elements = element_count(type);
  const ElementwiseInfo& info = elementwise_info(kind);
  // Comparisons, extremes and conversions start at half the rate of multiply-adds; f64 does, too.
  bool is_half = info.cls == ElementwiseClass::Compare || info.cls == ElementwiseClass::Convert ||
                 kind == ElementwiseKind::Max || kind == ElementwiseKind::Min || byte_size(type->dtype) == 8;
  constexpr int64_t around_function = 4;  // instructions that prepare its operand and scale its result
  bool is_one = kind == ElementwiseKind::Exp2 || kind == ElementwiseKind::Log2 || kind == ElementwiseKind::Rsqrt ||
                kind == ElementwiseKind::Reciprocal;
  bool has_function = is_one || is_transcendental(kind) || info.cost == ElementwiseCost::Division;
  Clocks clocks(machine);
  if (has_function) clocks.add(Unit::Functions, elements);
  int64_t instructions = is_one ? 1 : has_function ? around_function : is_half ? 2 : 1;
  return clocks.add(Unit::Arithmetic, elements * instructions).take();
}

/// Elements are combined in threads, then among the threads of a warp by exchanges in five steps.
OpClocks of_combining(Op* op, const Machine& machine) {
  constexpr int64_t exchange = 25, steps = 5;
  OpClocks clocks = Clocks(machine).add(Unit::Arithmetic, element_count(op->operand(0)->type())).take();
  clocks.latency += exchange * steps;
  return clocks;
}

}  // namespace

const UnitInfo& info(Unit unit) { return units[size_t(unit)]; }
std::vector<UnitUse> unit_uses() {
  std::vector<UnitUse> uses;
  for (const UnitInfo& unit : units) uses.push_back(unit.use);
  return uses;
}

int64_t OpClocks::busy() const {
  int64_t most = 0;
  for (const Occupancy& each : occupies) most = std::max(most, each.clocks);
  return most;
}

int64_t element_count(Type type) {
  int64_t elements = 1;
  for (Dim dim : type->dims) elements *= std::max<int64_t>(dim->constant().value_or(1), 1);
  return elements;
}

int64_t tile_bytes(Type type) {
  return (element_count(type) * int64_t(dtype_info(type->dtype).bits) + 7) / 8;
}

bool takes_time(Op* op) {
  if (op->is_terminator() || tile::facts(op).cost == Cost::Free) return false;
  bool has_tile = op->region_count() > 0 || !op->is_pure();
  for (unsigned i = 0; i < op->operand_count(); ++i) has_tile |= op->operand(i)->type()->is(TypeKind::Tile);
  for (unsigned i = 0; i < op->result_count(); ++i) has_tile |= op->result(i)->type()->is(TypeKind::Tile);
  return has_tile;
}

OpClocks clocks_of(Op* op, const DotChoices& dots, const Machine& machine) {
  constexpr int64_t sector = 32;  // bytes of memory that come together
  int64_t elements = 1;
  if (op->result_count()) elements = element_count(op->result()->type());
  else if (op->operand_count()) elements = element_count(op->operand(0)->type());
  Clocks clocks(machine);
  switch (tile::facts(op).cost) {
    case Cost::Elementwise: return of_elementwise(op, machine);
    case Cost::Combining: return of_combining(op, machine);
    case Cost::Dot: return of_dot(op, dots, machine);
    case Cost::Load: return of_load(op, dots, machine);
    case Cost::Store: return clocks.add(Unit::Loads, tile_bytes(op->in(in::Store::value)->type())).take();
    case Cost::Copy: return clocks.add(Unit::Loads, tile_bytes(op->in(in::CopyAsync::to)->type())).take();
    case Cost::Rows: return clocks.add(Unit::Loads, tile_bytes(op->result()->type())).take();
    case Cost::Scattered: return clocks.add(Unit::Loads, elements * sector).take();
    case Cost::Shared: return clocks.add(Unit::SharedMemory, 2 * tile_bytes(op->result()->type())).take();
    case Cost::Elements: return clocks.add(Unit::Arithmetic, elements).take();
    case Cost::Free: return {};
    case Cost::Unstated: break;
  }
  TSR_UNREACHABLE("the row states no cost: " + std::string(op->name()));
}

}  // namespace tessera::pipeline
