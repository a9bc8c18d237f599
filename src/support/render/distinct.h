#pragma once

#include <vector>

#include "support/diagnostic.h"

namespace tessera {

/// The diagnostics in order, without those that say what an earlier one said: of several variants of one thing the same
/// errors are reported.
std::vector<const Diagnostic*> distinct(const DiagnosticEngine& engine);
/// How many of a severity the limit left.
size_t kept(const DiagnosticEngine& engine, Severity severity);

}  // namespace tessera
