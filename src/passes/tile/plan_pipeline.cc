// Decides how the operands of products reach shared memory (GPU).
//
// Tensor cores read operands from shared memory, and an FMA product wants them there too, so each operand of a
// tile.dot becomes a tile of shared memory and the dot a tile.mma. Three ways lead there:
//
//   channel   both operands are loads that the copy engine can do, inside a loop that counts turns: one channel for
//             the loop, `acquire; copy …; wait; mma; mma_wait; release`. The channel has one stage here; multi_buffer
//             gives it more, specialise_roles splits the two sides.
//   copies    loads that the threads themselves copy: copy, copy_wait, barrier, mma, mma_wait, barrier.
//   stores    what is no load (a converted operand) is computed in registers and stored.
//
// A transposed load is a load of a transposed window. What is loaded before a loop and multiplied in it is copied once,
// where it is loaded.
//
// All threads that the schedule has for computing do all of that; specialise_roles adds those that only load.

#include <algorithm>

#include "ir/layout/text.h"
#include "ir/layout/wgmma_descriptor.h"
#include "passes/pass.h"
#include "passes/tile/gpu/builders.h"
#include "passes/tile/gpu/gpu_schedule.h"
#include "passes/tile/gpu/tensor_copies.h"
#include "support/check.h"

namespace tessera {

using layout::SharedLayout;
using tile::OpKind;
namespace in = tile::in;

namespace {

class PipelinePlan {
 public:
  PipelinePlan(Op* kernel, const Machine& machine)
      : kernel_(kernel), machine_(machine), known_(kernel), builder_(*kernel->module()) {}

  void run() {
    place_written();
    std::vector<Op*> dots;
    walk(kernel_, [&](Op* op) {
      if (op->is(tile::info(OpKind::Dot))) dots.push_back(op);
    });
    for (Op* dot : dots) {
      for (unsigned slot : {unsigned(in::Dot::a), unsigned(in::Dot::b)}) {
        flatten(dot->in(slot));
        turn(dot->in(slot));
      }
      stage(dot);
    }
  }

 private:
  struct Operand {
    Value* value;
    Op* load;  ///< null: computed
    std::optional<SharedLayout> layout;
    bool by_engine = false;
    Value* written = nullptr;  ///< memory of the source that holds it already
  };

  /// Memory that the source asks for gets its layout, and what the source orders by barriers is seen by matrix units.
  void place_written() {
    std::vector<Op*> allocs, barriers;
    walk(kernel_, [&](Op* op) {
      if (op->is(tile::info(OpKind::AllocShared))) allocs.push_back(op);
      if (op->is(tile::info(OpKind::Barrier))) barriers.push_back(op);
    });
    for (Op* alloc : allocs) {
      lay_out(alloc->result());
      alloc->move_before(kernel_->region()->front()->front());
    }
    for (Op* barrier : barriers) {
      if (!machine_.gpu.has_wgmma) break;
      builder_.set_before(barrier);
      builder_.set_loc(barrier->loc());
      tile::fence_async(builder_);
    }
    has_written_ = !allocs.empty();
  }

  /// The last two axes as products read them; of slots each has its own tile.
  void lay_out(Value* memory) {
    Type type = memory->type();
    size_t rank = std::min<size_t>(type->rank(), 2);
    std::vector<Dim> dims(type->dims.end() - int64_t(rank), type->dims.end());
    Type tile = context().tile(dims, type->dtype);
    std::optional<SharedLayout> layout;
    if (rank == 2) {
      layout = staged_layout(context(), context().contiguous_view(dims, type->dtype, MemorySpace::Global), tile);
    } else {
      int32_t extents[] = {int32_t(*dims[0]->constant())};
      int order[] = {0};
      layout = SharedLayout::rows(extents, byte_size(type->dtype), order);
    }
    TSR_CHECK(layout, "no layout in shared memory for " + type->text);
    set_layout(memory, layout::print(*layout));
  }

  void set_layout(Value* memory, const std::string& layout) {
    memory->set_type(context().with_layout(memory->type(), context().intern(layout)));
    for (Use* use = memory->first_use(); use; use = use->next()) {
      if (use->owner()->is(tile::info(OpKind::Slot))) set_layout(use->owner()->result(), layout);
    }
  }

  static bool is_shared(Value* memory) {
    return memory->type()->is(TypeKind::View) && memory->type()->space == MemorySpace::Shared;
  }

  /// Whether the product may read the memory itself: nothing has been ordered between the load and it.
  static bool still_holds(Op* load, Op* dot) {
    if (load->block() != dot->block() || load->in(in::Load::memory)->type()->rank() != 2) return false;
    for (Op* op = load->next(); op != dot; op = op->next()) {
      if (!op || op->is(tile::info(OpKind::Barrier)) || op->region_count() > 0) return false;
    }
    return true;
  }

  Context& context() { return builder_.context(); }

  /// Makes a load of [1, rows, columns] that is reshaped to [rows, columns] a load of that: of the memory's other axes
  /// it takes one index each anyway.
  void flatten(Value* value) {
    Op* reshape = value->def();
    Op* load = reshape && reshape->is(tile::info(OpKind::Reshape)) ? reshape->operand(0)->def() : nullptr;
    if (!load || !load->is(tile::info(OpKind::Load))) return;
    Type from = load->result()->type(), to = value->type();
    if (from->rank() <= to->rank()) return;
    size_t lead = from->rank() - to->rank();
    std::vector<Value*> limits = load->ins(in::Load::limits);
    for (size_t i = 0; i < lead; ++i) {
      bool there = limits.empty() || tile::known_index(limits[i]).value_or(0) > 0;
      if (!from->dims[i]->is_constant(1) || !there) return;
    }
    if (!std::equal(to->dims.begin(), to->dims.end(), from->dims.begin() + int64_t(lead))) return;
    if (!limits.empty()) limits.erase(limits.begin(), limits.begin() + int64_t(lead));
    builder_.set_before(load);
    builder_.set_loc(load->loc());
    std::vector<OpAttr> attributes(load->attributes().begin(), load->attributes().end());
    value->replace_all_uses(builder_.value(tile::info(OpKind::Load),
                                           {{load->in(in::Load::memory)}, load->ins(in::Load::offsets), limits}, to,
                                           std::move(attributes)));
    reshape->erase();
    if (load->result()->unused()) load->erase();
  }

  /// Makes a transposed load of two axes a load of the transposed window.
  void turn(Value* value) {
    Op* transpose = value->def();
    if (!transpose || !transpose->is(tile::info(OpKind::Transpose)) || value->type()->rank() != 2) return;
    flatten(transpose->operand(0));
    Op* load = transpose->operand(0)->def();
    bool swaps = transpose->ints_attr("perm") == std::vector<int64_t>{1, 0};
    if (!swaps || !load || !load->is(tile::info(OpKind::Load)) || load->result()->type()->rank() != 2) return;
    Value* memory = load->in(in::Load::memory);
    Type window = memory->type();
    if (window->is(TypeKind::Tensor))
      window = context().contiguous_view(window->dims, window->dtype, MemorySpace::Global);
    std::vector<Dim> dims = window->dims, strides = window->strides;
    std::vector<Value*> offsets = load->ins(in::Load::offsets), limits = load->ins(in::Load::limits);
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
    std::swap(offsets[offsets.size() - 1], offsets[offsets.size() - 2]);
    if (!limits.empty()) std::swap(limits[0], limits[1]);
    if (Op* view = memory->def()) memory = view->operand(0);
    builder_.set_before(kernel_->region()->front()->front());
    Value* turned = tile::view(builder_, memory, dims, strides, window->offset);
    builder_.set_before(load);
    builder_.set_loc(load->loc());
    std::vector<OpAttr> attributes(load->attributes().begin(), load->attributes().end());
    value->replace_all_uses(builder_.value(tile::info(OpKind::Load), {{turned}, offsets, limits}, value->type(),
                                           std::move(attributes)));
    transpose->erase();
    if (load->result()->unused()) load->erase();
  }

  Operand operand(Value* value, Op* dot) {
    Operand found{value, nullptr, {}, false};
    Op* def = value->def();
    bool loaded = def && def->is(tile::info(OpKind::Load));
    if (loaded && !is_shared(def->in(in::Load::memory))) found.load = def;
    if (loaded && !found.load && still_holds(def, dot)) found.written = def->in(in::Load::memory);
    Type type = value->type();
    Type memory = found.load ? found.load->in(in::Load::memory)->type()
                             : context().contiguous_view(type->dims, type->dtype, MemorySpace::Global);
    found.layout = staged_layout(context(), memory, value->type());
    TSR_CHECK(found.layout, "no layout in shared memory for " + value->type()->text);
    found.by_engine = machine_.gpu.has_tma && found.load && is_tensor_copy(found.load, *found.layout, known_);
    return found;
  }

  /// The loop that counts turns from 0, of whose body the op is part.
  static Op* turn_loop(Op* op) {
    Op* loop = op->parent();
    bool counts = loop->is(tile::info(OpKind::For)) && tile::known_index(loop->in(in::For::lo)) == 0 &&
                  tile::known_index(loop->in(in::For::step)) == 1;
    return counts ? loop : nullptr;
  }

  void stage(Op* dot) {
    Operand a = operand(dot->in(in::Dot::a), dot), b = operand(dot->in(in::Dot::b), dot);
    builder_.set_loc(dot->loc());
    Op* loop = turn_loop(dot);
    if (a.by_engine && b.by_engine && loop && !has_written_) {
      through_channel(dot, loop, a, b);
    } else {
      by_threads(dot, a, b);
    }
    for (const Operand& used : {a, b}) {
      if (used.load && used.load->result()->unused()) used.load->erase();
      Op* read = used.written ? used.value->def() : nullptr;
      if (read && used.value->unused()) read->erase();
    }
  }

  Value* shared_tile(const Operand& operand, int64_t slots) {
    return tile::alloc_shared(builder_, shared_type(context(), operand.value->type(), *operand.layout, slots));
  }

  /// Bytes that the copy engine brings: columns of a swizzled tile are aligned, and what lies between them is no part
  /// of any copy.
  static int64_t copied_bytes(const Operand& operand) {
    int64_t bytes = byte_size(operand.value->type()->dtype);
    for (Dim dim : operand.value->type()->dims) bytes *= *dim->constant();
    return bytes;
  }

  /// Shared memory belongs to the whole kernel.
  void at_kernel_start() { builder_.set_before(kernel_->region()->front()->front()); }

  void through_channel(Op* dot, Op* loop, const Operand& a, const Operand& b) {
    at_kernel_start();
    Value* a_ring = shared_tile(a, 1);
    Value* b_ring = shared_tile(b, 1);
    Value* channel = builder_.value(tile::info(OpKind::Channel), {{a_ring, b_ring}}, tile::channel_type(context()),
                                    {{"stages", context().integer(1)}});
    Value* turn = loop->region()->front()->arg(0);
    builder_.set_before(dot);
    int64_t bytes = copied_bytes(a) + copied_bytes(b);
    tile::channel_op(builder_, OpKind::ChannelAcquire, channel, turn, {{"bytes", context().integer(bytes)}});
    Value* a_slot = tile::slot(builder_, a_ring, turn);
    Value* b_slot = tile::slot(builder_, b_ring, turn);
    tile::copy_async(builder_, a.load, a_slot, channel);
    tile::copy_async(builder_, b.load, b_slot, channel);
    tile::channel_op(builder_, OpKind::ChannelWait, channel, turn);
    Value* done = multiply(dot, a_slot, b_slot);
    tile::channel_op(builder_, OpKind::ChannelRelease, channel, turn);
    replace(dot, done);
  }

  void by_threads(Op* dot, const Operand& a, const Operand& b) {
    at_kernel_start();
    Value* a_tile = a.written ? a.written : shared_tile(a, 0);
    Value* b_tile = b.written ? b.written : shared_tile(b, 0);
    if (a.written && b.written) return replace(dot, multiply(dot, a_tile, b_tile));
    bool copies = false;
    for (auto [operand, memory] : {std::pair(&a, a_tile), std::pair(&b, b_tile)}) {
      builder_.set_before(dot);
      if (operand->written) continue;
      if (is_loaded_before(*operand, dot)) {
        builder_.set_after(operand->load);
        tile::copy_async(builder_, operand->load, memory, nullptr);
        finish_copies();
      } else if (operand->load && !operand->load->has_attr("fill")) {
        tile::copy_async(builder_, operand->load, memory, nullptr);
        copies = true;
      } else {
        Value* zero = tile::index(builder_, 0);
        tile::store(builder_, within_limit(dot, operand->value), memory, {zero, zero}, {});
      }
    }
    builder_.set_before(dot);
    finish_copies(copies);
    Value* done = multiply(dot, a_tile, b_tile);
    tile::barrier(builder_);
    replace(dot, done);
  }

  /// Waits for copies, and for what was written otherwise, of all threads.
  void finish_copies(bool copies = true) {
    if (copies) {
      builder_.op(tile::info(OpKind::CopyCommit), {}, {});
      builder_.op(tile::info(OpKind::CopyWait), {}, {}, {{"pending", context().integer(0)}});
    }
    if (machine_.gpu.has_wgmma) tile::fence_async(builder_);  // which reads shared memory by itself
    tile::barrier(builder_);
  }

  /// Whether the operand is loaded outside of the loop that multiplies it: then it is copied there.
  static bool is_loaded_before(const Operand& operand, Op* dot) {
    bool outside = operand.load && operand.load->block() != dot->block();
    return outside && !operand.load->has_attr("fill") && dot->parent()->is(tile::info(OpKind::For));
  }

  /// A computed operand with zeros past the limit of k.
  Value* within_limit(Op* dot, Value* operand) {
    Value* limit = dot->in(in::Dot::limit);
    if (!limit) return operand;
    Type type = operand->type();
    size_t axis = operand == dot->in(in::Dot::a) ? 1 : 0;
    std::vector<Value*> limits{tile::dim(builder_, type->dims[0]), tile::dim(builder_, type->dims[1])};
    limits[axis] = limit;
    Attr nothing = is_float(type->dtype) ? context().number(0) : context().integer(0);
    return tile::merge(builder_, operand, tile::full(builder_, type, nothing), limits);
  }

  /// Elements past the limit of k are zero in both operands, so the product needs no limit.
  Value* multiply(Op* dot, Value* a, Value* b) {
    builder_.set_before(dot);
    Value* c = dot->in(in::Dot::c);
    Value* product = builder_.value(tile::info(OpKind::Mma), {{a}, {b}, {c}, {}}, c->type());
    return tile::mma_wait(builder_, product, 0);
  }

  void replace(Op* dot, Value* with) {
    with->set_name(dot->result()->name());
    dot->result()->replace_all_uses(with);
    dot->erase();
  }

  Op* kernel_;
  const Machine& machine_;
  Divisibility known_;
  Builder builder_;
  bool has_written_ = false;  ///< the source has memory of its own, and its loops stay as they are
};

}  // namespace

Status plan_pipeline(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "plan_pipeline needs a machine");
  for (Op* op : *module.body()) {
    if (!op->is(tile::info(OpKind::Kernel))) continue;
    PipelinePlan(op, *context.machine).run();
    op->set_attr("threads", module.context().integer(32 * gpu_schedule(op, *context.machine).compute_warps));
  }
  return success;
}

}  // namespace tessera
