#include "lsp/analysis.h"

#include <algorithm>
#include <set>

#include "frontend/frontend.h"
#include "ir/graph/ops.h"
#include "ir/schedule/ops.h"
#include "lsp/place.h"

namespace tessera::lsp {

namespace {

constexpr size_t error_limit = 200;
/// The machine for which kernels are built to find their mistakes: the one that every build has.
constexpr std::string_view checked_machine = "cpu:x86-64-v3";

class Analysis {
 public:
  Analysis(Workspace& workspace, const FileModel& file) : workspace_(workspace), file_(file) {}

  AnalysisResult run(const std::function<bool()>& is_cancelled);

 private:
  frontend::FrontendOptions options();
  void place(const Diagnostic& diagnostic);
  std::string path_of_file(FileId file) const { return sources_.file(file).name(); }

  Workspace& workspace_;
  const FileModel& file_;
  SourceManager sources_;
  AnalysisResult result_;
  std::set<std::string> read_;
};

frontend::FrontendOptions Analysis::options() {
  frontend::FrontendOptions made;
  made.include_paths = workspace_.options.include_paths;
  for (const auto& [name, value] : workspace_.options.defines) made.defines.emplace_back(name, value);
  made.read = [this](const std::string& path, std::string& text, std::string& error) {
    read_.insert(path);
    return workspace_.read(path, text, error);
  };
  return made;
}

void Analysis::place(const Diagnostic& diagnostic) {
  PlacedDiagnostic made;
  made.path = diagnostic.loc.file == 0 ? file_.path() : path_of_file(diagnostic.loc.file);
  made.range = place_in(sources_, diagnostic.loc);
  made.severity = diagnostic.severity;
  made.id = diagnostic.id;
  made.message = diagnostic.message;
  made.helps = diagnostic.helps;
  for (const DiagnosticNote& note : diagnostic.notes) {
    bool placed = note.loc.file != 0 && note.loc.known();
    made.notes.push_back({placed ? path_of_file(note.loc.file) : "", place_in(sources_, note.loc), note.message});
  }
  result_.diagnostics.push_back(std::move(made));
}

AnalysisResult Analysis::run(const std::function<bool()>& is_cancelled) {
  FileId main = sources_.add(file_.path(), file_.text());
  Context context;
  graph::register_ops(context);
  schedule::register_ops(context);
  DiagnosticEngine diagnostics(sources_);
  diagnostics.set_error_limit(error_limit);
  auto compiled = frontend::compile_source(context, main, options(), diagnostics);
  if (compiled) {
    for (const std::string& name : compiled->exported_kernels) {
      if (is_cancelled()) result_.finished = false;
      if (!result_.finished) break;
      Module module(context, sources_, name, Level::Schedule);
      [[maybe_unused]] auto built = compiled->library->instantiate_exported(module, name, checked_machine);
    }
  }
  std::set<std::string> said;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (said.insert(render(diagnostic, sources_, {})).second) place(diagnostic);
  }
  result_.files.assign(read_.begin(), read_.end());
  return std::move(result_);
}

}  // namespace

AnalysisResult analyse(Workspace& workspace, const FileModel& file, const std::function<bool()>& is_cancelled) {
  return Analysis(workspace, file).run(is_cancelled);
}

}  // namespace tessera::lsp
