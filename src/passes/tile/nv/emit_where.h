#pragma once
// Code that only some threads run.

#include "passes/tile/nv/nv_lowering.h"

namespace tessera {

/// if condition goto then else join; then: <body>; goto join
template <typename F>
void NvLowering::where(Value* condition, F&& body) {
  if (!condition) return body();
  Block* then = b_.new_block();
  Block* join = b_.new_block();
  b_.cond_branch(condition, then, {}, join, {});
  b_.at().set_end(then);
  body();
  b_.branch(join);
  b_.at().set_end(join);
}

template <typename F>
void NvLowering::in_one_thread(F&& body) {
  if (threads_.single) return body();
  Value* first = b_.op(ElementwiseKind::Eq, b_.bit_or(threads_.lane, threads_.warp), i32(0));
  where(first, body);
}

}  // namespace tessera
