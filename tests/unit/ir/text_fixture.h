#pragma once
// Reads IR text with all levels registered, and prints it again.

#include <string>

#include "ir/core/parser.h"
#include "ir/core/printer.h"
#include "ir/graph/ops.h"
#include "ir/host/ops.h"
#include "ir/schedule/ops.h"
#include "ir/target/ops.h"
#include "ir/tile/ops.h"

namespace tessera {

struct TextFixture {
  Context context;
  SourceManager sources;
  DiagnosticEngine diagnostics{sources};

  TextFixture() {
    graph::register_ops(context);
    schedule::register_ops(context);
    host::register_ops(context);
    tile::register_ops(context);
    target::register_ops(context);
  }

  /// The printed modules, or the rendered diagnostics.
  std::string round_trip(const std::string& text) {
    FileId file = sources.add("test.tir", text);
    auto modules = parse_modules(context, file, diagnostics);
    if (!modules) return render_all(diagnostics, {});
    std::string out;
    for (auto& module : *modules) out += print(*module);
    return out;
  }
};

}  // namespace tessera
