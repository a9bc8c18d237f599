#pragma once
// Scalars that are made of sizes and numbers alone (IrValue::weak). They are computed in f32; where one meets f64 it is
// computed again, in f64, so that no program of f64 has the digits of f32.

#include "ir/core/builder.h"

namespace tessera::frontend {

/// A weak scalar in f64. What has no code in f64 is that of f32; `cast` is the level's op.
Value* in_double(Builder& builder, Value* value, const OpInfo* cast);

}  // namespace tessera::frontend
