#pragma once
// Compiles source to a graph. tesserac, the language server and, through the C interface, other
// programs use it to compile whole files.

#include <string>
#include <vector>

#include "frontend/frontend.h"

namespace tessera::api {

/// A graph with what its kernels are made of.
using ModuleIr = frontend::FrontendResult;

/// Compiles a file, whose text is in the diagnostics' source manager; a failure is reported. The context gets the
/// levels that takes, and outlives the module.
Result<ModuleIr> frontend_compile(Context& context, FileId file, const frontend::FrontendOptions& options,
                                  DiagnosticEngine& diagnostics);

/// Reads the first graph of a text of IR; it has no kernels.
Result<ModuleIr> frontend_read(Context& context, FileId file, DiagnosticEngine& diagnostics);

/// Callable functions: those with @jit, and the kernels that are compiled on their own.
std::vector<std::string> entries_of(const ModuleIr& ir);

}  // namespace tessera::api
