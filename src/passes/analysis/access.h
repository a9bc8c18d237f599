#pragma once
// Strided reads of whole tensors: what a chain of view ops (broadcast, transpose, slice, windows, reshape)
// on a contiguous tensor reads, as one stride for each axis and an offset.

#include <optional>
#include <vector>

#include "ir/core/op.h"

namespace tessera {

/// Element x of what is read is element `offset` + sum(x[i] * strides[i]) of a contiguous tensor.
/// An axis of extent 1 and one along which elements repeat have stride 0.
struct Access {
  std::vector<Dim> dims;
  std::vector<Dim> strides;
  Dim offset = nullptr;
};

/// Product of dims.
Dim count_elements(DimTable& table, const std::vector<Dim>& dims);
/// Reads a tensor of those dims as it is.
Access contiguous_access(DimTable& table, const std::vector<Dim>& dims);
/// What the result of `view` (gir.broadcast, gir.transpose, gir.slice, gir.windows or gir.reshape) reads, given
/// what its operand reads; nothing when no strides can say it (a reshape that merges axes which do
/// not follow one another in memory).
std::optional<Access> access_through(DimTable& table, Op* view, const Access& operand);
/// The same elements in row-major order under other dims, where strides can say it.
std::optional<Access> reshape_access(DimTable& table, const Access& access,
                                     const std::vector<Dim>& dims);
/// True if it reads all of a tensor of `count` elements, in order.
bool is_contiguous(DimTable& table, const Access& access, Dim count);

/// Strides of groups of adjacent axes taken as one: `group_of` gives each axis its group, in
/// ascending order. Nothing when a group's axes do not follow one another in memory. An empty group
/// has stride 0.
std::optional<std::vector<Dim>> collapse_strides(DimTable& table, const std::vector<Dim>& extents,
                                                 const std::vector<Dim>& strides,
                                                 const std::vector<int>& group_of, size_t groups);

}  // namespace tessera
