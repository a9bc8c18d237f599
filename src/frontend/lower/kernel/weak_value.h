#pragma once
// Scalars that are made of sizes and numbers alone (IrValue::weak). They are computed in f32. One
// that is combined with f64 is computed again, in f64, so that no program of f64 has the digits of
// f32.

#include "frontend/values/value.h"
#include "ir/core/builder.h"

namespace tessera::frontend {

class Evaluator;

/// A weak scalar in f64; `cast` is the level's op. Reports what has no code in f64.
Value* in_double(Evaluator& evaluator, Builder& builder, const IrValue& weak, const OpInfo* cast);

}  // namespace tessera::frontend
