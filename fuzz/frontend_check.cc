// Checks beyond not crashing: refused text is reported; accepted text gives a graph that verifies
// and reads back as it was printed; and the same text gives the same result again, also with an
// observer, which gets a sound index.

#include "frontend_check.h"

#include "frontend/frontend.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "frontend/index/collector.h"
#include "ir/graph/ops.h"
#include "ir/schedule/ops.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/text/verifier.h"
#include "support/check.h"

using namespace tessera;

namespace {

frontend::FrontendOptions make_options(const std::string& text) {
  frontend::FrontendOptions options;
  options.read = [text](const std::string& path, std::string& out, std::string& error) {
    if (path == "itself.tsr") {
      out = text;
    } else if (path == "sizes.tsr") {
      out = "const D = 4\ndef double(x):\n    return x + x\n";
    } else {
      error = "no such file";
      return false;
    }
    return true;
  };
  return options;
}

std::string build_kernels(Context& context, SourceManager& sources, DiagnosticEngine& diagnostics,
                          const frontend::FrontendResult& compiled) {
  std::string text;
  for (const std::string& kernel : compiled.exported_kernels) {
    Module module(context, sources, "kernel", Level::Schedule);
    size_t errors = diagnostics.error_count();
    auto built = compiled.library->instantiate_exported(module, kernel, "cpu:x86-64-v3");
    TSR_CHECK(built || diagnostics.error_count() > errors,
              "a kernel was refused without a message");
    if (!built) continue;
    TSR_CHECK(verify(module, diagnostics), "a kernel was accepted and does not verify");
    text += print(module);
  }
  return text;
}

void check_reads_back(const std::string& text) {
  Context context;
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  graph::register_ops(context);
  auto modules = parse_modules(context, sources.add("graph.tir", text), diagnostics);
  TSR_CHECK(modules && modules->size() == 1, "a graph does not read back");
  TSR_CHECK(print(*modules->front()) == text, "a graph reads back as another one");
}

/// Places are of what there is, and in order.
void check_index(const frontend::SemanticIndex& index, const SourceManager& sources) {
  auto is_place = [&](Loc loc) {
    frontend::Extent extent = frontend::extent_of(sources, loc);
    auto begin = std::make_pair(extent.line, extent.column), end = std::make_pair(extent.end_line, extent.end_column);
    return loc.known() && begin <= end && extent.end_line <= sources.file(extent.file).line_count();
  };
  auto before = [](const auto& a, const auto& b) {
    return std::tie(a.loc.file, a.loc.line, a.loc.column) < std::tie(b.loc.file, b.loc.line, b.loc.column);
  };
  for (const auto* places : {&index.bindings, &index.expressions}) {
    TSR_CHECK(std::is_sorted(places->begin(), places->end(), before), "facts are out of order");
    for (const frontend::PlaceFacts& place : *places) {
      TSR_CHECK(is_place(place.loc) && !place.values.empty(), "facts of no place, or none");
      TSR_CHECK(place.name.empty() == (places == &index.expressions), "a name is given a value that has none");
      TSR_CHECK(index.at(place.loc) != nullptr, "facts that are not found");
    }
  }
  TSR_CHECK(std::is_sorted(index.functions.begin(), index.functions.end(), before), "functions are out of order");
  for (const frontend::FunctionFacts& function : index.functions) {
    TSR_CHECK(index.function_at(function.loc) == &function, "a function that is not found");
  }
  for (const frontend::CallSite& call : index.calls) {
    TSR_CHECK(is_place(call.loc) && is_place(call.callee), "a call of nothing");
  }
}

std::string compile(const std::string& text, bool observed) {
  Context context;
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  graph::register_ops(context);
  schedule::register_ops(context);
  FileId file = sources.add("main.tsr", text);
  frontend::IndexCollector collector;
  frontend::FrontendOptions options = make_options(text);
  if (observed) options.observer = &collector;
  auto compiled = frontend::compile_source(context, file, options, diagnostics);
  if (observed) check_index(collector.take(), sources);
  if (!compiled) {
    TSR_CHECK(diagnostics.has_errors(), "a source was refused without a message");
    return render_all(diagnostics, {});
  }
  TSR_CHECK(!diagnostics.has_errors(), "a source with errors was accepted");
  std::string graph = print(*compiled->graph);
  check_reads_back(graph);
  std::string kernels = build_kernels(context, sources, diagnostics, *compiled);
  return graph + kernels + render_all(diagnostics, {});
}

}  // namespace

void check_frontend(const std::string& text) {
  TSR_CHECK(compile(text, false) == compile(text, true), "the same text gave another result");
}
