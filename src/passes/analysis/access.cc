#include "passes/analysis/access.h"

#include "ir/graph/ops.h"
#include "support/check.h"

namespace tessera {

namespace {

Access access_broadcast(DimTable& table, Op* view, const Access& operand) {
  const std::vector<Dim>& dims = view->result()->type()->dims;
  Access access{dims, std::vector<Dim>(dims.size(), table.constant(0)), operand.offset};
  size_t missing = dims.size() - operand.dims.size();
  for (size_t i = 0; i < operand.dims.size(); ++i) {
    if (operand.dims[i] == dims[i + missing]) access.strides[i + missing] = operand.strides[i];
  }
  return access;
}

Access access_transpose(Op* view, const Access& operand) {
  Access access{{}, {}, operand.offset};
  for (int64_t axis : view->attr(graph::attr::Transpose::perm)) {
    access.dims.push_back(operand.dims[size_t(axis)]);
    access.strides.push_back(operand.strides[size_t(axis)]);
  }
  return access;
}

Access access_slice(DimTable& table, Op* view, const Access& operand) {
  Access access{view->result()->type()->dims, {}, operand.offset};
  std::vector<Dim> starts = view->attr(graph::attr::Slice::starts);
  std::vector<int64_t> steps = view->attr(graph::attr::Slice::steps);
  for (size_t i = 0; i < starts.size(); ++i) {
    access.offset = table.add(access.offset, table.mul(starts[i], operand.strides[i]));
    Dim stride = table.mul(table.constant(steps[i]), operand.strides[i]);
    access.strides.push_back(access.dims[i]->is_constant(1) ? table.constant(0) : stride);
  }
  return access;
}

Access access_windows(DimTable& table, Op* view, const Access& operand) {
  Access access{view->result()->type()->dims, operand.strides, operand.offset};
  size_t axis = size_t(view->attr(graph::attr::Windows::axis));
  auto stride = [&](Dim extent, int64_t by) {
    return extent->is_constant(1) ? table.constant(0)
                                  : table.mul(operand.strides[axis], table.constant(by));
  };
  access.strides.push_back(stride(access.dims.back(), view->attr(graph::attr::Windows::dilation)));
  access.strides[axis] = stride(access.dims[axis], view->attr(graph::attr::Windows::step));
  return access;
}

/// The access without axes of extent 1, and with axes that follow one another in memory made one.
Access coalesce(DimTable& table, const Access& access) {
  Access merged{{}, {}, access.offset};
  for (size_t i = 0; i < access.dims.size(); ++i) {
    Dim extent = access.dims[i];
    Dim stride = access.strides[i];
    if (extent->is_constant(1)) continue;
    if (!merged.dims.empty() && merged.strides.back() == table.mul(stride, extent)) {
      merged.dims.back() = table.mul(merged.dims.back(), extent);
      merged.strides.back() = stride;
    } else {
      merged.dims.push_back(extent);
      merged.strides.push_back(stride);
    }
  }
  return merged;
}

}  // namespace

Dim count_elements(DimTable& table, const std::vector<Dim>& dims) {
  Dim count = table.constant(1);
  for (Dim extent : dims) count = table.mul(count, extent);
  return count;
}

Access contiguous_access(DimTable& table, const std::vector<Dim>& dims) {
  Access access{dims, std::vector<Dim>(dims.size(), table.constant(0)), table.constant(0)};
  Dim stride = table.constant(1);
  for (size_t i = dims.size(); i-- > 0;) {
    if (!dims[i]->is_constant(1)) access.strides[i] = stride;
    stride = table.mul(stride, dims[i]);
  }
  return access;
}

std::optional<Access> reshape_access(DimTable& table, const Access& access,
                                     const std::vector<Dim>& dims) {
  if (count_elements(table, dims)->is_constant(0)) return contiguous_access(table, dims);
  Access from = coalesce(table, access);
  // Elements in a row are so under any dims, also where a guard says that the counts are equal.
  bool in_a_row = from.dims.size() == 1 && from.strides[0]->is_constant(1);
  if (in_a_row) {
    Access row = contiguous_access(table, dims);
    row.offset = access.offset;
    return row;
  }
  Access to{dims, std::vector<Dim>(dims.size(), table.constant(0)), access.offset};
  size_t axis = 0;
  for (size_t group = 0; group < from.dims.size(); ++group) {
    // The new axes that together are this one: their extents multiply to its extent.
    size_t first = axis;
    Dim product = table.constant(1);
    while (axis < dims.size() && product != from.dims[group])
      product = table.mul(product, dims[axis++]);
    if (product != from.dims[group]) return std::nullopt;
    Dim stride = from.strides[group];
    for (size_t i = axis; i-- > first;) {
      if (!dims[i]->is_constant(1)) to.strides[i] = stride;
      stride = table.mul(stride, dims[i]);
    }
  }
  for (; axis < dims.size(); ++axis) {
    if (!dims[axis]->is_constant(1)) return std::nullopt;
  }
  return to;
}

std::optional<Access> access_through(DimTable& table, Op* view, const Access& operand) {
  switch (graph::kind_of(view)) {
    case graph::OpKind::Broadcast:
      return access_broadcast(table, view, operand);
    case graph::OpKind::Transpose:
      return access_transpose(view, operand);
    case graph::OpKind::Slice:
      return access_slice(table, view, operand);
    case graph::OpKind::Windows:
      return access_windows(table, view, operand);
    case graph::OpKind::Reshape:
      return reshape_access(table, operand, view->result()->type()->dims);
    default:
      TSR_UNREACHABLE("not a view: " + std::string(view->name()));
  }
}

bool is_contiguous(DimTable& table, const Access& access, Dim count) {
  if (count_elements(table, access.dims) != count || !access.offset->is_constant(0)) return false;
  return access.strides == contiguous_access(table, access.dims).strides;
}

std::optional<std::vector<Dim>> collapse_strides(DimTable& table, const std::vector<Dim>& extents,
                                                 const std::vector<Dim>& strides,
                                                 const std::vector<int>& group_of, size_t groups) {
  std::vector<Dim> collapsed(groups, nullptr);
  Dim outer_stride = nullptr;
  for (size_t i = extents.size(); i-- > 0;) {
    size_t group = size_t(group_of[i]);
    bool innermost = i + 1 == extents.size() || group_of[i + 1] != group_of[i];
    if (innermost) {
      collapsed[group] = strides[i];
    } else if (strides[i] != outer_stride) {
      return std::nullopt;
    }
    outer_stride = table.mul(strides[i], extents[i]);
  }
  for (Dim& stride : collapsed) {
    if (!stride) stride = table.constant(0);
  }
  return collapsed;
}

}  // namespace tessera
