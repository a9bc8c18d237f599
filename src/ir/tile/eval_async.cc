// Copies and MMAs that are in flight while the program goes on. Their accesses are checked when
// they are issued; bytes move and MMAs are computed when a role waits for them.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/core/common_attributes.h"
#include "ir/tile/eval_run.h"

namespace tessera::tile {

/// How many of the issued ones are complete when `pending` may be left.
uint32_t KernelRun::waited(Op* op, uint32_t issued) {
  return uint32_t(std::max<int64_t>(0, int64_t(issued) - op->attr(common::Wait::pending)));
}

void KernelRun::run_copy_async(Op* op) {
  Value* to = op->in(in::CopyAsync::to);
  Value* target = op->in(in::CopyAsync::barrier);
  const EvalValue &from = at(op->in(in::CopyAsync::from)), &window = at(to);
  DType dtype = to->type()->dtype;
  size_t bytes = byte_size(dtype);
  EvalCopy copy{op, target ? copies_++ : role_->groups + 1, bytes, {}, nullptr};
  if (target && at(target).channel) {
    EvalChannel& channel = *at(target).channel;
    auto iteration = channel.acquired.find(role_->order.role);
    if (iteration == channel.acquired.end()) {
      return fail("its role has acquired no iteration of the channel");
    }
    copy.barrier = &channel.full[size_t(iteration->second % channel.stages())];
  } else if (target) {
    copy.barrier = &barrier_of(target);
  }
  AccessMade made = make_access(target ? Stream::Copy : Stream::Group, copy.number, true);
  std::vector<Value*> offsets = op->ins(in::CopyAsync::offsets),
                      limits = op->ins(in::CopyAsync::limits);
  AccessMade source{0, false, false};
  for_each_index(window.dims, [&](const Position& position, size_t) {
    if (failed_) return;
    std::optional<size_t> byte = address(window, position, dtype), begin;
    if (byte && below(position, limits)) {
      begin = address(from, shifted(offsets, position), dtype);
      if (begin) touch(*from.memory, *begin, bytes, source, many_warps);
    }
    if (failed_) return;
    touch(*window.memory, *byte, bytes, made, many_warps);
    copy.moves.push_back({window.memory, *byte, begin ? from.memory->bytes + *begin : nullptr});
  });
  if (target) {
    in_flight_.push_back(std::move(copy));
  } else {
    role_->group_copies.push_back(std::move(copy));
  }
}

void KernelRun::move(const EvalCopy& copy) {
  for (const EvalMove& move : copy.moves) {
    std::byte* to = move.memory->bytes + move.to;
    if (move.from) {
      std::memcpy(to, move.from, copy.element_bytes);
    } else {
      std::memset(to, 0, copy.element_bytes);
    }
  }
}

/// The copy engine has done a copy that counts at a barrier.
void KernelRun::land(size_t which) {
  EvalCopy copy = std::move(in_flight_[which]);
  in_flight_.erase(in_flight_.begin() + long(which));
  op_ = copy.op;
  move(copy);
  EvalBarrier& barrier = *copy.barrier;
  barrier.bytes -= int64_t(copy.moves.size() * copy.element_bytes);
  barrier.arriving.add_copy(copy.number);
  if (barrier.missing == 0 && barrier.bytes < 0) {
    return fail(fmt::format("{} bytes more come than were announced for phase {} of its barrier",
                            -barrier.bytes, barrier.phase),
                {{barrier.op->loc(), "the barrier is made here"}}, "");
  }
  barrier.end_phase_if_complete();
}

void KernelRun::run_copy_wait(Op* op) {
  uint32_t over = waited(op, role_->groups);
  std::deque<EvalCopy>& copies = role_->group_copies;
  for (; !copies.empty() && copies.front().number <= over; copies.pop_front()) move(copies.front());
  uint32_t& known = role_->order.own[Stream::Group];
  known = std::max(known, over);
}

void KernelRun::run_store_async(Op* op) {
  Value* from = op->in(in::StoreAsync::from);
  const EvalValue &window = at(from), &to = at(op->in(in::StoreAsync::to));
  DType dtype = from->type()->dtype;
  size_t bytes = byte_size(dtype);
  EvalCopy copy{op, ++role_->stores_made, bytes, {}, nullptr};
  AccessMade made = make_access(Stream::Store, copy.number, false);
  AccessMade target{0, true, false};
  std::vector<Value*> offsets = op->ins(in::StoreAsync::offsets),
                      limits = op->ins(in::StoreAsync::limits);
  for_each_index(window.dims, [&](const Position& position, size_t) {
    if (failed_) return;
    std::optional<size_t> byte = address(window, position, dtype), begin;
    if (byte) touch(*window.memory, *byte, bytes, made, many_warps);
    if (failed_ || !below(position, limits)) return;
    begin = address(to, shifted(offsets, position), dtype);
    if (!begin) return;
    touch(*to.memory, *begin, bytes, target, many_warps);
    copy.moves.push_back({to.memory, *begin, window.memory->bytes + *byte});
  });
  role_->stores.push_back(std::move(copy));
}

void KernelRun::run_store_wait(Op* op) {
  uint32_t over = waited(op, role_->stores_made);
  std::deque<EvalCopy>& stores = role_->stores;
  for (; !stores.empty() && stores.front().number <= over; stores.pop_front()) move(stores.front());
  uint32_t& known = role_->order.own[Stream::Store];
  known = std::max(known, over);
}

void KernelRun::touch_all(const EvalValue& window, DType dtype, const AccessMade& made) {
  for_each_index(window.dims, [&](const Position& position, size_t) {
    if (failed_) return;
    std::optional<size_t> byte = address(window, position, dtype);
    if (byte) touch(*window.memory, *byte, byte_size(dtype), made, many_warps);
  });
}

void KernelRun::run_mma(Op* op) {
  Value* a = op->in(in::Mma::a);
  Value* b = op->in(in::Mma::b);
  Value* accumulate = op->in(in::Mma::accumulate);
  auto mma = std::make_shared<EvalMma>(
      EvalMma{op, role_->order.role, ++role_->mmas_issued, at(a), at(b), {}});
  mma->c = at(op->in(in::Mma::c));
  mma->accumulate = !accumulate || index(accumulate) != 0;
  AccessMade made = make_access(Stream::Mma, mma->number, false);
  if (mma->a.memory) touch_all(mma->a, a->type()->dtype, made);
  touch_all(mma->b, b->type()->dtype, made);
  role_->mmas.push_back(mma);
  make(op).mma = std::move(mma);
}

std::vector<Element> KernelRun::contents(const EvalValue& window, DType dtype, DType to) {
  std::vector<Element> elements;
  for_each_index(window.dims, [&](const Position& position, size_t) {
    std::optional<size_t> byte = address(window, position, dtype);
    if (byte) elements.push_back(load_element(dtype, window.memory->bytes + *byte));
  });
  return widened(elements, dtype, to);
}

void KernelRun::multiply(EvalMma& mma) {
  Op* op = mma.op;
  DType dtype = op->result()->type()->dtype;
  DType from = op->in(in::Mma::a)->type()->dtype;
  std::vector<Element> a = mma.a.memory ? contents(mma.a, from, dtype)
                                            : widened(mma.a.elements, from, dtype);
  std::vector<Element> b = contents(mma.b, from, dtype);
  std::vector<Element>& c = mma.elements;
  c = mma.c.mma ? mma.c.mma->elements : mma.c.elements;
  if (!mma.accumulate) c.assign(c.size(), is_float(dtype) ? Element{.f = 0} : Element{.i = 0});
  size_t k = size_t(mma.b.dims[0]);
  add_dot(dtype, a, b, c, size_t(mma.b.dims[1]), k, k);
  mma.c = {};
}

void KernelRun::run_mma_wait(Op* op) {
  uint32_t over = waited(op, role_->mmas_issued);
  auto& mmas = role_->mmas;
  for (; !mmas.empty() && mmas.front()->number <= over; mmas.pop_front())
    multiply(*mmas.front());
  uint32_t& known = role_->order.own[Stream::Mma];
  known = std::max(known, over);
  for (unsigned i = 0; i < op->operand_count(); ++i) at(op->result(i)) = at(op->operand(i));
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    EvalValue& value = at(op->result(i));
    if (!value.mma || value.mma->number > known) continue;
    value.elements = value.mma->elements;
    value.mma.reset();
  }
}

/// Takes in the results of MMAs that are complete, and reports the use of one that is not.
void KernelRun::resolve_operands(Op* op) {
  OpKind kind = kind_of(op);
  bool passes = kind == OpKind::MmaWait || kind == OpKind::Yield || kind == OpKind::For;
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    EvalValue& value = at(op->operand(i));
    if (!value.mma) continue;
    bool own = value.mma->role == role_->order.role;
    if (own && value.mma->number <= role_->order.own[Stream::Mma]) {
      value.elements = value.mma->elements;
      value.mma.reset();
    } else if (!own || !(passes || (kind == OpKind::Mma && i == op->slot_begin(in::Mma::c)))) {
      return fail("it uses the result of a tile.mma that may be in flight",
                  {{value.mma->op->loc(), "the tile.mma"}}, "put a tile.mma_wait before");
    }
  }
}

}  // namespace tessera::tile
