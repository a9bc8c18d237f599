#pragma once
// Checks that a loop would make in each iteration, made before it: see checks.cc.

#include "ir/core/module.h"

namespace tessera {

/// Moves checks of what grows evenly in a loop before it, in all functions of a graph module.
void hoist_checks(Module& module);

}  // namespace tessera
