// Loops, conditions and roles become blocks; loop-carried values become block arguments.

#include <algorithm>

#include "ir/target/ops.h"
#include "ir/tile/ops.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/analysis/loop_bounds.h"
#include "passes/tile/nv/emit_where.h"

namespace tessera {

using Kind = ElementwiseKind;
using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

/// if lo < hi goto body(lo, inits) else goto exit(inits), where it is not sure that lo < hi
/// body(i, c): …; if i + step < hi goto body(i + step, …) else goto exit(…)
void NvLowering::lower_for(Op* op) {
  Block* region = op->region()->front();
  Value* hi = value(op->in(in::For::hi));
  Value* step = value(op->in(in::For::step));
  std::vector<Value*> carried = values(op->ins(in::For::inits));
  Block* body = b_.new_block();
  Block* exit = b_.new_block();
  define(region->arg(0), body->add_arg(hi->type(), region->arg(0)->name()));
  for (unsigned i = 0; i < op->result_count(); ++i) {
    define(region->arg(i + 1), body->add_arg(carried[i]->type()));
    define(op->result(i), exit->add_arg(carried[i]->type()));
  }
  auto go = [&](Value* index, const std::vector<Value*>& values) {
    std::vector<Value*> arguments{index};
    arguments.insert(arguments.end(), values.begin(), values.end());
    b_.cond_branch(b_.op(Kind::Lt, index, hi), body, arguments, exit, values);
  };
  std::vector<Value*> first{value(op->in(in::For::lo))};
  if (runs_at_least_once(op, facts_)) {
    first.insert(first.end(), carried.begin(), carried.end());
    b_.branch(body, first);
  } else {
    go(first[0], carried);
  }
  b_.at().set_end(body);
  lower_block(region);
  go(b_.add(value(region->arg(0)), step), values(region->terminator()->ins(in::Yield::values)));
  b_.at().set_end(exit);
}

void NvLowering::lower_if(Op* op) {
  Block* branches[] = {b_.new_block(), b_.new_block()};
  Block* join = b_.new_block();
  for (unsigned i = 0; i < op->result_count(); ++i) {
    define(op->result(i), join->add_arg(lowered_type(op->result(i)->type())));
  }
  b_.cond_branch(value(op->in(in::If::condition)), branches[0], {}, branches[1], {});
  for (unsigned n = 0; n < 2; ++n) {
    b_.at().set_end(branches[n]);
    Block* region = op->region(n)->front();
    lower_block(region);
    b_.branch(join, values(region->terminator()->ins(in::Yield::values)));
  }
  b_.at().set_end(join);
}

namespace {

/// Scalars, and tiles of one element, which every thread holds.
bool is_single(Type type) {
  return !type->is(TypeKind::Tile) || std::ranges::all_of(type->dims, [](Dim dim) { return dim->is_constant(1); });
}

/// True if the role works on no tiles of several elements: one thread can do it.
bool only_issues(Op* role) {
  bool issues = true;
  walk(role, [&](Op* op) {
    for (unsigned i = 0; i < op->result_count(); ++i) issues &= is_single(op->result(i)->type());
    issues &= !op->is(tile::info(OpKind::Barrier)) && !op->is(tile::info(OpKind::BarrierArrive));
    issues &= !op->is(tile::info(OpKind::Store));
    if (op->is(tile::info(OpKind::CopyAsync))) issues &= op->in(in::CopyAsync::barrier) != nullptr;
  });
  return issues;
}

}  // namespace

/// The number of this thread's warpgroup among those of its role.
Value* NvLowering::warpgroup() { return b_.shr(threads_.warp, 2); }

Value* NvLowering::next_warpgroup() {
  Value* next = b_.add(warpgroup(), i32(1));
  return b_.select(b_.op(Kind::Eq, next, i32(int32_t(threads_.warps / 4))), i32(0), next);
}

/// A barrier for each warpgroup of the role, at which it waits for the one before it.
void NvLowering::order_barrier(target::OpKind kind, Value* warpgroup) {
  TSR_CHECK(threads_.order > 0, "an order of warpgroups outside of their role");
  b_.at().op(target::info(kind), {{b_.add(i32(int32_t(threads_.order)), warpgroup)}}, {},
             {target::attr::NumberedBarrier::threads(b_.context(), 256)});
}

/// The first warpgroup of a role finds that the last has passed.
void NvLowering::begin_order(Op* role) {
  bool is_ordered = false;
  walk(role, [&](Op* op) { is_ordered |= op->is(tile::info(OpKind::OrderWait)); });
  if (!is_ordered) return;
  int64_t groups = threads_.warps / 4;
  threads_.order = order_barriers_ -= groups;
  TSR_CHECK(threads_.order > roles_, "more named barriers than a program has");
  where(b_.op(Kind::Eq, warpgroup(), i32(int32_t(groups - 1))),
        [&] { order_barrier(target::OpKind::NumberedBarrierArrive, i32(0)); });
}

void NvLowering::lower_role(Op* op) {
  int64_t first = op->attr(attr::Role::first), warps = op->attr(attr::Role::warps);
  Value* inside = b_.op(Kind::Ge, threads_.warp, i32(first));
  inside = b_.bit_and(inside, b_.op(Kind::Lt, threads_.warp, i32(first + warps)));
  Threads outer = threads_;
  ++roles_;
  where(inside, [&] {
    if (std::optional<int64_t> registers = op->attr(attr::Role::registers)) {
      int64_t launched = launch_registers(machine_, outer.warps * 32);
      b_.at().op(target::info(target::OpKind::SetMaxRegisters), {}, {},
                 {target::attr::SetMaxRegisters::count(b_.context(), *registers),
                  target::attr::SetMaxRegisters::increase(b_.context(), *registers > launched)});
    }
    threads_ = {outer.lane, outer.warp, warps, roles_};
    Value* runs = nullptr;
    if (only_issues(op)) {
      threads_.single = true;
      Value* elected = b_.at().value(target::info(target::OpKind::Elect), {}, b_.context().scalar(DType::Bool));
      runs = b_.bit_and(b_.op(Kind::Eq, outer.warp, i32(first)), elected);
    } else if (first > 0) {
      threads_.warp = b_.sub(outer.warp, i32(first));
    }
    where(runs, [&] {
      Block* body = b_.new_block();
      b_.branch(body);
      threads_.place = b_.at().block()->back();
      b_.at().set_end(body);
      begin_order(op);
      lower_block(op->region()->front());
    });
  });
  threads_ = std::move(outer);
}

}  // namespace tessera
