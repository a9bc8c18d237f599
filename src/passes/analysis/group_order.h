#pragma once
// When kernels run, for the memory between them.

#include <vector>

#include "passes/analysis/fusion_groups.h"

namespace tessera {

/// The groups, which are in an order of their dependences, each as late as saves memory: right before the first group
/// that reads what it gives, where what it reads is there until then anyway or is no larger than what it gives.
/// Derivatives are so computed from what the first computation left when they are needed, and not right behind it.
std::vector<FusionGroup> late_order(std::vector<FusionGroup> groups, const GraphReads& reads);

}  // namespace tessera
