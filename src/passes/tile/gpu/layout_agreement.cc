#include "passes/tile/gpu/layout_agreement.h"

#include "ir/core/common_attributes.h"
#include "ir/layout/conversion.h"
#include "ir/layout/exchange.h"
#include "ir/layout/families.h"
#include "ir/layout/reduction.h"
#include "ir/layout/scan.h"
#include "ir/layout/text.h"
#include "ir/tile/mma_layouts.h"
#include "passes/tile/gpu/tensor_copies.h"
#include "passes/tile/pipeline/builders.h"
#include "support/check.h"

namespace tessera {

using layout::Layout;
using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

Layout layout_of(Value* tile) {
  std::optional<Layout> parsed = layout::parse_layout(tile->type()->layout);
  TSR_CHECK(parsed, "a tile has no layout: " + tile->type()->text);
  return *parsed;
}

bool is_tile(Value* value) { return value->type()->is(TypeKind::Tile); }

class LayoutAgreement {
 public:
  LayoutAgreement(Op* kernel, const LayoutsOfAccesses& accesses)
      : kernel_(kernel), accesses_(accesses), builder_(*kernel->module()) {}

  void run() {
    std::vector<Op*> ops;
    walk(kernel_, [&](Op* op) { ops.push_back(op); });
    for (Op* op : ops) agree(op);
  }

 private:
  Context& context() { return builder_.context(); }

  void agree(Op* op) {
    if (op->info().elementwise != ElementwiseKind::None) {
      for (unsigned i = 0; i < op->operand_count(); ++i) want(op, i, op->result());
      return;
    }
    switch (tile::kind_of(op)) {
      case OpKind::Merge:
        want(op, op->slot_begin(in::Merge::a), op->result());
        want(op, op->slot_begin(in::Merge::b), op->result());
        return;
      case OpKind::Mma:
        want(op, op->slot_begin(in::Mma::c), op->result());
        if (is_tile(op->in(in::Mma::a))) want(op, op->slot_begin(in::Mma::a), left_factor(op));
        return;
      case OpKind::MmaWait:
        for (unsigned i = 0; i < op->result_count(); ++i) want(op, i, op->result(i));
        return;
      case OpKind::Broadcast: return want(op, 0, broadcast_source(op));
      case OpKind::Reshape: return want(op, 0, reshape_source(op));
      case OpKind::Transpose: return want(op, 0, transpose_source(op));
      case OpKind::Take: return coordinates(op, in::Take::index, op->result());
      case OpKind::Scatter: return coordinates(op, in::Scatter::index, op->in(in::Scatter::value));
      case OpKind::Gather: return want(op, op->slot_begin(in::Gather::rows), row_numbers(op));
      case OpKind::Load:
        if (auto own = accesses_.find(op); own != accesses_.end()) gives(op, op->result(), own->second);
        return;
      case OpKind::Store:
        if (auto own = accesses_.find(op); own != accesses_.end())
          want(op, op->slot_begin(in::Store::value), own->second);
        return;
      case OpKind::Reduce: return reduced(op);
      case OpKind::Scan: return scanned(op);
      case OpKind::For: return loop(op);
      case OpKind::If:
        for (unsigned r = 0; r < 2; ++r) yields(op->region(r)->front()->terminator(), op);
        return;
      // Operands are no tiles, or lie as they like.
      case OpKind::Kernel: case OpKind::Return: case OpKind::ProgramId: case OpKind::WorkerId:
      case OpKind::WorkerCount: case OpKind::Yield: case OpKind::View: case OpKind::Alloc:
      case OpKind::Full: case OpKind::Splat: case OpKind::Extract: case OpKind::Constant:
      case OpKind::Dim: case OpKind::Iota: case OpKind::Within: case OpKind::Dot:
      case OpKind::PairRows: case OpKind::DotPairs: case OpKind::ConvertLayout: case OpKind::Slice: case OpKind::Role:
      case OpKind::AllocShared: case OpKind::Slot: case OpKind::CopyAsync: case OpKind::CopyCommit:
      case OpKind::CopyWait: case OpKind::StoreAsync: case OpKind::StoreWait: case OpKind::Channel:
      case OpKind::ChannelAcquire: case OpKind::ChannelWait: case OpKind::ChannelRelease: case OpKind::Barriers:
      case OpKind::BarrierExpect: case OpKind::BarrierArrive: case OpKind::BarrierWait: case OpKind::Barrier:
      case OpKind::ClusterBarrier: case OpKind::FenceAsync: case OpKind::OrderWait: case OpKind::OrderArrive:
        return;
      // None is left.
#define COMPOSED_OP(Name, ...) case OpKind::Name:
#include "ir/tile/composed_ops.inc"
        return;
      // Has been seen to above.
#define ELEMENTWISE(Name, ...) case OpKind::Name:
#include "ir/numbers/elementwise.def"
#undef ELEMENTWISE
        return;
    }
    TSR_UNREACHABLE("an op of no kind: " + std::string(op->name()));
  }

  /// Each element has its coordinates in the same thread.
  void coordinates(Op* op, unsigned slot, Value* like) {
    for (unsigned i = 0; i < op->slot_size(slot); ++i) want(op, op->slot_begin(slot) + i, like);
  }

  void loop(Op* op) {
    Block* body = op->region()->front();
    for (unsigned i = 0; i < op->result_count(); ++i) {
      if (!is_tile(op->result(i))) continue;
      want(op, op->slot_begin(in::For::inits) + i, op->result(i));
      TSR_CHECK(body->arg(i + 1)->type() == op->result(i)->type(), "a loop carries a tile in two layouts");
    }
    yields(body->terminator(), op);
  }

  void yields(Op* end, Op* parent) {
    for (unsigned i = 0; i < parent->result_count(); ++i) want(end, i, parent->result(i));
  }

  void want(Op* user, unsigned operand, Value* like) {
    if (is_tile(like)) want(user, operand, layout_of(like));
  }

  void want(Op* user, unsigned operand, const Layout& to) {
    Value* value = user->operand(operand);
    if (!is_tile(value) || layout_of(value) == to) return;
    builder_.set_before(user);
    builder_.set_loc(user->loc());
    user->set_operand(operand, converted(value, to));
  }

  /// The source's layout that the result of a broadcast goes with: its own with the new axes cut away.
  Layout broadcast_source(Op* op) {
    Layout layout = layout_of(op->result());
    Type from = op->operand(0)->type(), to = op->result()->type();
    for (size_t i = 0; i < from->rank(); ++i) {
      if (from->dims[i] != to->dims[i]) layout = layout.slice(int(i), true).layout;
    }
    return layout;
  }

  Layout reshape_source(Op* op) {
    std::vector<int32_t> extents;
    for (Dim dim : op->operand(0)->type()->dims) extents.push_back(int32_t(*dim->constant()));
    std::optional<Layout> layout = layout_of(op->result()).reshape(extents);
    TSR_CHECK(layout, "a reshape does more than move axes of extent 1");
    return *layout;
  }

  Layout transpose_source(Op* op) {
    std::vector<int64_t> perm = op->attr(attr::Transpose::perm);
    std::vector<int> back(perm.size());
    for (size_t i = 0; i < perm.size(); ++i) back[size_t(perm[i])] = int(i);
    return layout_of(op->result()).transpose(back);
  }

  /// Accumulators of 16 columns are the fragments of a left factor of 16 bits.
  Layout left_factor(Op* mma) {
    Type a = mma->in(in::Mma::a)->type();
    std::optional<Layout> layout = tile::factor_layout(layout_of(mma->result()), *a->dims[1]->constant());
    TSR_CHECK(layout, "a left factor in registers has no layout: " + a->text);
    return *layout;
  }

  Layout row_numbers(Op* op) {
    bool keeps = op->in(in::Gather::rows)->type()->rank() == 2;
    return layout_of(op->result()).slice(1, keeps).layout;
  }

  /// The layout of a reduction's result follows from its operand.
  void reduced(Op* op) {
    Layout made =
        layout::plan_reduction(layout_of(op->operand(0)), int(op->attr(common::Along::axis)),
                               op->attr(attr::Reduce::keep))
            .result;
    gives(op, op->result(), made);
  }

  /// So does that of a scan's result. Accumulators of some machines have no order that a scan could
  /// follow.
  void scanned(Op* op) {
    int axis = int(op->attr(common::Along::axis));
    Layout source = layout_of(op->in(in::Scan::a));
    std::optional<layout::Scan> plan = layout::plan_scan(source, axis);
    if (!plan) {
      source = plain_layout(source);
      plan = layout::plan_scan(source, axis);
      TSR_CHECK(plan, "a blocked layout has no plan for a scan");
      want(op, op->slot_begin(in::Scan::a), source);
    }
    if (op->in(in::Scan::before)) want(op, op->slot_begin(in::Scan::before), plan->total);
    gives(op, op->result(0), source);
    gives(op, op->result(1), plan->total);
  }

  static Layout plain_layout(const Layout& like) {
    std::vector<int32_t> extents;
    for (int axis = 0; axis < like.rank(); ++axis) extents.push_back(like.extent(axis));
    std::optional<Layout> plain = layout::blocked(extents, 1, like.lanes(), like.warps());
    TSR_CHECK(plain, "no blocked layout for a scan");
    return *plain;
  }

  /// The op makes the result in that layout; users get it as they expect it.
  void gives(Op* op, Value* result, const Layout& made) {
    Layout wanted = layout_of(result);
    if (made == wanted) return;
    result->set_type(context().with_layout(result->type(), layout::print(made)));
    std::vector<Use*> uses;
    for (Use* use = result->first_use(); use; use = use->next()) uses.push_back(use);
    builder_.set_after(op);
    builder_.set_loc(op->loc());
    Value* value = converted(result, wanted);
    for (Use* use : uses) use->set(value);
  }

  /// The value in that layout, computed where the builder stands.
  Value* converted(Value* value, const Layout& to) {
    Type type = context().with_layout(value->type(), layout::print(to));
    if (layout::plan_conversion(layout_of(value), to).kind != layout::ConversionKind::Shared) {
      return builder_.value(tile::info(OpKind::ConvertLayout), {{value}}, type);
    }
    // Masks have no form in memory.
    bool mask = value->type()->dtype == DType::Bool;
    if (mask) value = cast(value, DType::U8);
    Value* result = exchanged(value, to);
    return mask ? cast(result, DType::Bool) : result;
  }

  Value* cast(Value* value, DType dtype) {
    return builder_.value(tile::info(ElementwiseKind::Cast), {{value}}, context().with_dtype(value->type(), dtype));
  }

  Value* exchanged(Value* value, const Layout& to) {
    Type type = context().with_layout(value->type(), layout::print(to));
    layout::SharedLayout shared = layout::exchange_layout(layout_of(value), to, byte_size(type->dtype));
    Builder here = builder_;
    builder_.set_before(kernel_->region()->front()->front());
    Value* memory = tile::alloc_shared(builder_, shared_type(context(), type, shared, 0));
    builder_ = here;
    std::vector<Value*> zeros(type->rank(), tile::index(builder_, 0));
    if (is_repeated()) tile::barrier(builder_);  // the last iteration's elements have been read
    tile::store(builder_, value, memory, zeros, {});
    tile::barrier(builder_);
    return tile::load(builder_, memory, zeros, {}, type);
  }

  /// Whether the ops that the builder writes run more than once.
  bool is_repeated() {
    for (Op* op = builder_.block()->parent_op(); op; op = op->parent()) {
      if (op->is(tile::info(OpKind::For))) return true;
    }
    return false;
  }

  Op* kernel_;
  const LayoutsOfAccesses& accesses_;
  Builder builder_;
};

}  // namespace

void agree_on_layouts(Op* kernel, const LayoutsOfAccesses& accesses) { LayoutAgreement(kernel, accesses).run(); }

}  // namespace tessera
