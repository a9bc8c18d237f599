#include "passes/tile/gpu/operand_loads.h"

#include <algorithm>

#include "ir/tile/build.h"
#include "passes/tile/gpu/tensor_copies.h"

namespace tessera {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

Value* OperandLoads::normalise(Value* operand) { return transpose(flatten(operand)); }

/// Of the memory's other axes a load takes one index each anyway. Where that index may lie past its axis, nothing is
/// there of the rows.
Value* OperandLoads::flatten(Value* value) {
  Op* reshape = value->def();
  Op* load = reshape && reshape->is(tile::info(OpKind::Reshape)) ? reshape->operand(0)->def() : nullptr;
  if (!load || !load->is(tile::info(OpKind::Load))) return value;
  Type from = load->result()->type(), to = value->type();
  if (from->rank() <= to->rank() || to->rank() == 0) return value;
  size_t lead = from->rank() - to->rank();
  if (!std::equal(to->dims.begin(), to->dims.end(), from->dims.begin() + int64_t(lead))) return value;
  for (size_t i = 0; i < lead; ++i) {
    if (!from->dims[i]->is_constant(1)) return value;
  }
  std::vector<Value*> all = load->ins(in::Load::limits), limits;
  builder_.set_before(load);
  builder_.set_loc(load->loc());
  if (!all.empty()) limits.assign(all.begin() + int64_t(lead), all.end());
  for (size_t i = 0; i < lead && !all.empty(); ++i) {
    if (tile::known_index(all[i]).value_or(0) > 0) continue;
    Value* zero = tile::index(builder_, 0);
    Value* there = tile::elementwise(builder_, ElementwiseKind::Gt, {all[i], zero});
    limits[0] = tile::elementwise(builder_, ElementwiseKind::Select, {there, limits[0], zero});
  }
  Value* flat = load_like(load, load->in(in::Load::memory), load->ins(in::Load::offsets), limits, to);
  value->replace_all_uses(flat);
  reshape->erase();
  if (load->result()->unused()) load->erase();
  return flat;
}

Value* OperandLoads::transpose(Value* value) {
  Op* transpose = value->def();
  if (!transpose || !transpose->is(tile::info(OpKind::Transpose)) || value->type()->rank() != 2) return value;
  flatten(transpose->operand(0));
  Op* load = transpose->operand(0)->def();
  bool swaps = transpose->attr(attr::Transpose::perm).vector() == std::vector<int64_t>{1, 0};
  if (!swaps || !load || !load->is(tile::info(OpKind::Load)) || load->result()->type()->rank() != 2) return value;
  Value* memory = load->in(in::Load::memory);
  Type window = memory->type();
  if (window->is(TypeKind::Tensor))
    window = builder_.context().contiguous_view(window->dims, window->dtype, MemorySpace::Global);
  std::vector<Dim> dims = window->dims, strides = window->strides;
  std::vector<Value*> offsets = load->ins(in::Load::offsets), limits = load->ins(in::Load::limits);
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  std::swap(offsets[offsets.size() - 1], offsets[offsets.size() - 2]);
  if (!limits.empty()) std::swap(limits[0], limits[1]);
  if (Op* view = memory->def()) memory = view->operand(0);
  builder_.set_before(kernel_->region()->front()->front());
  Value* transposed = tile::view(builder_, memory, dims, strides, window->offset);
  builder_.set_before(load);
  builder_.set_loc(load->loc());
  Value* turned = load_like(load, transposed, offsets, limits, value->type());
  value->replace_all_uses(turned);
  transpose->erase();
  if (load->result()->unused()) load->erase();
  return turned;
}

void OperandLoads::drop_repeated(Op* load) {
  Value* memory = load->in(in::Load::memory);
  Type window = memory->type(), tile = load->result()->type();
  bool is_view = memory->def() && memory->def()->is(tile::info(OpKind::View)) &&
                 !memory->def()->has(attr::View::windows) && window->is(TypeKind::View);
  if (!is_view) return;
  Type once = without_repeated_axes(builder_.context(), window, tile->rank());
  if (once == window) return;
  std::vector<Value*> all = load->ins(in::Load::offsets), offsets;
  for (size_t i = 0; i < window->rank(); ++i) {
    if (i + tile->rank() >= window->rank() || !window->strides[i]->is_constant(0)) offsets.push_back(all[i]);
  }
  builder_.set_after(memory->def());
  builder_.set_loc(memory->def()->loc());
  Value* place = tile::view(builder_, memory->def()->operand(0), once->dims, once->strides, window->offset);
  builder_.set_before(load);
  builder_.set_loc(load->loc());
  load->result()->replace_all_uses(load_like(load, place, offsets, load->ins(in::Load::limits), tile));
  load->erase();
}

Value* OperandLoads::load_like(Op* load, Value* memory, const std::vector<Value*>& offsets,
                               const std::vector<Value*>& limits, Type type) {
  std::vector<OpAttr> attributes(load->attributes().begin(), load->attributes().end());
  return builder_.value(tile::info(OpKind::Load), {{memory}, offsets, limits}, type, std::move(attributes));
}

}  // namespace tessera
