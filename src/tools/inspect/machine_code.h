#pragma once
// Assembly and PTX by kernel, each line with the place that the `.loc` before it names.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/module.h"
#include "tools/inspect/line_pool.h"
#include "tools/inspect/trace.h"

namespace tessera::inspect {

/// The kernels of `text` in its order, then those that share another's code. Directives for debuggers are left out, and
/// what stands outside of kernels; a kernel's constants come with it. `modules` are those the text was made of.
std::vector<CodeRecord::Kernel> split_code(std::string_view text, std::span<Module* const> modules,
                                           const SourceManager& sources, LinePool& pool);

}  // namespace tessera::inspect
