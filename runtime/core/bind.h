#pragma once
// Binding the dims of a plan to the shapes of a call.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/format/plan.h"

namespace tessera::runtime {

/// The tensor behind an input, param or output of a call.
struct Argument {
  char* data = nullptr;
  std::vector<int64_t> shape;
  /// The bits of a rank-0 tensor that a device other than the host cannot read where it is (`data`
  /// is null then) or that were read from the device because a dim is bound to them.
  std::optional<uint64_t> bits;

  /// Where the host can read the value of a rank-0 tensor.
  const char* host_data() const { return bits ? reinterpret_cast<const char*>(&*bits) : data; }
};

/// Gives every free dim its value: a bare dim at its first extent (inputs and params in the order
/// of the buffers), a scalar from its input. Then checks all extents and guards. `arguments` has
/// one element per buffer; those of inputs and params are read. Errors name tensor, axis, the
/// expected expression with its value, and what is there.
Status bind_dims(const format::Plan& plan, std::span<const Argument> arguments,
                 std::vector<int64_t>& dims);

/// "input 'x'", "parameter 'w'", "output 'y'".
std::string buffer_title(const format::PlanBuffer& buffer);

/// "[B, 3*D]".
std::string declared_shape(const format::Plan& plan, const format::PlanBuffer& buffer);

}  // namespace tessera::runtime
