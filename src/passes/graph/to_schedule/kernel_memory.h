#pragma once
// The parameters of a kernel for the accesses of a group: a buffer that all accesses walk in order
// becomes a parameter in the kernel's own dims; any other keeps its dims and is read or written
// through sched.view.

#include "passes/graph/to_schedule/tile_emitter.h"

namespace tessera {

struct MemoryParameter {
  Value* buffer;          ///< the graph's value
  bool direct;            ///< no view is needed
  std::vector<int> axes;  ///< direct: the kernel axes that are its axes; none for one element
};

struct MemoryPlan {
  std::vector<BufferAccess> accesses;  ///< by kernel axis
  std::vector<size_t> parameter_of;    ///< by access
  std::vector<MemoryParameter> parameters;

  bool all_direct() const;
};

MemoryPlan plan_memory(DimTable& table, const KernelSpace& space,
                       std::vector<BufferAccess> accesses);

/// The kernel axes along which an access moves.
std::vector<int> moving_axes(const BufferAccess& access);
/// Dims of a parameter, with the kernel axes' extents as given.
std::vector<Dim> parameter_dims(DimTable& table, const MemoryParameter& parameter,
                                const std::vector<Dim>& extents);
/// The memory of access `number`; writes the view that it may need.
TileMemory open_memory(Builder& builder, const MemoryPlan& plan, size_t number,
                       const std::vector<Dim>& extents, Value* parameter);

}  // namespace tessera
