#pragma once
// Changes to a kernel that a library has built.

#include "ir/core/builder.h"
#include "passes/analysis/access.h"

namespace tessera {

/// Parameter `position` becomes a tensor of those dims; the kernel reads it through a window of the
/// former dims.
void read_through_window(Op* kernel, unsigned position, const std::vector<Dim>& dims,
                         const Access& window);
/// Parameter `position` becomes one of `stored`, and whatever is loaded from it is cast in turn to
/// `casts`, of which the last is the dtype that the parameter had.
void read_through_casts(Op* kernel, unsigned position, DType stored,
                        const std::vector<DType>& casts);
/// The only store to the kernel's only result, if it stands in the grid itself; else null.
Op* find_result_store(Op* kernel);
/// Adds a parameter before the results.
Value* add_input(Op* kernel, Type type, std::string_view name);
/// Erases ops whose results nobody uses and that do nothing else.
void erase_unused(Op* kernel);
/// Replaces each hook by its operand.
void erase_hooks(Op* kernel);

}  // namespace tessera
