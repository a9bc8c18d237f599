#pragma once
// Reads IR text with all levels registered, and prints it again.

#include <string>

#include "ir/graph/ops.h"
#include "ir/host/ops.h"
#include "ir/schedule/ops.h"
#include "ir/target/ops.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
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

/// A graph module with entry @f. `args` is as in a function's text, and each is an input.
inline std::string entry_module(const std::string& args, const std::string& body,
                                size_t results) {
  std::string attributes, names;
  for (size_t at = args.find('%'); at != std::string::npos; at = args.find('%', at + 1)) {
    std::string name = args.substr(at + 1, args.find(':', at) - at - 1);
    if (!attributes.empty()) attributes += ", ";
    attributes += "{kind = \"input\", name = \"" + name + "\"}";
  }
  for (size_t i = 0; i < results; ++i) {
    if (i != 0) names += ", ";
    names += "{name = \"r" + std::to_string(i) + "\"}";
  }
  return "module @f level(graph) version(1) {\ngir.func @f(" + args + ") {args = [" + attributes +
         "], results = [" + names + "], role = \"entry\"} {\n" + body + "}\n}\n";
}

/// The text with every `from` in it replaced; `to` must not hold `from`.
inline std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), to);
  return text;
}

}  // namespace tessera
