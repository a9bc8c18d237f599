#pragma once
// Finds where a value has its dtype or its shape from.

#include "ir/core/op.h"

namespace tessera::frontend {

/// The initial value of a loop for an argument of its region, if it has the argument's type; null
/// for other arguments.
const Value* entering(const Value* argument);

/// Back along operands of the same dtype to a value that has it of itself: an argument before an op, and an op of the
/// source before a conversion that follows from another one.
const Value* source_of_dtype(const Value* value);

}  // namespace tessera::frontend
