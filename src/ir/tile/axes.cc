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

}  // namespace

std::optional<std::vector<int>> axes_in_result(Op* op) {
  if (op->is(info(OpKind::Gather))) return std::vector{0, -1};
  bool is_view = op->is(info(OpKind::Broadcast)) || op->is(info(OpKind::Reshape)) ||
                 op->is(info(OpKind::Transpose)) || op->is(info(OpKind::Slice));
  if (!is_view) return std::nullopt;
  Type from = op->operand(0)->type();
  if (op->is(info(OpKind::Reshape))) return axes_of_reshape(from, op->result()->type());
  std::vector<int> axes(from->rank());
  std::iota(axes.begin(), axes.end(), 0);
  if (op->is(info(OpKind::Transpose))) {
    std::vector<int64_t> perm = op->attr(attr::Transpose::perm);
    for (size_t i = 0; i < perm.size(); ++i) axes[size_t(perm[i])] = int(i);
  }
  if (op->is(info(OpKind::Broadcast))) {
    for (size_t i = 0; i < axes.size(); ++i) {
      if (from->dims[i]->is_constant(1)) axes[i] = -1;
    }
  }
  return axes;
}

}  // namespace tessera::tile
