#include "tools/driver/io.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "support/diagnostic_rows.h"
#include "support/file.h"
#include "support/file_kind.h"
#include "support/render/json.h"
#include "tools/driver/version.h"

namespace tessera::driver {

bool is_dump(std::string_view text) {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line.substr(first, 2) == "//") continue;
    return line.substr(first, 8) == "module @";
  }
  return false;
}

Result<FileId> read_source(const std::string& path, std::string_view stdin_name, DiagnosticEngine& diagnostics) {
  std::string text, error;
  std::string name(path == "-" ? stdin_name : path);
  if (!read_file(path, text, error)) {
    diagnostics.report(diag::cannot_read, {}, name, error);
    return failure;
  }
  if (std::string_view kind = foreign_kind(text); !kind.empty()) {
    auto builder = diagnostics.report(diag::not_source, {}, name, kind);
    if (kind == "LLVM IR" || kind == "assembly" || kind == "PTX") {
      builder.help("of the stages of --dump, graph, sched, tile and target can be read back");
    } else if (kind.find("bundle") != kind.npos) {
      builder.help(fmt::format("'tsr run {0} ENTRY' runs a bundle, 'tsr inspect {0}' shows what it has", name));
    }
    return failure;
  }
  return diagnostics.sources().add(std::move(name), std::move(text));
}

namespace {

Status refuse_write(const std::string& path, const std::string& error, DiagnosticEngine& diagnostics) {
  diagnostics.report(diag::cannot_write, {}, path == "-" ? "<stdout>" : path, error);
  return failure;
}

}  // namespace

Status write_text(const std::string& path, std::string_view text, DiagnosticEngine& diagnostics) {
  PendingFiles files;
  return write_text(files, path, text, diagnostics) ? commit(files, diagnostics) : failure;
}

Status write_text(PendingFiles& files, const std::string& path, std::string_view text, DiagnosticEngine& diagnostics) {
  std::string error;
  return files.write(path, text, error) ? success : refuse_write(path, error, diagnostics);
}

Status commit(PendingFiles& files, DiagnosticEngine& diagnostics) {
  std::string path, error;
  return files.commit(path, error) ? success : refuse_write(path, error, diagnostics);
}

namespace {

std::string text_of(const DiagnosticEngine& diagnostics, ErrorFormat format, std::string_view tool) {
  switch (format) {
    case ErrorFormat::Human: return render_all(diagnostics, render_options(STDERR_FILENO));
    case ErrorFormat::Json: return to_json_lines(diagnostics);
    case ErrorFormat::Sarif: return to_sarif(diagnostics, tool, version());
  }
  TSR_UNREACHABLE("there are three formats");
}

}  // namespace

void show(const DiagnosticEngine& diagnostics, ErrorFormat format, std::string_view tool) {
  write_stderr(text_of(diagnostics, format, tool));
}

void write_stderr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

int command_line_error(std::string_view tool, std::string_view problem, ErrorFormat format) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  diagnostics.report(diag::command_line, {}, problem)
      .help(fmt::format("'{} --help' shows how it is used", tool));
  show(diagnostics, format, tool);
  return exit_user_error;
}

}  // namespace tessera::driver
