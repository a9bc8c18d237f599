#pragma once
// Which buffers of a plan name memory of others, and which no step may write.

#include <vector>

#include "runtime/format/plan.h"

namespace tessera::format {

/// The buffers that a step reads or writes itself; none of a view, whose steps come later.
std::vector<uint32_t> accessed_buffers(const PlanStep& step);

/// The temps and outputs that an alias step makes views.
std::vector<bool> find_views(const Plan& plan);

/// Per buffer: memory that the caller keeps (params and inputs that no output takes over), constants, and whatever any
/// alias step makes a view of such memory, through views of views. It does not matter which of the steps run: a buffer
/// that may name such memory is never written.
std::vector<bool> find_read_only(const Plan& plan);

}  // namespace tessera::format
