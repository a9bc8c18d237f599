#pragma once
// The CPU targets, in order from the least to the best, and whether this machine can run them.

#include <optional>
#include <string>
#include <string_view>

namespace tessera::runtime {

/// Rank of the target among the CPU's, or nothing when there is none of that name.
std::optional<int> cpu_target_rank(std::string_view target);

/// Whether code for the target of rank `a` is faster here than that of rank `b`, where both can run.
bool is_faster_cpu_target(int a, int b);

/// The first feature that the target needs and that this machine (or its operating system) lacks;
/// empty when it can run it.
std::string missing_cpu_feature(int rank);

}  // namespace tessera::runtime
