#include "passes/tile/gpu/column_parts.h"

#include <set>

#include "ir/layout/text.h"
#include "ir/tile/build.h"

namespace tessera {

using tile::OpKind;
namespace in = tile::in;

bool is_global(Value* memory) {
  return !memory->type()->is(TypeKind::View) || memory->type()->space == MemorySpace::Global;
}

bool is_computed(Op* op) {
  return op->info().elementwise != ElementwiseKind::None || op->is(tile::info(OpKind::Broadcast)) ||
         op->is(tile::info(OpKind::Full));
}

Value* ColumnParts::of(Value* tile, int64_t first) {
  first_ = first;
  made_.clear();
  return compute(tile);
}

/// Tiles of one column, or of none, are the same for every part.
bool ColumnParts::runs_along_columns(Type tile) const {
  return tile->is(TypeKind::Tile) && tile->rank() == 2 && !tile->dims[1]->is_constant(1);
}

Type ColumnParts::part_type(Type tile) {
  Context& context = builder_.context();
  layout::Layout layout = tile->dims[0]->is_constant(1) ? part_.slice(0, true).layout : part_;
  Dim width = context.dims().constant(part_.extent(1));
  return context.with_layout(context.tile({tile->dims[0], width}, tile->dtype), layout::print(layout));
}

Value* ColumnParts::slice(Value* tile) {
  if (source_) return source_(tile, first_);
  return builder_.value(
      tile::info(OpKind::Slice), {{tile}}, part_type(tile->type()),
      {tile::attr::Slice::offsets(builder_.context(), std::vector<int64_t>{0, first_})});
}

Op* loaded_line(Op* op) {
  Op* load = op->is(tile::info(OpKind::Reshape)) ? op->operand(0)->def() : nullptr;
  bool is_load = load && load->is(tile::info(OpKind::Load)) && load->block() == op->block();
  if (!is_load || load->result()->type()->rank() != 1 || !op->result()->type()->dims[0]->is_constant(1)) return nullptr;
  return is_global(load->in(in::Load::memory)) ? load : nullptr;
}

/// A line is loaded again for each part, and takes registers for one.
Value* ColumnParts::compute_line(Op* load, Type row) {
  Context& context = builder_.context();
  Type line = context.tile({context.dims().constant(part_.extent(1))}, row->dtype);
  line = context.with_layout(line, layout::print(part_.slice(0, false).layout));
  Value* loaded = compute_load(load, line);
  return builder_.value(tile::info(OpKind::Reshape), {{loaded}}, part_type(row));
}

Value* ColumnParts::compute_load(Op* load, Type part) {
  std::vector<Value*> offsets = load->ins(in::Load::offsets), limits = load->ins(in::Load::limits);
  Value* shift = tile::index(builder_, first_);
  offsets.back() = tile::add(builder_, offsets.back(), shift);
  if (!limits.empty()) limits.back() = tile::sub(builder_, limits.back(), shift);
  std::vector<OpAttr> attributes(load->attributes().begin(), load->attributes().end());
  return builder_.value(tile::info(OpKind::Load), {{load->in(in::Load::memory)}, offsets, limits},
                        part, std::move(attributes));
}

Value* ColumnParts::compute(Value* tile) {
  if (!runs_along_columns(tile->type())) return tile;
  if (auto it = made_.find(tile); it != made_.end()) return it->second;
  Op* def = tile->def();
  bool here = def && def->block() == builder_.block();
  Value*& made = made_[tile];
  if (!here) return made = slice(tile);
  if (def->is(tile::info(OpKind::Load))) {
    return made = is_global(def->in(in::Load::memory))
                  ? compute_load(def, part_type(def->result()->type())) : slice(tile);
  }
  if (Op* line = source_ ? loaded_line(def) : nullptr) return made = compute_line(line, tile->type());
  if (!is_computed(def)) return made = slice(tile);
  std::map<Value*, Value*> parts;
  for (unsigned i = 0; i < def->operand_count(); ++i) parts[def->operand(i)] = compute(def->operand(i));
  Op* copy = builder_.module().clone(def, parts);
  builder_.insert(copy);
  copy->result()->set_type(part_type(tile->type()));
  return made_[tile] = copy->result();
}

void erase_with_operands(Op* op) {
  std::vector<Op*> left{op};
  std::set<Op*> queued{op};
  while (!left.empty()) {
    Op* next = left.back();
    left.pop_back();
    queued.erase(next);
    std::vector<Op*> operands;
    for (unsigned i = 0; i < next->operand_count(); ++i) {
      if (Op* def = next->operand(i)->def()) operands.push_back(def);
    }
    next->erase();
    for (Op* def : operands) {
      bool dead = def->result_count() == 1 && def->result()->unused() && def->region_count() == 0 &&
                  !(def->info().effects & ~uint32_t(Reads));
      if (dead && queued.insert(def).second) left.push_back(def);
    }
  }
}

}  // namespace tessera
