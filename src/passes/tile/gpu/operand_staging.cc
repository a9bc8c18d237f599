#include "passes/tile/gpu/operand_staging.h"

#include <algorithm>

#include "passes/tile/gpu/mma_unit.h"
#include "passes/tile/gpu/tensor_copies.h"
#include "passes/tile/pipeline/builders.h"

namespace tessera {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

/// Bytes that the copy engine brings: columns of a swizzled tile are aligned, and what lies between them is no part
/// of any copy.
int64_t copied_bytes(const StagedOperand& operand) {
  int64_t bytes = byte_size(operand.value->type()->dtype);
  for (Dim dim : operand.value->type()->dims) bytes *= *dim->constant();
  return bytes;
}

}  // namespace

Op* op_within(Block* block, Op* op) {
  while (op->block() != block) op = op->parent();
  return op;
}

/// The number of the iteration, where the builder stands.
Value* OperandStaging::iteration_of(Block* block) {
  Op* loop = block->parent_op();
  if (loop == kernel_) return tile::index(builder_, 0);
  return tile::sub(builder_, block->arg(0), loop->in(in::For::lo));
}

/// Shared memory belongs to the whole kernel.
Value* OperandStaging::new_tile(const StagedOperand& operand, int64_t slots) {
  Builder here = builder_;
  builder_.set_before(kernel_->region()->front()->front());
  Value* made = tile::alloc_shared(builder_, shared_type(context(), operand.value->type(), *operand.layout, slots));
  builder_ = here;
  return made;
}

OperandStaging::Iteration OperandStaging::fill_channel(const std::vector<StagedOperand*>& operands, Op* before) {
  std::vector<Value*> rings;
  int64_t bytes = 0;
  for (StagedOperand* each : operands) {
    rings.push_back(new_tile(*each, 1));
    bytes += copied_bytes(*each);
  }
  builder_.set_after(rings.front()->def());  // each stands before those made earlier
  Value* channel = builder_.value(tile::info(OpKind::Channel), {rings}, tile::channel_type(context()),
                                  {attr::Channel::stages(context(), 1)});
  builder_.set_before(before);
  Value* number = iteration_of(before->block());
  tile::channel_op(builder_, OpKind::ChannelAcquire, channel, number,
                   {attr::ChannelAcquire::bytes(context(), bytes)});
  for (size_t i = 0; i < operands.size(); ++i) operands[i]->place = tile::slot(builder_, rings[i], number);
  for (StagedOperand* each : operands) tile::copy_async(builder_, each->load, each->place, channel);
  return {channel, number};
}

/// Brings an operand where it is loaded, unless it is there already, for the dots at `reader`.
Value* OperandStaging::hold(StagedOperand& operand, Op* reader) {
  Op* user = op_within(operand.load->block(), reader);
  auto [it, is_new] = held_.try_emplace(operand.load);
  Held& held = it->second;
  if (!is_new) {
    if (held.release && held.release->is_before(user)) held.release->move_before(user->next());
    return held.place;
  }
  if (operand.path == OperandPath::Copy) {
    held = {new_tile(operand, 0), nullptr};
    builder_.set_after(operand.load);
    tile::copy_async(builder_, operand.load, held.place, nullptr);
    finish_copies(true);
    return held.place;
  }
  Iteration iteration = fill_channel({&operand}, operand.load->next());
  tile::channel_op(builder_, OpKind::ChannelWait, iteration.channel, iteration.number);
  builder_.set_after(user);
  held = {operand.place, tile::channel_op(builder_, OpKind::ChannelRelease, iteration.channel, iteration.number)};
  return held.place;
}

/// Waits until the copies and other writes of all threads are visible.
void OperandStaging::finish_copies(bool copies) {
  if (copies) {
    builder_.op(tile::info(OpKind::CopyCommit), {}, {});
    builder_.op(tile::info(OpKind::CopyWait), {}, {}, {attr::CopyWait::pending(context(), 0)});
  }
  if (machine_.gpu.has_wgmma) tile::fence_async(builder_);  // which reads shared memory by itself
  tile::barrier(builder_);
}

/// A computed operand with zeros past the limit of k.
Value* OperandStaging::within_limit(Op* dot, const StagedOperand& operand) {
  Value* limit = dot->in(in::Dot::limit);
  if (!limit) return operand.value;
  Type type = operand.value->type();
  std::vector<Value*> limits{tile::dim(builder_, type->dims[0]), tile::dim(builder_, type->dims[1])};
  limits[operand.slot == in::Dot::a ? 1 : 0] = limit;
  Attr nothing = is_float(type->dtype) ? context().number(0) : context().integer(0);
  return tile::merge(builder_, operand.value, tile::full(builder_, type, nothing), limits);
}

namespace {

/// What the operand is cast from, so that it is 0 where that is.
Value* cast_of(const StagedOperand& operand) {
  Value* value = operand.value;
  while (value->def() && value->def()->info().elementwise == ElementwiseKind::Cast) value = value->def()->operand(0);
  return value;
}

/// Whether the operand is cast from a load that ends where the dot's sums do.
bool ends_with_sums(Op* dot, const StagedOperand& operand) {
  Op* load = global_load_of(cast_of(operand));
  std::vector<Value*> limits = load ? load->ins(in::Load::limits) : std::vector<Value*>{};
  size_t axis = operand.slot == in::Dot::a ? 1 : 0;
  return limits.size() > axis && limits[axis] == dot->in(in::Dot::limit) && !load->has(attr::Load::fill);
}

}  // namespace

/// Copies what operands are computed of, and the operands that are loaded, and waits for both; what the loop computes
/// then follows. False where no operand is computed of what is copied.
bool OperandStaging::bring_raw(std::vector<StagedOperand>& operands, Op* place) {
  std::vector<Op*> loads;
  for (const StagedOperand& each : operands) {
    if (each.raw && std::ranges::find(loads, each.raw) == loads.end()) loads.push_back(each.raw);
  }
  std::vector<std::vector<Op*>> computed;
  for (Op* load : loads) {
    std::optional<std::vector<Op*>> made = computed_of(load, place);
    if (!made) return false;
    computed.push_back(std::move(*made));
  }
  if (loads.empty()) return false;
  builder_.set_before(place);
  for (StagedOperand& each : operands) {
    if (each.before || each.path != OperandPath::Copy) continue;
    each.place = new_tile(each, 0);
    tile::copy_async(builder_, each.load, each.place, nullptr);
  }
  std::vector<Value*> places;
  for (Op* load : loads) {
    Type memory = load->in(in::Load::memory)->type();
    StagedOperand raw{load->result(), 0, load, nullptr, staged_layout(context(), memory, load->result()->type())};
    places.push_back(new_tile(raw, 0));
    tile::copy_async(builder_, load, places.back(), nullptr);
  }
  // Where an operand is stored, what the matrix unit reads is fenced behind that.
  bool stores = std::ranges::any_of(operands, [](const auto& each) { return each.path == OperandPath::Store; });
  builder_.op(tile::info(OpKind::CopyCommit), {}, {});
  builder_.op(tile::info(OpKind::CopyWait), {}, {}, {attr::CopyWait::pending(context(), 0)});
  if (!stores && machine_.gpu.has_wgmma) tile::fence_async(builder_);
  tile::barrier(builder_);
  for (size_t i = 0; i < loads.size(); ++i) {
    Value* zero = tile::index(builder_, 0);
    Value* read = tile::load(builder_, places[i], {zero, zero}, {}, loads[i]->result()->type());
    loads[i]->result()->replace_all_uses(read);
    for (Op* op : computed[i]) op->move_before(place);
    loads[i]->erase();
  }
  return true;
}

void OperandStaging::bring_beside(StagedOperand& loaded) {
  builder_.set_loc(loaded.load->loc());
  Iteration iteration = fill_channel({&loaded}, loaded.load);
  tile::channel_op(builder_, OpKind::ChannelWait, iteration.channel, iteration.number);
  Value* zero = tile::index(builder_, 0);
  Value* read = tile::load(builder_, loaded.place, {zero, zero}, {}, loaded.value->type());
  tile::channel_op(builder_, OpKind::ChannelRelease, iteration.channel, iteration.number);
  loaded.value->replace_all_uses(read);
  loaded.load->erase();
}

bool OperandStaging::bring(std::vector<StagedOperand>& operands, Op* place, bool ahead) {
  bool copies = false, stores = false, held = false;
  // Copies and loads leave zeros past their limits.
  std::vector<bool> copies_zeros, has_zeros;
  for (const StagedOperand& each : operands) {
    copies_zeros.push_back(each.raw && cast_of(each) == each.raw->result());
    has_zeros.push_back(ends_with_sums(place, each));
  }
  bool is_raw = ahead && bring_raw(operands, place);
  for (StagedOperand& each : operands) {
    builder_.set_before(place);
    size_t index = size_t(&each - operands.data());
    bool is_zero = has_zeros[index] || (is_raw && copies_zeros[index]);
    if (is_raw && each.place) continue;
    if (each.before) {
      each.place = hold(each, place);
      held |= each.path == OperandPath::Copy;
    } else if (each.path == OperandPath::Copy) {
      each.place = new_tile(each, 0);
      tile::copy_async(builder_, each.load, each.place, nullptr);
      copies = true;
    } else if (each.path == OperandPath::Store) {
      each.place = new_tile(each, 0);
      Value* zero = tile::index(builder_, 0);
      tile::store(builder_, is_zero ? each.value : within_limit(place, each), each.place, {zero, zero}, {});
      stores = true;
    } else if (each.path == OperandPath::Register) {
      each.place = is_zero ? each.value : within_limit(place, each);
    }
  }
  builder_.set_before(place);
  if (copies || stores) finish_copies(copies);
  return copies || stores || held || is_raw;
}

}  // namespace tessera
