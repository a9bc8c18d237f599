#pragma once
// Describes values of the evaluation in the notation of the language.

#include "frontend/index/semantic_index.h"
#include "frontend/values/value.h"

namespace tessera::frontend {

/// The facts of a value that is not poison; its device is the caller's to say.
ValueFacts facts_of(const Datum& value);

}  // namespace tessera::frontend
