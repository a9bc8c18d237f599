#include "passes/tile/gpu/operand_paths.h"

#include "ir/layout/text.h"
#include "ir/tile/build.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/tile/common/window_loads.h"
#include "passes/tile/gpu/mma_unit.h"
#include "passes/tile/gpu/tensor_copies.h"
#include "support/check.h"

namespace tessera {

using layout::SharedLayout;
using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

bool is_shared(Value* memory) {
  return memory->type()->is(TypeKind::View) && memory->type()->space == MemorySpace::Shared;
}

/// What the memory is a window of.
Value* whole_of(Value* memory) {
  while (memory->def() && memory->def()->operand_count() > 0) memory = memory->def()->operand(0);
  return memory;
}

/// Whether the MMA may read the memory itself: no barrier stands between the load and the dot.
bool still_holds(Op* load, Op* dot) {
  if (load->block() != dot->block() || load->in(in::Load::memory)->type()->rank() != 2) return false;
  for (Op* op = load->next(); op != dot; op = op->next()) {
    if (!op || op->is(tile::info(OpKind::Barrier)) || op->region_count() > 0) return false;
  }
  return true;
}

}  // namespace

Op* global_load_of(Value* value) {
  Op* def = value->def();
  bool loaded = def && def->is(tile::info(OpKind::Load)) && !is_shared(def->in(in::Load::memory));
  return loaded ? def : nullptr;
}

Op* narrow_load_of(Value* factor, Op* (*load_of)(Value*)) {
  std::set<Value*> seen;
  std::vector<Value*> open{factor};
  Op* load = nullptr;
  while (!open.empty()) {
    Value* value = open.back();
    open.pop_back();
    Op* def = value->def();
    if (!seen.insert(value).second || !value->type()->is(TypeKind::Tile)) continue;
    if (def && def->is(tile::info(OpKind::Full))) continue;
    if (!def || value->type()->dims != factor->type()->dims) return nullptr;
    if (Op* found = load_of(value)) {
      if (load && load != found) return nullptr;
      load = found;
      continue;
    }
    if (def->info().elementwise == ElementwiseKind::None) return nullptr;
    for (unsigned i = 0; i < def->operand_count(); ++i) open.push_back(def->operand(i));
  }
  bool is_narrow = load && byte_size(load->result()->type()->dtype) < byte_size(factor->type()->dtype);
  return is_narrow ? load : nullptr;
}

std::optional<std::vector<Op*>> computed_of(Op* load, Op* before) {
  std::vector<Op*> made;
  std::set<Value*> values{load->result()};
  size_t uses = 0, found = 0;
  auto count_uses = [&](Value* value) {
    for (Use* use = value->first_use(); use; use = use->next()) ++uses;
  };
  count_uses(load->result());
  for (Op* op = load->next(); op && op != before; op = op->next()) {
    size_t reads = 0;
    for (unsigned i = 0; i < op->operand_count(); ++i) reads += values.contains(op->operand(i));
    if (reads == 0) continue;
    found += reads;
    if (op->is(tile::info(OpKind::Dot))) continue;
    if (op->info().elementwise == ElementwiseKind::None || op->result_count() != 1) return std::nullopt;
    made.push_back(op);
    values.insert(op->result());
    count_uses(op->result());
  }
  for (unsigned i = 0; i < before->operand_count(); ++i) found += values.contains(before->operand(i));
  if (found != uses) return std::nullopt;
  return made;
}

OperandPaths::OperandPaths(Op* kernel, const Machine& machine, int64_t warps, bool has_written)
    : kernel_(kernel), machine_(machine), warps_(warps), has_written_(has_written), known_(kernel) {
  walk(kernel, [&](Op* op) {
    if (op->is(tile::info(OpKind::Store))) stored_.insert(whole_of(op->in(in::Store::memory)));
  });
}

/// Whether the iterations of the block can be counted: it is the kernel's own block, or that of a
/// loop in it.
bool OperandPaths::counts_iterations(Block* block) const {
  Op* loop = block->parent_op();
  if (loop == kernel_) return true;
  return loop->is(tile::info(OpKind::For)) && loop->parent() == kernel_ &&
         tile::known_index(loop->in(in::For::step)) == 1;
}

/// The global memory that the operand is from; of a computed one, memory that it would lie in.
Type OperandPaths::memory_of(Value* operand) const {
  if (Op* load = global_load_of(operand)) return load->in(in::Load::memory)->type();
  Type type = operand->type();
  return kernel_->module()->context().contiguous_view(type->dims, type->dtype, MemorySpace::Global);
}

/// True if the tile is computed, element by element, from the result of an MMA, or of a dot that will be one.
bool OperandPaths::is_made_of_sums(Value* value, std::set<Value*>& seen) const {
  Op* def = value->def();
  if (!def || !seen.insert(value).second) return false;
  if (def->is(tile::info(OpKind::MmaWait))) return true;
  if (def->is(tile::info(OpKind::Dot))) return instruction(def);
  if (def->info().elementwise == ElementwiseKind::None && !def->is(tile::info(OpKind::Merge))) return false;
  for (unsigned i = 0; i < def->operand_count(); ++i) {
    bool same = def->operand(i)->type()->dims == value->type()->dims;
    if (same && is_made_of_sums(def->operand(i), seen)) return true;
  }
  return false;
}

/// Nothing where the instruction reads the operand from registers: a left factor that is computed from sums, which
/// are then where it reads them, or from narrower elements, which threads load to where it reads them.
std::optional<SharedLayout> OperandPaths::layout_of(Op* dot, unsigned slot, const MmaInstruction* instruction) const {
  Value* value = dot->in(slot);
  Op* load = value->def();
  bool written = load && load->is(tile::info(OpKind::Load)) && !global_load_of(value) && still_holds(load, dot);
  if (written) return layout::parse_shared_layout(load->in(in::Load::memory)->type()->layout);
  std::set<Value*> seen;
  bool may_stay = instruction && slot == in::Dot::a && tile::reads_registers(*instruction) && !global_load_of(value);
  if (may_stay && (is_made_of_sums(value, seen) || narrow_load_of(value))) return std::nullopt;
  int k_axis = slot == in::Dot::a ? 1 : 0;
  if (instruction && instruction->majors == MmaMajors::AlongK) return staged_along(value->type(), k_axis);
  return staged_layout(kernel_->module()->context(), memory_of(value), value->type());
}

const MmaInstruction* OperandPaths::instruction(Op* dot) const {
  return choose_instruction(dot, warps_, machine_, [&](unsigned slot, const MmaInstruction* instruction) {
    return layout_of(dot, slot, instruction);
  });
}

StagedOperand OperandPaths::choose(Op* dot, unsigned slot, const MmaInstruction* instruction) const {
  Value* value = dot->in(slot);
  StagedOperand found{value, slot, global_load_of(value)};
  Op* def = value->def();
  if (!found.load && def && def->is(tile::info(OpKind::Load)) && still_holds(def, dot)) {
    found.path = OperandPath::Written;
    found.place = def->in(in::Load::memory);
    return found;
  }
  found.layout = layout_of(dot, slot, instruction);
  if (!found.layout) {
    found.path = OperandPath::Register;
    found.raw = raw_load_of(dot, value);
    found.computed_here = narrow_load_of(value) != nullptr;
    return found;
  }
  // What copies bring lies as in global memory.
  bool as_loaded = found.layout == staged_layout(kernel_->module()->context(), memory_of(value), value->type());
  if (!as_loaded) found.load = nullptr;
  if (!found.load) found.raw = raw_load_of(dot, value);
  if (found.load && !found.load->has(attr::Load::fill)) {
    found.before = found.load->block() != dot->block() && dot->parent()->is(tile::info(OpKind::For));
    bool near = found.before || found.load->block() == dot->block();
    found.path = near && is_for_engine(found) ? OperandPath::Channel : OperandPath::Copy;
  }
  return found;
}

/// The narrower load of which the operand is computed, where threads can copy it ahead without waiting for it: less
/// passes through shared memory so. It is in the dot's own block.
Op* OperandPaths::raw_load_of(Op* dot, Value* operand) const {
  Op* load = narrow_load_of(operand);
  if (!load || has_written_ || load->block() != dot->block() || !counts_iterations(load->block())) return nullptr;
  Type from = load->result()->type();
  bool is_stored = stored_.contains(whole_of(load->in(in::Load::memory)));
  if (from->rank() != 2 || is_stored || load->has(attr::Load::fill)) return nullptr;
  std::optional<SharedLayout> layout = staged_layout(kernel_->module()->context(), memory_of(load->result()), from);
  return layout && is_for_threads(load, *layout) ? load : nullptr;
}

/// Whether threads can copy the tile past their registers, which they do 4 bytes or more at a time.
bool OperandPaths::is_for_threads(Op* load, const SharedLayout& layout) const {
  constexpr int64_t least_bytes = 4;
  Value* place = load->in(in::Load::memory);
  Type memory = place->type(), tile = load->result()->type();
  if (windows_of(place)) return false;
  int64_t elements = std::max<int64_t>(least_bytes / byte_size(tile->dtype), 1);
  auto is_multiple = [&](auto of) { return known_.of(of) % elements == 0; };
  std::vector<Dim> strides = tile::strides_of(kernel_->module()->context(), memory);
  size_t lead = strides.size() - tile->rank(), axis = size_t(layout.contiguous_axis()), fastest = lead + axis;
  if (!strides[fastest]->is_constant(1)) return false;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (i != fastest && !is_multiple(strides[i])) return false;
  }
  if (memory->is(TypeKind::View) && !is_multiple(memory->offset)) return false;
  std::vector<Value*> limits = load->ins(in::Load::limits);
  bool is_whole = limits.empty() || is_multiple(limits[axis]);
  return is_whole && is_multiple(load->ins(in::Load::offsets)[fastest]);
}

std::optional<StagedOperand> OperandPaths::beside(Op* load) const {
  Type type = load->result()->type();
  if (!global_load_of(load->result()) || type->rank() != 2 || load->has(attr::Load::fill)) return std::nullopt;
  StagedOperand found{load->result(), in::Dot::a, load};
  found.layout = staged_layout(kernel_->module()->context(), memory_of(load->result()), type);
  if (!found.layout || !is_for_engine(found)) return std::nullopt;
  found.path = OperandPath::Channel;
  return found;
}

bool OperandPaths::is_for_engine(const StagedOperand& operand) const {
  Op* load = operand.load;
  if (!machine_.gpu.has_tma || has_written_ || !counts_iterations(load->block())) return false;
  bool stored = stored_.contains(whole_of(load->in(in::Load::memory)));
  return !stored && is_tensor_copy(load, *operand.layout, known_);
}

}  // namespace tessera
