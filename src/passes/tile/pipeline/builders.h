#pragma once
// Builds the ops of programs of several warps (tile/ops.def).

#include "ir/tile/build.h"

namespace tessera::tile {

inline Value* alloc_shared(Builder& builder, Type type) {
  return builder.value(info(OpKind::AllocShared), {}, type);
}
/// Slot `iteration` of a ring.
inline Value* slot(Builder& builder, Value* ring, Value* iteration) {
  return builder.value(info(OpKind::Slot), {{ring}, {iteration}}, slot_type(builder.context(), ring->type()));
}
inline void copy_async(Builder& builder, Op* load, Value* to, Value* barrier) {
  std::vector<Value*> signals;
  if (barrier) signals.push_back(barrier);
  builder.op(info(OpKind::CopyAsync),
             {{load->in(in::Load::memory)}, load->ins(in::Load::offsets), load->ins(in::Load::limits), {to}, signals},
             {});
}
inline void barrier(Builder& builder) { builder.op(info(OpKind::Barrier), {}, {}); }
inline void fence_async(Builder& builder) { builder.op(info(OpKind::FenceAsync), {}, {}); }
inline Op* channel_op(Builder& builder, OpKind kind, Value* channel, Value* iteration,
                      std::vector<OpAttr> attributes = {}) {
  return builder.op(info(kind), {{channel}, {iteration}}, {}, std::move(attributes));
}
/// Waits for mma: its results are the values of those that are done.
inline Op* mma_wait(Builder& builder, const std::vector<Value*>& values, int64_t pending) {
  std::vector<Type> types;
  for (Value* value : values) types.push_back(value->type());
  return builder.op(info(OpKind::MmaWait), {values}, types,
                    {tile::attr::MmaWait::pending(builder.context(), pending)});
}
/// Runs what `body` builds where the condition holds; the builder then stands behind it.
template <typename F>
void when(Builder& builder, Value* condition, F&& body) {
  Op* choice = builder.op(info(OpKind::If), {{condition}}, {});
  Block* then = choice->region(at::If::then)->add_block();
  builder.set_end(choice->region(at::If::otherwise)->add_block());
  yield(builder, {});
  builder.set_end(then);
  body();
  yield(builder, {});
  builder.set_after(choice);
}

}  // namespace tessera::tile
