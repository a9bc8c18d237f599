#include "frontend/frontend.h"

#include <filesystem>

#include "frontend/kernel_check.h"
#include "frontend/entry_builder.h"
#include "frontend/lower/kernel/kernel_library.h"
#include "frontend/names_check.h"
#include "frontend/uncalled_check.h"
#include "ir/text/verifier.h"

namespace tessera::frontend {

struct SourceLibrary::State {
  State(Context& context, DiagnosticEngine& diagnostics, SessionOptions options)
      : session(context, diagnostics, std::move(options)), kernels(session) {}

  Session session;
  SourceKernels kernels;
  SourceModule* main = nullptr;
};

SourceLibrary::SourceLibrary(std::unique_ptr<State> state) : state_(std::move(state)) {}
SourceLibrary::~SourceLibrary() = default;

Result<schedule::KernelInstance> SourceLibrary::instantiate(
    Module& module, const schedule::KernelRequest& request) {
  Budget::Running running(state_->session.budget());
  return state_->kernels.instantiate(module, request);
}

bool SourceLibrary::has_parts(std::string_view kernel) { return state_->kernels.has_parts(kernel); }

Result<schedule::KernelInstance> SourceLibrary::instantiate_exported(Module& module,
                                                                     std::string_view name,
                                                                     std::string_view machine) {
  TSR_CHECK(state_->main, "exported kernels are those of a source file");
  Budget::Running running(state_->session.budget());
  for (schedule::KernelRequest& request : state_->kernels.own_kernels(*state_->main, machine)) {
    if (request.symbol == name) return state_->kernels.instantiate(module, request);
  }
  TSR_UNREACHABLE("a kernel that is not exported was asked for");
}

void SourceLibrary::check_names() {
  if (state_->main) frontend::check_names(state_->session, *state_->main);
}

bool SourceLibrary::has_unordered_sums() const { return state_->session.has_unordered_sums(); }

/// One run of the front end.
class Compilation {
 public:
  Compilation(Context& context, DiagnosticEngine& diagnostics, SessionOptions options,
              std::string kernels_for)
      : diagnostics_(diagnostics),
        kernels_for_(std::move(kernels_for)),
        state_(std::make_unique<SourceLibrary::State>(context, diagnostics, std::move(options))) {}

  Result<FrontendResult> run(FileId file) {
    size_t first = diagnostics_.all().size();
    size_t errors = diagnostics_.error_count();
    Session& session = state_->session;
    if (session.observer()) session.observer()->started(session);
    state_->main = session.load_file(file);
    auto graph = std::make_unique<Module>(session.context(), session.sources(), module_name(file),
                                          Level::Graph);
    bool parsed = diagnostics_.error_count() == errors;
    GraphBuilder builder(session, *graph, state_->kernels);
    EntryBuilder entries(builder, *state_->main);
    evaluate_constants(entries);
    for (const ast::Declaration& declaration : state_->main->unit.declarations) {
      if (is_cancelled()) return failure;
      // A broken layout cuts functions short; what is then missing in them is no second error.
      if (!declaration.has_error && !state_->main->broken) entries.build(*declaration.stmt);
    }
    builder.finish_entries();
    builder.build_initialisers();
    if (!state_->main->broken) check_kernels(*graph);
    if (is_cancelled()) return failure;
    FrontendResult result;
    for (const auto& request : state_->kernels.own_kernels(*state_->main, "")) {
      result.exported_kernels.push_back(request.symbol);
    }
    check_the_rest(builder);
    if (!kernels_for_.empty() && diagnostics_.error_count() == errors) check_names(session, *state_->main);
    diagnostics_.sort_from(first);
    if (!parsed || diagnostics_.error_count() != errors) return failure;
    if (verify(*graph, diagnostics_).failed()) return failure;
    result.graph = std::move(graph);
    result.library = library();
    return result;
  }

  std::unique_ptr<SourceLibrary> library() {
    state_->session.budget().pause();
    return std::unique_ptr<SourceLibrary>(new SourceLibrary(std::move(state_)));
  }

 private:
  bool is_cancelled() const { return state_->session.is_cancelled(); }
  /// The file's name without folder and ending, as a symbol.
  std::string module_name(FileId file) const {
    std::filesystem::path path(diagnostics_.sources().file(file).name());
    std::string name = path.stem().string();
    for (char& c : name) {
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    }
    bool starts = !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0]));
    return starts ? name : "_" + name;
  }

  /// In silence where the file has syntax errors: names may be missing because of them.
  void evaluate_constants(EntryBuilder& entries) {
    Session::Reports reports(state_->session, state_->main->broken ? Reporting::Nothing : Reporting::All);
    entries.evaluate_constants();
  }

  /// Those that can be compiled for themselves, and those that the graph calls, for kernels_for.
  void check_kernels(Module& graph) {
    KernelCheck check(state_->session, state_->kernels, kernels_for_);
    for (const ast::Declaration& declaration : state_->main->unit.declarations) {
      if (is_cancelled()) return;
      check.build_own(*state_->main, *declaration.stmt);
    }
    check.build_called(graph.body()->front());
  }

  /// What nothing calls. Of a file with errors in its layout an observer hears the values, and errors are not reported.
  void check_the_rest(const GraphBuilder& builder) {
    Session& session = state_->session;
    bool is_broken = state_->main->broken;
    if (is_broken && !session.observer()) return;
    Budget::Apart apart(session.budget());
    UncalledCheck check(session, state_->kernels, kernels_for_);
    for (const ast::Declaration& declaration : state_->main->unit.declarations) {
      if (is_cancelled()) return;
      check.check(*state_->main, *declaration.stmt, [&](const ast::Def& def) { return builder.was_run(def); },
                  is_broken ? Reporting::Nothing : Reporting::OfAnyCall);
    }
  }

  DiagnosticEngine& diagnostics_;
  std::string kernels_for_;
  std::unique_ptr<SourceLibrary::State> state_;
};

SessionOptions session_options(const FrontendOptions& options) {
  SessionOptions session;
  session.parse.include_paths = options.include_paths;
  session.parse.include_roots = options.include_roots;
  session.parse.read = options.read;
  session.check_promises = options.check_promises;
  session.kernels_print = options.kernels_print;
  session.nondet = options.nondet;
  session.targets = options.targets;
  session.observer = options.observer;
  session.is_cancelled = options.is_cancelled;
  session.limits = options.limits;
  for (const auto& [name, value] : options.defines) session.parse.defines[name] = value;
  return session;
}

Result<FrontendResult> compile_source(Context& context, FileId file, const FrontendOptions& options,
                                      DiagnosticEngine& diagnostics) {
  return Compilation(context, diagnostics, session_options(options), options.kernels_for).run(file);
}

FrontendResult library_only(Context& context, DiagnosticEngine& diagnostics) {
  FrontendResult result;
  result.library = Compilation(context, diagnostics, {}, {}).library();
  return result;
}

}  // namespace tessera::frontend
