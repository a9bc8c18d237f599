#pragma once
// Compiles source texts to Graph IR.

#include <memory>
#include <string>

#include "frontend/frontend.h"
#include "frontend/values/builtins.h"
#include "ir/graph/ops.h"
#include "ir/schedule/ops.h"
#include "ir/text/printer.h"
#include "support/file.h"

namespace tessera::frontend {

struct Fixture {
  Context context;
  SourceManager sources;
  DiagnosticEngine diagnostics{sources};
  FrontendOptions options;
  FrontendResult result;

  Fixture() {
    graph::register_ops(context);
    schedule::register_ops(context);
  }

  /// The graph as text, without locations; the rendered diagnostics when there are errors.
  std::string compile(const std::string& text, const std::string& name = "test.tsr") {
    auto compiled = compile_source(context, sources.add(name, text), options, diagnostics);
    if (!compiled) return render_all(diagnostics, {});
    result = std::move(*compiled);
    return print(*result.graph, {.locations = false});
  }
  std::string compile_file(const std::string& path) {
    std::string text, error;
    if (!read_file(std::string(TESSERA_SOURCE_DIR) + "/" + path, text, error)) return error;
    return compile(text, path);
  }
};

/// The graph of a source text, or its diagnostics.
inline std::string compile(const std::string& text) {
  return Fixture().compile(text);
}

/// How many ops of that name a text has.
inline size_t count(const std::string& text, const std::string& op) {
  size_t n = 0;
  for (size_t at = text.find(op); at != std::string::npos; at = text.find(op, at + 1)) {
    char next = text[at + op.size()];
    n += next == ' ' || next == '\n';
  }
  return n;
}

}  // namespace tessera::frontend
