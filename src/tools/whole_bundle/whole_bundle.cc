#include "tools/whole_bundle/whole_bundle.h"

#include <string>

#include "ir/graph/ops.h"
#include "ir/host/ops.h"
#include "ir/text/parser.h"
#include "ir/tile/ops.h"
#include "runtime/files/text.h"
#include "runtime/format/bundle_check.h"
#include "support/diagnostic.h"

namespace tessera {

namespace {

/// The first error in a text of IR, as one line.
format::Outcome check_ir(const format::BundleEntry& entry) {
  Context context;
  graph::register_ops(context);
  host::register_ops(context);
  tile::register_ops(context);
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  FileId file = sources.add(entry.name, std::string(entry.bytes));
  if (parse_modules(context, file, diagnostics)) return {};
  if (diagnostics.all().empty()) return format::error(entry.name, " cannot be read");
  const Diagnostic& first = diagnostics.all().front();
  return format::error(entry.name, ":", first.loc.line, ":", first.loc.column, ": ", first.message);
}

}  // namespace

format::Result<format::BundleView> check_whole_bundle(std::string_view bytes) {
  format::Result<format::BundleView> bundle = format::BundleView::open(bytes);
  if (!bundle) return bundle;
  if (format::Outcome checked = format::check_bundle(*bundle); !checked) return checked.error();
  for (std::string_view name : {format::graph_ir_name, format::called_kernels_name}) {
    const format::BundleEntry* entry = bundle->find(name);
    if (!entry) continue;
    if (format::Outcome read = check_ir(*entry); !read) return read.error();
  }
  return bundle;
}

}  // namespace tessera
