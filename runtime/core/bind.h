#pragma once
// Binding the dims of a plan to the shapes of a call.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
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

  /// Of nothing, with room for the next shape.
  void clear() {
    data = nullptr;
    shape.clear();
    bits.reset();
  }
  /// Where the host can read the value of a rank-0 tensor.
  const char* host_data() const { return bits ? reinterpret_cast<const char*>(&*bits) : data; }
};

/// Where a source declares the extents of arguments, as far as the bundle tells: "mlp.tsr:5:19".
struct DeclaredPlaces {
  std::vector<std::vector<std::string>> extents;  ///< by buffer and axis; an inner list may be empty

  /// Empty where it is not known.
  std::string_view extent(size_t buffer, size_t axis) const;
};

/// The extent that gave a dim its value; of no buffer where it was a scalar.
struct DimOrigin {
  size_t buffer = SIZE_MAX;
  size_t axis = 0;
};

/// Gives every free dim its value: a bare dim at its first extent (inputs and params in the order
/// of the buffers), a scalar from its input. Then checks all extents and guards. `arguments` has
/// one element per buffer; those of inputs and params are read. Errors name tensor, axis, the
/// expected expression with its value, and what is there; of a guard both sides with their values;
/// and where the dims come from, with the places of their declarations.
Status bind_dims(const format::Plan& plan, const DeclaredPlaces& places,
                 std::span<const Argument> arguments, std::vector<int64_t>& dims,
                 std::vector<DimOrigin>& origins);

/// "input 'x'", "parameter 'w'", "output 'y'".
std::string buffer_title(const format::PlanBuffer& buffer);

/// "[B, 3*D]".
std::vector<std::string> declared_shapes(const format::Plan& plan, std::span<const uint32_t> buffers);
std::string declared_shape(const format::Plan& plan, const format::PlanBuffer& buffer);

}  // namespace tessera::runtime
