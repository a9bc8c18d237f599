#pragma once
// Dtypes as the language sees them. A value of type T @accum(A) is stored as T and computed in A;
// mixed dtypes are promoted by widening, and only where every value of one is a value of the other.

#include <optional>
#include <string_view>
#include <vector>

#include "ir/core/type.h"

namespace tessera::frontend {

/// A dtype by any of the language's spellings (fp32, half, int8, …). `fp8(e4m3)` is read by the
/// reader of types.
std::optional<DType> dtype_by_name(std::string_view name);
/// All those spellings.
std::vector<std::string_view> dtype_names();
/// The dtype in which a value is computed when no policy is written: f32 for the narrower floats,
/// else the dtype itself.
DType default_accum(DType dtype);
/// The dtype in which a value of that storage dtype and those policies is computed.
DType compute_dtype(DType storage, const Policies& policies);
/// The dtype in which a matmul sums: compute_dtype, and 32 bits for the narrower integers.
DType contraction_dtype(DType storage, const Policies& policies);
/// True if every value of `from` is a value of `to`.
bool widens_to(DType from, DType to);

}  // namespace tessera::frontend
