#pragma once
// One compilation of the front end: files, scopes, functions, and what has been said about them
// already.

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "frontend/binding/imports.h"
#include "frontend/binding/names.h"
#include "frontend/evaluate/budget.h"
#include "frontend/evaluate/parsed_files.h"
#include "frontend/evaluate/reporting.h"
#include "frontend/evaluate/type_expr.h"
#include "frontend/syntax/parse.h"
#include "frontend/values/function.h"
#include "frontend/values/modules.h"
#include "frontend/values/observer.h"
#include "frontend/values/scope.h"
#include "ir/core/context.h"
#include "support/diagnostic.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

class Links;

/// A param: one that a file declares, or a field of an instance of a module.
struct ParamDeclaration {
  std::string name;
  std::string key;  ///< its name in bundles and weights: "w", "blocks.0.w"
  const ast::Expr* annotation = nullptr;   ///< null when absent
  const ast::Expr* initialiser = nullptr;  ///< null when absent
  Scope* scope = nullptr;
  Loc loc;
  Loc instance;  ///< where the instance is made; unknown for a param of a file
  unsigned order = 0;
};

/// The value of the name of a param.
class ParamReference : public Object {
 public:
  explicit ParamReference(const ParamDeclaration* declaration) : declaration_(declaration) {}
  const ParamDeclaration& declaration() const { return *declaration_; }
  std::string describe() const override { return "param '" + declaration_->name + "'"; }

 private:
  const ParamDeclaration* declaration_;
};

/// Diagnostics that say the same of different calls have one number.
inline uint16_t subject_of(DiagId id) {
  bool is_relation = id == DiagId::unrelated_symbols || id == DiagId::unstated_relation;
  return uint16_t(is_relation ? DiagId::shape_mismatch : id);
}

struct SessionOptions {
  ParseOptions parse;
  bool check_promises = false;  ///< FrontendOptions::check_promises
  bool kernels_print = false;   ///< FrontendOptions::kernels_print
  bool nondet = false;  ///< sums may be made in no order
  std::vector<std::string> targets = {};  ///< FrontendOptions::targets
  EvaluationObserver* observer = nullptr;  ///< FrontendOptions::observer
  std::function<bool()> is_cancelled = {};  ///< FrontendOptions::is_cancelled
  EvaluationLimits limits = {};  ///< FrontendOptions::limits
  ParsedFiles* files = nullptr;  ///< asked before a file is read or parsed; null: all are
};

struct FrontendOptions;
/// The settings of a session from the options of a compilation.
SessionOptions session_options(const FrontendOptions& options);

/// A name and where it is declared.
struct NamedPlace {
  std::string text;  ///< "'D' is 768"
  Loc loc;
};

class Session {
 public:
  Session(Context& context, DiagnosticEngine& diagnostics, SessionOptions options);
  ~Session();

  Context& context() const { return *context_; }
  DimTable& dims() const { return context_->dims(); }
  DiagnosticEngine& diagnostics() const { return *diagnostics_; }
  const SessionOptions& options() const { return options_; }
  SourceManager& sources() const { return diagnostics_->sources(); }

  /// Parses a file and enters its names. A second call with the same file gives the same module.
  SourceModule* load_file(FileId file);
  /// The module of a dotted import, from the standard library or beside the importing file; null
  /// (and a diagnostic) when there is none or the imports form a cycle.
  /// `wanted` are the names that the importer asks the module for.
  SourceModule* load_import(std::string_view dotted, Loc loc, const SourceModule& importer,
                            std::span<const ast::ImportedName> wanted);
  /// A module of the embedded standard library by name ("tessera.nn"), null when there is none.
  SourceModule* load_library(std::string_view dotted);

  Scope* prelude() const { return prelude_; }
  /// Has the names of `tile`.
  Scope* tile_scope() const { return tile_scope_; }
  Links& links() const { return *links_; }
  Scope* new_scope(Scope* parent);
  Scope* new_scope(Scope* parent, const SourceModule* module);
  Function* new_function();
  /// The function that a def stands for in a scope; unknown decorators are reported.
  Function* make_function(const ast::Def& def, Scope& scope);
  bool check_decorator(const ast::Def& def, const ast::Decorator& decorator);
  CheckpointPolicy policy_of(const ast::Decorator& decorator);
  void warn_of_checkpoints(const Function& function);
  void warn_of_autodiff(const Function& function);
  /// A method of the instance that has this scope; the same function each time.
  Function* method(const ast::Def& def, Scope& scope);
  /// Whether a name that nothing defines occurs for the first time in a file: more uses are no more
  /// errors.
  bool is_first_use(FileId file, std::string_view name) {
    return !may_report() || undefined_.emplace(file, name).second;
  }
  /// The names that a definition leaves to the scopes around it.
  const names::FreeNames& free_names(const ast::Node& definition) const;
  /// How often the file that a place is in has a name, with the files that it includes; members: behind dots only.
  size_t count_uses(Loc place, std::string_view name, bool members_only = false);
  /// What imports a name from a module, no edit where the file has it; nothing where the file has no declarations.
  std::optional<std::vector<Edit>> import_edits(FileId file, std::string_view path, std::string_view name) const;
  /// The signature of a def, read once for each place its definition was evaluated.
  const Signature& signature(Evaluator& evaluator, const Function& function);
  /// The same where it has been read already, else null.
  const Signature* known_signature(const Function& function) const;
  /// Adds a param; null, with a diagnostic, when another has its key.
  const ParamDeclaration* add_param(ParamDeclaration declaration);
  /// A param of an instance that is in no program: none of `params()`.
  const ParamDeclaration* add_unlisted_param(ParamDeclaration declaration) {
    return &unlisted_params_.emplace_back(std::move(declaration));
  }
  /// The first instance that was made of a module, poison if that failed; null when nothing makes one.
  const Datum* first_instance(const ast::Module& module) const {
    auto found = first_instances_.find(&module);
    return found == first_instances_.end() ? nullptr : &found->second;
  }
  void note_instance(const ast::Module& module, const Datum& instance) {
    Datum& first = first_instances_[&module];
    if (first.is_poison()) first = instance;
  }
  /// The params of all files and instances, in the order of loading, declaration and making.
  const std::deque<ParamDeclaration>& params() const { return params_; }

  /// The files that were loaded, in the order of loading.
  const std::deque<std::unique_ptr<SourceModule>>& modules() const { return modules_; }
  /// Null when nobody listens.
  EvaluationObserver* observer() const { return options_.observer; }
  /// Remembers the constants that a dimension is written with, for messages.
  void add_written_dim(Loc written, std::vector<NamedPlace> constants);
  /// Those of the dimension written there; null for any other place.
  const std::vector<NamedPlace>* written_dim(Loc written) const;

  bool is_cancelled() const { return options_.is_cancelled && options_.is_cancelled(); }
  Budget& budget() { return budget_; }
  bool checks_promises() const { return options_.check_promises; }
  bool kernels_print() const { return options_.kernels_print; }
  /// How many instances of modules and params of theirs there are, with one more.
  size_t count_made() { return ++made_; }

  /// True for a place in the embedded standard library.
  bool is_builtin(Loc loc) const;
  void note_unordered_sum() { has_unordered_sums_ = true; }
  /// Whether a kernel adds to memory in nondeterministic order.
  bool has_unordered_sums() const { return has_unordered_sums_; }
  /// True the first time that it is called with this text, and errors are not only counted.
  bool say_once(std::string text) { return may_report() && said_.insert(std::move(text)).second; }
  /// While it lives, no more diagnostics are reported than that; errors that are not are counted.
  class Reports {
   public:
    Reports(Session& session, Reporting reporting) : session_(session), outer_(session.reporting_) {
      session.reporting_ = std::max(outer_, reporting);
    }
    ~Reports() { session_.reporting_ = outer_; }
    Reports(const Reports&) = delete;

   private:
    Session& session_;
    Reporting outer_;
  };
  /// A kind of diagnostic at a place.
  using Said = std::tuple<uint16_t, FileId, uint32_t, uint32_t>;
  /// The same with its message, which may be about other values each time; that a number is none of a dtype is said of
  /// all that have a fraction.
  using SaidText = std::pair<Said, std::string>;
  /// While it lives, what would be reported is noted instead.
  class Trial {
   public:
    explicit Trial(Session& session) : session_(session), outer_(session.trial_) { session.trial_ = this; }
    ~Trial() { session_.trial_ = outer_; }
    Trial(const Trial&) = delete;
    size_t errors() const { return errors_; }
    const std::set<SaidText>& found() const { return found_; }

   private:
    friend class Session;
    Session& session_;
    Trial* outer_;
    size_t errors_ = 0;
    std::set<SaidText> found_;
  };
  bool is_trial() const { return trial_ != nullptr; }
  /// While it lives, nothing else is reported.
  class Only {
   public:
    Only(Session& session, const std::set<SaidText>& said) : session_(session) { session.only_ = &said; }
    ~Only() { session_.only_ = nullptr; }
    Only(const Only&) = delete;

   private:
    Session& session_;
  };
  /// Errors so far, said or not.
  size_t error_count() const { return diagnostics_->error_count() + unsaid_errors_; }
  /// Whether there are so many errors that no more are kept: what would help with another is not looked for.
  bool drops_errors() const;

  /// Reports, unless the same diagnostic was already reported at that place.
  template <int N, typename... Args>
  DiagnosticEngine::Builder report(DiagKind<N> kind, Loc loc, const Args&... args) {
    bool is_error = diag_info(kind.id).severity == Severity::Error;
    Said subject{subject_of(kind.id), loc.file, loc.line, loc.column};
    // Where the steps for what nothing calls end, what is found is of values that are not all there.
    bool is_cut = reporting_ != Reporting::All && budget_.is_spent();
    bool may_say = !is_cut && is_reported(kind.id, reporting_);
    if (may_say && (only_ || trial_)) {
      bool is_of_any = kind.id == DiagId::number_not_of_dtype;
      SaidText said{subject, is_of_any ? "" : fmt::format(fmt::runtime(diag_info(kind.id).text), args...)};
      may_say = !only_ || only_->count(said) != 0;
      if (trial_ && may_say) trial_->found_.insert(std::move(said));
    }
    if (trial_) trial_->errors_ += may_say && is_error;
    may_say = may_say && !trial_;
    bool says = may_say && reported_.insert(subject).second;
    if (!says) {
      unsaid_errors_ += !may_say && is_error;
      repeated_ = {};
      return DiagnosticEngine::Builder(&repeated_);
    }
    return diagnostics_->report(kind, loc, args...);
  }

 private:
  bool may_report() const { return reporting_ != Reporting::Nothing && !trial_; }
  struct Loading {
    SourceModule* module;
    Loc import;  ///< the statement of the importing file; unknown for the main file
  };
  void build_prelude();
  SourceModule* load(std::string name, FileId file, bool builtin, Loc import);
  void parse(SourceModule& module);
  SourceModule* report_cycle(const SourceModule& module, Loc import);
  /// A file that could not be read though something may be there.
  struct Attempt {
    std::string path, reason;
  };
  names::ModulePlace place_of(std::string_view dotted, const SourceModule& importer) const;
  /// The first of the paths that there is a file for; 0 when there is none.
  FileId find_import(std::span<const std::string> paths, std::vector<Attempt>& failed);

  // One kind of top-level statement each (resolve.cc).
  void load_imports(SourceModule& module);
  void enter_names(SourceModule& module);
  void enter(SourceModule& module, const ast::Stmt& stmt);
  void report_misplaced(const ast::Stmt& stmt);
  void enter_def(SourceModule& module, const ast::Def& def);
  void warn_of_schedules(const ast::Def& def);
  void enter_params(SourceModule& module, const ast::Param& stmt);
  void enter_module(SourceModule& module, const ast::Module& stmt);
  void check_module(const ast::Module& stmt, Scope& scope);
  bool check_field(const ast::Stmt& stmt, Scope& scope);
  void report_no_self(const ast::Def& def);
  void report_constructor(const ast::Module& stmt, const ast::Def& def);
  void enter_assignment(SourceModule& module, const ast::Assign& stmt);
  void enter_import(SourceModule& module, const ast::Import& stmt);
  void enter_from_import(SourceModule& module, const ast::FromImport& stmt);
  void suggest_member(DiagnosticEngine::Builder& builder, const SourceModule& module, const ast::ImportedName& item,
                      const std::string& nearest);
  bool is_new_import(SourceModule& module, const ast::ImportItem& item);
  bool is_new_name(SourceModule& module, const ast::Identifier& name);

  Context* context_;
  DiagnosticEngine* diagnostics_;
  SessionOptions options_;
  Budget budget_;
  Scope* prelude_ = nullptr;
  Scope* tile_scope_ = nullptr;
  std::deque<std::unique_ptr<Scope>> scopes_;
  std::deque<Function> functions_;
  std::deque<Namespace> namespaces_;  ///< of the language
  std::unique_ptr<Links> links_;
  std::deque<ParamDeclaration> params_;
  std::deque<ParamDeclaration> unlisted_params_;
  std::map<const ast::Module*, Datum> first_instances_;
  std::map<std::string_view, const ParamDeclaration*> params_by_key_;
  std::deque<std::unique_ptr<SourceModule>> modules_;
  std::map<FileId, SourceModule*> by_file_;
  std::map<FileId, std::set<std::string>> import_paths_;  ///< `a.b` of `import a.b` that are entered
  std::vector<Loading> loading_;
  std::map<std::pair<const ast::Def*, Scope*>, Signature> signatures_;
  std::deque<Signature> failed_signatures_;  ///< whose errors are not said
  std::map<std::pair<const ast::Def*, Scope*>, Function*> methods_;
  std::set<Said> reported_;
  std::map<std::tuple<FileId, uint32_t, uint32_t>, std::vector<NamedPlace>> written_dims_;
  mutable std::map<const ast::Node*, names::FreeNames> free_names_;
  std::map<FileId, names::FileNames> file_names_;
  std::set<std::string> said_;
  std::set<std::pair<FileId, std::string>> undefined_;
  size_t made_ = 0;
  bool has_unordered_sums_ = false;
  Reporting reporting_ = Reporting::All;
  Trial* trial_ = nullptr;
  const std::set<SaidText>* only_ = nullptr;
  size_t unsaid_errors_ = 0;
  Diagnostic repeated_{};
};

}  // namespace tessera::frontend
