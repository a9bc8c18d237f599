#include "tools/driver/show_shapes.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <filesystem>

#include "api/frontend_compile.h"
#include "frontend/index/collector.h"
#include "support/diagnostic_rows.h"
#include "tools/driver/io.h"
#include "tools/driver/levels.h"
#include "tools/driver/remapped_files.h"
#include "tools/driver/shape_policy.h"
#include "tools/shapes/shapes.h"

namespace tessera::driver {

namespace {

const Machine* first_machine(const CompileOptions& options, DiagnosticEngine& diagnostics) {
  if (options.targets.empty()) return default_machines().front();
  return target_named(options.targets.front(), diagnostics);
}

/// Columns of the terminal that standard output is; of files and pipes, what most screens have room for.
size_t output_width() {
  constexpr size_t of_files = 160;
  winsize size{};
  bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : of_files;
}

}  // namespace

Status show_shapes(const CompileOptions& options, bool json, DiagnosticEngine& diagnostics) {
  const Machine* machine = first_machine(options, diagnostics);
  if (!machine) return failure;
  Result<FileId> file = read_source(options.input, options.stdin_name, diagnostics);
  if (!file) return failure;
  SourceManager& sources = diagnostics.sources();
  if (is_dump(sources.file(*file).text())) {
    diagnostics.report(diag::not_source, {}, sources.file(*file).name(), "a dump of IR")
        .help("the types in a dump say their shapes");
    return failure;
  }
  sources.set_root(std::filesystem::path(options.input).parent_path());
  Context context;
  register_all_levels(context);
  frontend::IndexCollector collector;
  frontend::FrontendOptions source;
  source.include_paths = options.include_paths;
  source.include_roots = options.include_roots;
  source.limits = options.limits;
  RemappedFiles remapped(options.remapped);
  source.read = remapped.reader();
  source.defines = options.defines;
  source.observer = &collector;
  source.kernels_for = machine->name;
  Result<api::ModuleIr> ir = api::frontend_compile(context, *file, source, diagnostics);
  frontend::SemanticIndex index = collector.take();
  api::ShapeReport report;
  if (ir) remapped.warn_of_unused(diagnostics);
  if (ir) report = validate_shapes(*ir->graph, options.shape_policy.value_or(api::ShapePolicy()));
  std::string text = json ? shapes::shapes_json(index, report, sources, *file)
                          : shapes::shapes_text(index, report, sources, *file, output_width());
  Status written = write_text(options.output.empty() ? "-" : options.output, text, diagnostics);
  return ir && report_findings(report, diagnostics) && written ? success : failure;
}

}  // namespace tessera::driver
