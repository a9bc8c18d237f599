#pragma once
// The pages of docs/errors/, which are part of the compiler.

#include <string>
#include <string_view>

#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera::driver {

/// Prints the page of a tag to standard output, or a list of all tags for an empty one; an unknown tag is reported.
Status explain(std::string_view tag, DiagnosticEngine& diagnostics);

/// A page as a terminal shows it: paragraphs wrapped, links by their text, code as it is. Of Markdown it knows what the
/// pages use.
std::string format_page(std::string_view page, const RenderOptions& options);

}  // namespace tessera::driver
