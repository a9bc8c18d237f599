#pragma once
// A program for tests: the text of a graph module, or source.

#include <string>

#include "frontend/frontend.h"
#include "ir/text/parser.h"

namespace tessera::test {

/// The graph, which may add in any order, and the kernels that it may call; the graph is null where `text` has an
/// error, which is reported.
inline frontend::FrontendResult load_program(Context& context, SourceManager& sources, const std::string& text,
                                             DiagnosticEngine& diagnostics) {
  bool is_graph = text.rfind("module", 0) == 0;
  FileId file = sources.add(is_graph ? "f.tir" : "f.tsr", text);
  if (!is_graph) {
    auto result = frontend::compile_source(context, file, {.nondet = true}, diagnostics);
    return result ? std::move(*result) : frontend::library_only(context, diagnostics);
  }
  auto modules = parse_modules(context, file, diagnostics);
  frontend::FrontendResult result = frontend::library_only(context, diagnostics);
  if (modules) result.graph = std::move(modules->front());
  return result;
}

}  // namespace tessera::test
