#pragma once
// Diagnostics for programs. docs/diagnostics.md describes both forms.

#include <string>

#include "support/diagnostic.h"

namespace tessera {

/// One JSON object on a line for each diagnostic, and one with counts at the end; docs/diagnostics.schema.json.
std::string to_json_lines(const DiagnosticEngine& engine);

/// One log of the Static Analysis Results Interchange Format, version 2.1.0; `tool` and `version` are the driver's.
std::string to_sarif(const DiagnosticEngine& engine, std::string_view tool, std::string_view version);

}  // namespace tessera
