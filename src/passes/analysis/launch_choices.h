#pragma once
// Which of its kernels a launch runs, and calls that none of them is there for.

#include <vector>

#include "ir/core/dim_facts.h"
#include "ir/core/module.h"

namespace tessera {

/// Whether the facts depend on the counter of a loop around the launch, which no guard of the call knows.
bool depend_on_iterations(Op* launch, const std::vector<DimFact>& facts);
/// Lets calls for which the facts, in the dims of the entry, do not hold be refused by name. `known` are the facts
/// that are known where the launch stands; what is new is added to them.
void add_guards(Op* launch, const std::vector<DimFact>& facts, std::vector<DimFact>& known);
/// Takes a kernel from all launches: where it is the one that always may run, the last variant takes its place, and
/// what that one assumes guards the call. False, with nothing changed, where a launch would be left without a kernel,
/// or with one that needs what only the iterations of a loop know.
bool drop_choice(Op* kernel);
/// Erases the fallback kernels of which no launch is in need.
void drop_fallbacks(Module& module);

}  // namespace tessera
