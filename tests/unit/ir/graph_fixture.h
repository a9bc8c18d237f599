#pragma once
// Graph functions from short texts, for tests.

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph/ops.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/text/verifier.h"

namespace tessera::graph {

/// Owns what a parsed module needs, and keeps its messages.
class GraphTest {
 public:
  GraphTest() { register_ops(context); }

  /// Parses and verifies a module; null when there are errors, see messages().
  Module* parse(const std::string& text) {
    // A name of its own: a file that is known is not read again.
    FileId file = sources.add("test" + std::to_string(modules_.size()) + ".tir", text);
    auto parsed = parse_modules(context, file, diagnostics);
    if (!parsed) return nullptr;
    modules_.push_back(std::move(parsed->front()));
    return modules_.back().get();
  }

  /// Parses a function of these parameters and this body (see function_text) and requires that it
  /// is well formed.
  Op* function(const std::vector<std::string>& parameters, const std::string& body,
               int results = 1) {
    Module* module = parse(function_text(parameters, body, results));
    INFO(messages());
    REQUIRE(module);
    return module->body()->front();
  }

  std::string messages() const { return render_all(diagnostics, {}); }

  /// The printed form of a module with one entry @f: parameters are `%name: type`, statements come
  /// one to a line.
  static std::string function_text(const std::vector<std::string>& parameters,
                                   const std::string& body, int results = 1) {
    std::string declared, args, names;
    for (const std::string& parameter : parameters) {
      if (!declared.empty()) declared += ", ", args += ", ";
      declared += parameter;
      std::string name = parameter.substr(1, parameter.find(':') - 1);
      args += "{kind = \"input\", name = \"" + name + "\"}";
    }
    for (int i = 0; i < results; ++i) {
      names += (i ? ", " : "") + std::string("{name = \"r") + std::to_string(i) + "\"}";
    }
    std::string text = "module @m level(graph) version(1) {\n  gir.func @f(" + declared +
                       ") {args = [" + args + "], results = [" + names + "], role = \"entry\"} {\n";
    for (size_t at = 0; at < body.size();) {
      size_t end = std::min(body.find('\n', at), body.size());
      text += "    " + body.substr(at, end - at) + " loc(\"t.tsr\":1:1)\n";
      at = end + 1;
    }
    return text + "  } loc(\"t.tsr\":1:1)\n}\n";
  }

  Context context;
  SourceManager sources;
  DiagnosticEngine diagnostics{sources};

 private:
  std::vector<std::unique_ptr<Module>> modules_;
};

}  // namespace tessera::graph
