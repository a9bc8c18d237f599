#pragma once
// Builds kernels from source and prints them.

#include <map>
#include <string>
#include <vector>

#include "frontend/lower/kernel/kernel_library.h"
#include "ir/schedule/ops.h"
#include "ir/text/printer.h"
#include "ir/text/verifier.h"

namespace tessera::frontend {

struct KernelFixture {
  Context context;
  SourceManager sources;
  DiagnosticEngine diagnostics{sources};
  Session session{context, diagnostics, {}};
  SourceKernels kernels{session};
  Module module{context, sources, "k", Level::Schedule};
  schedule::KernelRequest request;
  std::map<std::string, Dim> dims;  ///< of the instance built last
  std::vector<Type> results;

  KernelFixture() { schedule::register_ops(context); }

  /// A request for a kernel of the standard library; no machine, so no table has a say.
  KernelFixture& ask(const std::string& kernel, const std::vector<std::string>& operands) {
    request.kernel = kernel;
    request.symbol = "k";
    for (const std::string& text : operands) request.operands.push_back(context.parse_type(text));
    return *this;
  }
  /// Builds the request; the printed module, or the rendered diagnostics.
  std::string build() {
    auto instance = kernels.instantiate(module, request);
    if (!instance) return render_all(diagnostics, {});
    dims = instance->dims;
    results = instance->results;
    if (!verify(module, diagnostics)) return render_all(diagnostics, {}) + print(module);
    return print(module, {.locations = false});
  }
  /// Builds the kernels of a source text that can be compiled for themselves.
  std::string build_source(const std::string& text) {
    SourceModule* source = session.load_file(sources.add("test.tsr", text));
    for (schedule::KernelRequest& own : kernels.own_kernels(*source, "")) {
      if (!kernels.instantiate(module, own)) return render_all(diagnostics, {});
    }
    if (diagnostics.has_errors() || !verify(module, diagnostics))
      return render_all(diagnostics, {});
    return print(module, {.locations = false});
  }
};

/// How many ops of that name a text has.
inline size_t count(const std::string& text, const std::string& op) {
  size_t n = 0;
  for (size_t at = text.find(op + " "); at != std::string::npos; at = text.find(op + " ", at + 1))
    ++n;
  return n;
}

}  // namespace tessera::frontend
