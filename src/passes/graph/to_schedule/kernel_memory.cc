#include "passes/graph/to_schedule/kernel_memory.h"

#include <algorithm>

#include "ir/schedule/ops.h"

namespace tessera {

namespace {

/// True if the access walks all of a buffer in order.
bool is_direct(DimTable& table, const KernelSpace& space, const BufferAccess& access) {
  if (!access.offset->is_constant(0) || access.places) return false;
  Dim stride = table.constant(1);
  std::vector<int> axes = moving_axes(access);
  for (size_t i = axes.size(); i-- > 0;) {
    size_t axis = size_t(axes[i]);
    if (access.strides[axis] != stride) return false;
    stride = table.mul(stride, space.extents[axis]);
  }
  return stride == count_elements(table, access.base->type()->dims);
}

}  // namespace

bool MemoryPlan::all_direct() const {
  return std::all_of(parameters.begin(), parameters.end(),
                     [](const MemoryParameter& p) { return p.direct; });
}

std::vector<int> moving_axes(const BufferAccess& access) {
  std::vector<int> axes;
  for (size_t k = 0; k < access.strides.size(); ++k) {
    if (!access.strides[k]->is_constant(0)) axes.push_back(int(k));
  }
  return axes;
}

MemoryPlan plan_memory(DimTable& table, const KernelSpace& space,
                       std::vector<BufferAccess> accesses) {
  MemoryPlan plan;
  plan.accesses = std::move(accesses);
  for (const BufferAccess& access : plan.accesses) {
    size_t number = 0;
    while (number < plan.parameters.size() && plan.parameters[number].buffer != access.base)
      ++number;
    std::vector<int> axes = moving_axes(access);
    bool direct = is_direct(table, space, access);
    if (number == plan.parameters.size()) {
      plan.parameters.push_back({access.base, direct, std::move(axes)});
    } else if (!direct || plan.parameters[number].axes != axes) {
      plan.parameters[number].direct = false;
    }
    plan.parameter_of.push_back(number);
  }
  return plan;
}

std::vector<Dim> parameter_dims(DimTable& table, const MemoryParameter& parameter,
                                const std::vector<Dim>& extents) {
  if (!parameter.direct) return parameter.buffer->type()->dims;
  std::vector<Dim> dims;
  for (int axis : parameter.axes) dims.push_back(extents[size_t(axis)]);
  if (dims.empty()) dims.push_back(table.constant(1));
  return dims;
}

TileMemory open_memory(Builder& builder, const MemoryPlan& plan, size_t number,
                       const std::vector<Dim>& extents, Value* parameter) {
  const MemoryParameter& planned = plan.parameters[plan.parameter_of[number]];
  const BufferAccess& access = plan.accesses[number];
  TileMemory memory{parameter, moving_axes(access), access.places != nullptr};
  if (planned.direct) return memory;
  Context& context = builder.context();
  std::vector<Dim> dims, strides;
  if (memory.placed) {
    dims.push_back(access.places);
    strides.push_back(access.place_stride);
  }
  for (int axis : memory.axes) {
    dims.push_back(extents[size_t(axis)]);
    strides.push_back(access.strides[size_t(axis)]);
  }
  if (memory.axes.empty()) {
    dims.push_back(context.dims().constant(1));
    strides.push_back(context.dims().constant(1));
  }
  Type type = context.view(dims, parameter->type()->dtype, strides, access.offset);
  memory.memory = builder.value(schedule::info(schedule::OpKind::View), {{parameter}}, type);
  return memory;
}

}  // namespace tessera
