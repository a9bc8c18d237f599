#pragma once
// The IR's dtypes, dims and types in the terms of the runtime's formats.

#include <string>
#include <vector>

#include "ir/core/type.h"
#include "runtime/files/dtype.h"
#include "runtime/format/expr.h"

namespace tessera::codegen {

format::Dtype format_dtype(DType dtype);

/// The code of a dim whose symbols are all among `names`; a symbol's number is its place there.
format::Expr format_dim(Dim dim, const std::vector<std::string>& names);
/// The text form of the same.
std::string dim_text(Dim dim, const std::vector<std::string>& names);

/// Numerics policies as a manifest lists them: "accum(f32)".
std::vector<std::string> format_policies(const Policies& policies);

}  // namespace tessera::codegen
