// Any bytes as IR text. Beyond not crashing: refused text is reported, and accepted text prints to
// a text that reads back as itself.

#include <cstdint>
#include <string>

#include "ir/graph/ops.h"
#include "ir/host/ops.h"
#include "ir/schedule/ops.h"
#include "ir/target/ops.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/tile/ops.h"

using namespace tessera;

namespace {

/// The printed modules, or nothing for a text that is refused.
std::string read_and_print(const std::string& text, bool& accepted) {
  Context context;
  graph::register_ops(context);
  schedule::register_ops(context);
  host::register_ops(context);
  tile::register_ops(context);
  target::register_ops(context);
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  FileId file = sources.add("fuzz.tir", text);
  auto modules = parse_modules(context, file, diagnostics);
  accepted = bool(modules);
  if (!accepted) {
    TSR_CHECK(diagnostics.has_errors(), "a text was refused without a diagnostic");
    render_all(diagnostics, {});
    return {};
  }
  std::string printed;
  for (const auto& module : *modules) printed += print(*module);
  return printed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  bool accepted = false;
  std::string printed = read_and_print(text, accepted);
  if (!accepted) return 0;
  std::string again = read_and_print(printed, accepted);
  TSR_CHECK(accepted, "a printed text was refused");
  TSR_CHECK(again == printed, "a printed text was read back differently");
  return 0;
}
