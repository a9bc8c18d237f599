#pragma once
// Describes the values that the evaluation found at names, in Markdown.

#include <string>

#include "lsp/features/context.h"

namespace tessera::lsp {

/// The values at a name, and of a function what its calls gave; empty where nothing is known.
std::string describe_values(Context& context, FileModel& file, const NamePlace& place,
                            const std::optional<Symbol>& symbol);
/// The values of a name of a function where it gets its meaning.
std::string describe_values(Context& context, const Symbol& local);

}  // namespace tessera::lsp
