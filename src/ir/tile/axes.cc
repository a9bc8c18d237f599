#include "ir/tile/axes.h"

#include <numeric>

#include "ir/tile/ops.h"

namespace tessera::tile {

namespace {

std::vector<int> axes_of_reshape(Type from, Type to) {
  std::vector<int> axes;
  size_t next = 0;
  for (Dim extent : from->dims) {
    if (extent->is_constant(1)) {
      axes.push_back(-1);
      continue;
    }
    while (to->dims[next]->is_constant(1)) ++next;
    axes.push_back(int(next++));
  }
  return axes;
}

std::vector<int> axes_of_permutation(const std::vector<int64_t>& perm) {
  std::vector<int> axes(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) axes[size_t(perm[i])] = int(i);
  return axes;
}

/// Of an op that keeps its axes, some of which it may repeat.
std::vector<int> kept_axes(Type from, bool repeats) {
  std::vector<int> axes(from->rank());
  std::iota(axes.begin(), axes.end(), 0);
  for (size_t i = 0; repeats && i < axes.size(); ++i) {
    if (from->dims[i]->is_constant(1)) axes[i] = -1;
  }
  return axes;
}

}  // namespace

std::optional<std::vector<int>> axes_in_result(Op* op) {
  Axes row = op->info().axes;
  if (row == Axes::Reshaped) return axes_of_reshape(op->operand(0)->type(), op->result()->type());
  if (row == Axes::Permuted) return axes_of_permutation(op->attr(attr::Transpose::perm));
  if (op->is(info(OpKind::Gather))) return std::vector{0, -1};
  bool repeats = op->is(info(OpKind::Broadcast));
  if (!repeats && !op->is(info(OpKind::Slice))) return std::nullopt;
  return kept_axes(op->operand(0)->type(), repeats);
}

}  // namespace tessera::tile
