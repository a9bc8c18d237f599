#include "lsp/workspace/analysis.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "api/frontend_compile.h"
#include "frontend/binding/import_place.h"
#include "frontend/file_check.h"
#include "frontend/evaluate/session.h"
#include "frontend/index/collector.h"
#include "frontend/uncalled_check.h"
#include "ir/graph/ops.h"
#include "ir/schedule/ops.h"
#include "lsp/model/dependencies.h"
#include "frontend/syntax/text_range.h"
#include "lsp/workspace/library_files.h"
#include "lsp/workspace/piece_places.h"
#include "support/diagnostic_rows.h"
#include "support/hash.h"
#include "support/render/remarks.h"

namespace tessera::lsp {

namespace {

/// More are counted and dropped.
constexpr size_t error_limit = max_diagnostics;
/// Files of more declarations are compiled as a whole: what is kept of each takes memory.
constexpr size_t most_pieces = 100'000;
/// The machine for which kernels are built to find their errors: the one that every build has.
constexpr std::string_view checked_machine = "cpu:x86-64-v3";

/// Diagnostics of the front end, with places in the texts of documents.
class Placer {
 public:
  Placer(const SourceManager& sources, const FileModel& file) : sources_(sources), file_(file) {}

  /// Places of the piece are in that file from now on.
  void add(const FileModel& file, const Piece& piece) { pieces_[piece.file] = {&file, &piece}; }
  PlacedDiagnostic place(const Diagnostic& diagnostic) const {
    PlacedDiagnostic made;
    auto [path, range] = place(diagnostic.loc);
    made.path = path.empty() ? file_.path() : path;
    made.range = range;
    made.severity = diagnostic.severity;
    made.id = diagnostic.id;
    made.message = escape_control(diagnostic.message);
    made.helps = advice(diagnostic);
    for (const Fix& fix : diagnostic.fixes) {
      PlacedFix& placed = made.fixes.emplace_back();
      placed.message = fix.message;
      for (const Edit& edit : fix.edits) {
        auto [where, there] = place(edit.loc);
        placed.edits.push_back({where, there, edit.replacement});
      }
    }
    for (const DiagnosticNote& note : remarks(diagnostic)) {
      auto [where, there] = place(note.loc);
      made.notes.push_back({where, there, note.message});
    }
    return made;
  }

 private:
  std::pair<std::string, Range> place(Loc loc) const {
    if (loc.file == 0 || !loc.known()) return {"", {0, 0}};
    Range range = place_in(sources_, loc);
    auto found = pieces_.find(loc.file);
    if (found == pieces_.end()) return {sources_.file(loc.file).name(), range};
    auto [file, piece] = found->second;
    return {file->path(), piece->in_document(range)};
  }

  const SourceManager& sources_;
  const FileModel& file_;
  std::unordered_map<FileId, std::pair<const FileModel*, const Piece*>> pieces_;
};

/// The values to collect for hovers.
constexpr frontend::CollectorOptions collected{.names_only = true, .values = 4};

frontend::FrontendOptions front_end_options(const WorkspaceOptions& options, frontend::IndexCollector& collector) {
  frontend::FrontendOptions made;
  made.include_paths = options.include_paths;
  for (const auto& [name, value] : options.defines) made.defines.emplace_back(name, value);
  made.observer = &collector;
  made.kernels_for = checked_machine;
  return made;
}

/// Adds diagnostics, up to a limit. Where several declarations report one error in a declaration
/// that they use, the first report is taken, as in a compilation, which reports it once.
class DiagnosticCollector {
 public:
  DiagnosticCollector(const Placer& placer, AnalysisResult& result) : placer_(placer), result_(result) {}

  void add(const std::vector<Diagnostic>& list) {
    ++lists_;
    for (const Diagnostic& diagnostic : list) add(diagnostic);
  }

 private:
  using Key = std::tuple<std::string, uint32_t, uint16_t, std::string>;
  struct Said {
    size_t list = 0;
    std::set<std::string> messages;
  };

  void add(const Diagnostic& diagnostic) {
    if (result_.diagnostics.size() >= max_diagnostics) {
      result_.is_cut = true;
      return;
    }
    PlacedDiagnostic placed = placer_.place(diagnostic);
    // A name that nothing defines is one error, wherever it is used in a file.
    bool is_name = placed.id == diag::unknown_name.id;
    uint32_t place = is_name ? 0 : placed.range.begin;
    Key key = {placed.path, place, frontend::subject_of(placed.id), is_name ? placed.message : ""};
    Said& said = said_.try_emplace(std::move(key), Said{lists_, {}}).first->second;
    bool is_news = said.list == lists_ && said.messages.insert(placed.message).second;
    if (is_news) result_.diagnostics.push_back(std::move(placed));
  }

  const Placer& placer_;
  AnalysisResult& result_;
  std::map<Key, Said> said_;
  size_t lists_ = 0;
};

/// Adds the sizes and guards of the entries from `first` on.
void add_entries(Op* first, DeclarationResult& result) {
  for (Op* function = first; function; function = function->next()) {
    bool is_entry = function->attr(graph::attr::Func::role) == "entry";
    if (is_entry) result.entries.push_back({function->loc(), api::validate_shapes(function, {})});
  }
}

/// A file that includes others is compiled from its text; its pieces get the values of its names
/// all the same.
AnalysisResult analyse_whole(Workspace& workspace, const FileModel& file, const std::function<bool()>& is_cancelled) {
  AnalysisResult result;
  std::set<std::string> read;
  SourceManager sources;
  FileId main = sources.add(file.path(), file.text());
  tessera::Context context;
  DiagnosticEngine diagnostics(sources);
  diagnostics.set_error_limit(error_limit);
  frontend::IndexCollector collector(collected);
  frontend::FrontendOptions options = front_end_options(workspace.options, collector);
  options.read = [&](const std::string& path, std::string& text, std::string& error) {
    read.insert(path);
    return workspace.read(path, text, error);
  };
  options.is_cancelled = is_cancelled;
  Result<api::ModuleIr> ir = api::frontend_compile(context, main, options, diagnostics);
  result.finished = !is_cancelled();
  if (!result.finished) return result;
  auto everything = std::make_shared<DeclarationResult>();
  everything->index = collector.take();
  if (ir) add_entries(ir->graph->body()->front(), *everything);
  move_to_pieces(*everything, sources, main, file);
  if (!file.pieces().empty()) result.sources = file.pieces()[0]->sources;
  DiagnosticCollector(Placer(sources, file), result).add(diagnostics.all());
  result.declarations.push_back(std::move(everything));
  result.files.assign(read.begin(), read.end());
  return result;
}

/// The front end's files: pieces of documents and of files on disk.
class PieceFiles : public frontend::ParsedFiles {
 public:
  PieceFiles(Workspace& workspace, LibraryTrees& library, SourceManager& sources)
      : workspace_(workspace), library_(library), sources_(sources) {}

  FileId find(const std::string& path) override {
    asked_.insert(path);
    FileModel* file = workspace_.model(path);
    if (!file) return 0;
    has_whole_ = has_whole_ || file->is_whole();
    used_.insert(file);
    return sources_.intern_name(path);
  }

  bool declarations(FileId file, ast::SourceUnit& unit, std::vector<std::string>& broken) override {
    unit.file = file;
    std::string path = sources_.file(file).name();
    if (path.starts_with(library_folder)) return library_file(file, unit);
    FileModel* model = workspace_.model(path);
    if (!model) return true;
    for (const std::shared_ptr<Piece>& piece : model->pieces()) {
      for (const ast::Declaration& declaration : piece->declarations) {
        if (!declaration.has_error && declaration.stmt->loc.file == piece->file) {
          unit.declarations.push_back({nullptr, declaration.stmt, declaration.token_hash, false});
          continue;
        }
        for (const Declared& declared : piece->names.declared) {
          if (!declared.stmt || declared.stmt == declaration.stmt) broken.push_back(declared.name);
        }
      }
    }
    return true;
  }

  /// A file that was asked for includes others.
  bool has_whole() const { return has_whole_; }
  const std::set<std::string>& asked() const { return asked_; }
  const std::set<const FileModel*>& used() const { return used_; }

 private:
  /// Read once; what is given out does not own its trees.
  bool library_file(FileId file, ast::SourceUnit& unit) {
    auto known = library_.units.find(file);
    if (known == library_.units.end()) {
      DiagnosticEngine none(sources_);
      known = library_.units.emplace(file, parse_source(file, sources_, {}, none)).first;
    }
    for (const ast::Declaration& declaration : known->second.declarations) {
      unit.declarations.push_back({nullptr, declaration.stmt, declaration.token_hash, false});
    }
    return true;
  }

  Workspace& workspace_;
  LibraryTrees& library_;
  SourceManager& sources_;
  std::set<std::string> asked_;
  std::set<const FileModel*> used_;
  bool has_whole_ = false;
};

/// The names of a file, of which diagnostics may suggest one, and the pieces that a fix may add an import to.
uint64_t hash_of_names(const FileModel& file) {
  uint64_t hash = 0;
  bool is_first = true;
  for (const std::shared_ptr<Piece>& piece : file.pieces()) {
    for (const Declared& declared : piece->names.declared) hash = hash_combine(hash, hash64(declared.name));
    bool may_import = std::ranges::any_of(piece->declarations, [&](const ast::Declaration& each) {
      bool is_import = each.stmt->kind == ast::NodeKind::Import || each.stmt->kind == ast::NodeKind::FromImport;
      return is_import || std::exchange(is_first, is_first && is_docstring(*each.stmt));
    });
    if (may_import) hash = hash_combine(hash, piece->file);
  }
  return hash;
}

/// One analysis of a file by its pieces.
class PieceAnalysis {
 public:
  PieceAnalysis(Workspace& workspace, const FileModel& file, AnalysisCache& cache, LibraryTrees& library)
      : workspace_(workspace),
        file_(file),
        cache_(cache),
        sources_(*workspace.store().sources()),
        files_(workspace, library, sources_),
        diagnostics_(sources_),
        dependencies_(file) {
    diagnostics_.set_error_limit(error_limit);
    names_ = hash_of_names(file);
  }

  /// False: it has to be compiled as a whole.
  bool run(const std::function<bool()>& is_cancelled, AnalysisResult& result);

 private:
  struct Checked {
    uint64_t key = 0;
    size_t piece = 0;
    std::shared_ptr<const DeclarationResult> result;
    bool fresh = false;
  };
  using Step = std::function<void(size_t)>;

  void load(const std::function<bool()>& is_cancelled);
  void note_functions(const DeclarationResult& result);
  std::shared_ptr<DeclarationResult> collected_result();
  Checked look_at(size_t index, const Step& step, uint64_t salt);
  std::vector<Diagnostic> reported_since(size_t first) const {
    const auto& all = diagnostics_.all();
    return {all.begin() + ptrdiff_t(std::min(first, all.size())), all.end()};
  }
  void check_the_rest(const std::function<bool()>& is_cancelled);
  void check_names();
  void keep_reusable();
  void drop_consequences(std::vector<Diagnostic>& list) const;
  void collect(AnalysisResult& result);

  Workspace& workspace_;
  const FileModel& file_;
  AnalysisCache& cache_;
  SourceManager& sources_;
  PieceFiles files_;
  DiagnosticEngine diagnostics_;
  Dependencies dependencies_;
  tessera::Context context_;
  frontend::IndexCollector collector_{collected};
  std::unique_ptr<frontend::FileCheck> check_;
  uint64_t names_ = 0;    ///< that the file declares, and its imports
  uint64_t imports_ = 0;  ///< of the states of the files that are imported
  std::vector<Checked> checked_;
  std::vector<Diagnostic> loaded_, finished_;  ///< of no declaration: before all of them, and behind
  std::vector<std::shared_ptr<const DeclarationResult>> unowned_;  ///< facts of no declaration
  std::set<std::pair<FileId, uint32_t>> ran_;                       ///< functions, by file and line
};

void PieceAnalysis::load(const std::function<bool()>& is_cancelled) {
  graph::register_ops(context_);
  schedule::register_ops(context_);
  frontend::FrontendOptions options = front_end_options(workspace_.options, collector_);
  options.is_cancelled = is_cancelled;
  check_ = std::make_unique<frontend::FileCheck>(context_, files_, options, diagnostics_);
  check_->load(sources_.intern_name(file_.path()));
  unowned_.push_back(collected_result());
  for (const FileModel* file : files_.used()) imports_ = hash_combine(imports_, file->stamp());
}

void PieceAnalysis::note_functions(const DeclarationResult& result) {
  for (const frontend::FunctionFacts& function : result.index.functions) {
    ran_.insert({function.loc.file, function.loc.line});
  }
}

/// The facts since the last time.
std::shared_ptr<DeclarationResult> PieceAnalysis::collected_result() {
  auto result = std::make_shared<DeclarationResult>();
  result->index = collector_.take();
  note_functions(*result);
  return result;
}

PieceAnalysis::Checked PieceAnalysis::look_at(size_t index, const Step& step, uint64_t salt) {
  Checked made;
  Loc loc = check_->declaration(index).loc;
  made.piece = dependencies_.piece_of(loc.file);
  uint64_t place = hash_combine(uint64_t(loc.line) << 32 | loc.column, salt);
  made.key = hash_combine(hash_combine(dependencies_.key(made.piece), imports_), place);
  auto known = cache_.results.find(made.key);
  if (known != cache_.results.end() && (known->second->diagnostics.empty() || known->second->names == names_)) {
    made.result = known->second;
    note_functions(*made.result);
    return made;
  }
  size_t before = diagnostics_.all().size();
  Op* last = check_->entries()->back();
  step(index);
  std::shared_ptr<DeclarationResult> result = collected_result();
  add_entries(last ? last->next() : check_->entries()->front(), *result);
  result->diagnostics = reported_since(before);
  result->names = names_;
  made.result = std::move(result);
  made.fresh = true;
  return made;
}

/// Functions and methods that nothing has run.
void PieceAnalysis::check_the_rest(const std::function<bool()>& is_cancelled) {
  auto was_run = [&](const ast::Def& def) { return ran_.count({def.name.loc.file, def.name.loc.line}) != 0; };
  auto check = [&](size_t index) { check_->check_uncalled(index, was_run); };
  for (size_t i = 0; i < check_->declaration_count() && !is_cancelled(); ++i) {
    const ast::Stmt& declaration = check_->declaration(i);
    uint64_t rest = 0;  // which functions of it were not run
    auto note = [&](const ast::Stmt& stmt) {
      const auto* def = ast::as<ast::Def>(&stmt);
      if (def && frontend::UncalledCheck::lacks_run(*def, was_run)) rest = hash_combine(rest + 1, def->name.loc.line);
    };
    note(declaration);
    const auto* module = ast::as<ast::Module>(&declaration);
    for (const ast::Stmt* stmt : module ? module->body : ast::StmtList()) note(*stmt);
    if (rest != 0) checked_.push_back(look_at(i, check, rest));
  }
}

/// Of a file without errors, as the compiler does. Lines that a condition leaves out may use a name: their words are
/// not in the pieces.
void PieceAnalysis::check_names() {
  auto has_error = [](const std::vector<Diagnostic>& list) {
    return std::ranges::any_of(list, [](const Diagnostic& each) { return each.severity == Severity::Error; });
  };
  bool has_errors = has_error(diagnostics_.all());
  for (const std::shared_ptr<Piece>& piece : file_.pieces()) has_errors |= has_error(piece->diagnostics);
  for (const Checked& checked : checked_) has_errors |= has_error(checked.result->diagnostics);
  if (has_errors || file_.has_directives()) return;
  size_t before = diagnostics_.all().size();
  check_->check_names();
  for (Diagnostic& diagnostic : reported_since(before)) finished_.push_back(std::move(diagnostic));
}

/// An error in a declaration that several use is reported for the first of them alone. The results
/// of the others would hide it when the first one changes: they are not kept.
void PieceAnalysis::keep_reusable() {
  if (check_->is_spent()) return cache_.results.clear();  // results after the end of the budget are incomplete
  std::vector<Reporters> reporters(dependencies_.size());
  auto note = [&](const Diagnostic& diagnostic, const DeclarationResult* reporter) {
    size_t piece = dependencies_.find(diagnostic.loc.file);
    if (piece < reporters.size()) reporters[piece].add(reporter);
  };
  for (const Diagnostic& diagnostic : loaded_) note(diagnostic, nullptr);
  for (const Diagnostic& diagnostic : finished_) note(diagnostic, nullptr);
  for (const Checked& checked : checked_) {
    for (const Diagnostic& diagnostic : checked.result->diagnostics) note(diagnostic, checked.result.get());
  }
  std::vector<Reporters> reached = dependencies_.reached(reporters);
  std::map<uint64_t, std::shared_ptr<const DeclarationResult>> kept;
  for (const Checked& checked : checked_) {
    bool good = !dependencies_.uses_entry(checked.piece) && reached[checked.piece].at_most(checked.result.get());
    if (good) kept[checked.key] = checked.result;
  }
  cache_.results = std::move(kept);
}

/// The evaluation goes on around pieces that do not parse; drops diagnostics that the compiler
/// would not report.
void PieceAnalysis::drop_consequences(std::vector<Diagnostic>& list) const {
  std::set<FileId> broken;
  std::set<std::string_view> words;
  for (const std::shared_ptr<Piece>& piece : file_.pieces()) {
    if (piece->diagnostics.empty()) continue;
    broken.insert(piece->file);
    words.insert(piece->words.begin(), piece->words.end());
  }
  std::erase_if(list, [&](const Diagnostic& said) {
    if (broken.count(said.loc.file)) return true;
    Range name = said.id == diag::unknown_name.id ? place_in(sources_, said.loc) : Range{};
    return name.end > name.begin &&
           words.count(sources_.file(said.loc.file).text().substr(name.begin, name.end - name.begin)) != 0;
  });
}

void PieceAnalysis::collect(AnalysisResult& result) {
  Placer placer(sources_, file_);
  DiagnosticCollector collector(placer, result);
  auto add_file = [&](const FileModel& file) {
    for (const std::shared_ptr<Piece>& piece : file.pieces()) placer.add(file, *piece);
  };
  add_file(file_);
  for (const FileModel* file : files_.used()) add_file(*file);
  auto add_syntax = [&](const FileModel& file) {
    for (const std::shared_ptr<Piece>& piece : file.pieces()) collector.add(piece->diagnostics);
  };
  add_syntax(file_);
  for (const FileModel* file : files_.used()) {
    if (file != &file_) add_syntax(*file);
  }
  auto add_evaluated = [&](std::vector<Diagnostic> list) {
    drop_consequences(list);
    collector.add(list);
  };
  add_evaluated(loaded_);
  result.declarations = unowned_;
  for (const Checked& checked : checked_) {
    add_evaluated(checked.result->diagnostics);
    result.declarations.push_back(checked.result);
    result.evaluated += checked.fresh ? 1 : 0;
  }
  add_evaluated(finished_);
  result.files.assign(files_.asked().begin(), files_.asked().end());
}

bool PieceAnalysis::run(const std::function<bool()>& is_cancelled, AnalysisResult& result) {
  load(is_cancelled);
  if (files_.has_whole()) return false;
  loaded_ = diagnostics_.all();
  for (size_t i = 0; i < check_->declaration_count(); ++i) {
    if (is_cancelled()) {
      result.finished = false;
      return true;
    }
    checked_.push_back(look_at(i, [&](size_t index) { check_->check(index); }, 0));
  }
  size_t before = diagnostics_.all().size();
  check_->finish();
  unowned_.push_back(collected_result());
  finished_ = reported_since(before);
  check_the_rest(is_cancelled);
  result.finished = !is_cancelled();
  if (!result.finished) return true;
  keep_reusable();
  check_names();
  collect(result);
  return true;
}

AnalysisResult analyse_text(Workspace& workspace, const FileModel& file, AnalysisCache& cache, LibraryTrees& library,
                            const std::function<bool()>& is_cancelled) {
  if (file.is_library()) return {};  // correct, and the front end's own
  if (file.is_whole() || file.pieces().size() > most_pieces) return analyse_whole(workspace, file, is_cancelled);
  const std::shared_ptr<SourceManager>& sources = workspace.store().sources();
  if (cache.sources != sources) cache = {sources, {}};
  if (library.sources != sources) library = {sources, {}};
  AnalysisResult result;
  result.sources = sources;
  if (PieceAnalysis(workspace, file, cache, library).run(is_cancelled, result)) return result;
  return analyse_whole(workspace, file, is_cancelled);
}

}  // namespace

AnalysisResult analyse(Workspace& workspace, const FileModel& file, AnalysisCache& cache, LibraryTrees& library,
                       const std::function<bool()>& is_cancelled) {
  // An abandoned analysis stays incomplete.
  bool is_given_up = false;
  auto gives_up = [&] { return is_given_up = is_given_up || is_cancelled(); };
  AnalysisResult result = analyse_text(workspace, file, cache, library, gives_up);
  result.stamp = file.stamp();
  return result;
}

}  // namespace tessera::lsp
