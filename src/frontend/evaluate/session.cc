#include "frontend/evaluate/session.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "frontend/binding/words.h"
#include "frontend/evaluate/blame_names.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/evaluate/links.h"
#include "frontend/evaluate/placement.h"
#include "frontend/fixes/foreign.h"
#include "frontend/syntax/include_roots.h"
#include "frontend/values/builtins.h"
#include "frontend/values/embedded.h"
#include "frontend/values/tile_builtins.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

constexpr size_t import_chain_limit = 100;

/// Whether the system says no more than that a file is not there.
bool is_absence(std::string_view reason) { return reason == std::strerror(ENOENT) || reason == std::strerror(ENOTDIR); }

}  // namespace

Session::Session(Context& context, DiagnosticEngine& diagnostics, SessionOptions options)
    : context_(&context), diagnostics_(&diagnostics), options_(std::move(options)), budget_(options_.limits),
      links_(std::make_unique<Links>(*this)) {
  build_prelude();
}

Session::~Session() = default;

Scope* Session::new_scope(Scope* parent) {
  return new_scope(parent, parent ? parent->module() : nullptr);
}

Scope* Session::new_scope(Scope* parent, const SourceModule* module) {
  return scopes_.emplace_back(std::make_unique<Scope>(parent, module)).get();
}

Function* Session::new_function() {
  spending().bytes += int64_t(sizeof(Function));
  return &functions_.emplace_back();
}

const Signature& Session::signature(Evaluator& evaluator, const Function& function) {
  auto key = std::make_pair(function.def, function.scope);
  auto it = signatures_.find(key);
  if (it != signatures_.end()) return it->second;
  Signature signature = read_signature(evaluator, function);
  if (signature.failed && !may_report()) return failed_signatures_.emplace_back(std::move(signature));
  return signatures_.emplace(key, std::move(signature)).first->second;
}

const Signature* Session::known_signature(const Function& function) const {
  auto it = signatures_.find({function.def, function.scope});
  return it == signatures_.end() ? nullptr : &it->second;
}

void Session::build_prelude() {
  prelude_ = new_scope(nullptr, nullptr);
  auto add = [&](std::string_view name, Datum value) { prelude_->set(name, std::move(value), Loc{}); };
  for (std::string_view name : dtype_names()) add(name, Datum::dtype(*dtype_by_name(name)));
  // `int`, `float` and `bool` are dtypes and conversions; as names they are the conversions.
  for (const Builtin& builtin : common_builtins()) add(builtin.name, Datum::builtin(&builtin));
  for (const names::AliasRow& alias : names::aliases()) add(alias.text, prelude_->find_here(alias.function)->value);
  for (const std::string& kind : names::words_of(names::WordKind::Device)) {
    add(kind, Datum::object(std::make_shared<Device>(kind)));
  }
  add("INF", Datum::number(std::numeric_limits<double>::infinity()));
  add("NAN", Datum::number(std::numeric_limits<double>::quiet_NaN()));
  tile_scope_ = new_scope(nullptr, nullptr);
  for (const Builtin& builtin : tile_builtins()) tile_scope_->set(builtin.name, Datum::builtin(&builtin), Loc{});
  for (const std::string& space : names::words_of(names::WordKind::Namespace)) {
    Namespace& made = namespaces_.emplace_back();
    made = {space, {.kind = names::Linked::Kind::Language, .path = space}};
    add(space, Datum::name_space(&made));
  }
}

const names::FreeNames& Session::free_names(const ast::Node& definition) const {
  auto [it, fresh] = free_names_.try_emplace(&definition);
  if (fresh) it->second = names::free_names(sources(), definition);
  return it->second;
}

size_t Session::count_uses(Loc place, std::string_view name, bool members_only) {
  auto has_place = [&](const ast::Declaration& each) { return each.stmt->loc.file == place.file; };
  auto module = std::find_if(modules_.begin(), modules_.end(), [&](const auto& each) {
    const auto& declarations = each->unit.declarations;
    return each->file == place.file || std::any_of(declarations.begin(), declarations.end(), has_place);
  });
  if (module == modules_.end()) return 0;
  std::set<FileId> files;
  for (const ast::Declaration& each : (*module)->unit.declarations) files.insert(each.stmt->loc.file);
  size_t count = 0;
  for (FileId file : files) {
    auto [it, fresh] = file_names_.try_emplace(file);
    if (fresh) it->second = names::bind_names(sources(), file, (*module)->unit.declarations);
    std::string_view text = sources().file(file).text();
    for (const names::Occurrence& each : it->second.occurrences) {
      bool counts = !members_only || each.kind == names::OccurrenceKind::Member;
      count += counts && text.substr(each.range.begin, each.range.end - each.range.begin) == name;
    }
  }
  return count;
}

SourceModule* Session::load_file(FileId file) {
  return load(sources().file(file).name(), file, false, Loc{});
}

SourceModule* Session::load_library(std::string_view dotted) {
  names::ModulePlace place = names::place_of_module(dotted, "", true, {});
  std::optional<std::string_view> text;
  if (!place.paths.empty()) text = embedded_file(place.paths[0]);
  if (!text) return nullptr;
  std::string name = "stdlib/" + place.paths[0];
  FileId file = sources().find(name);
  if (file == 0) file = sources().add(name, std::string(*text));
  return load(std::string(dotted), file, true, Loc{});
}

FileId Session::find_import(std::span<const std::string> paths, std::vector<Attempt>& failed) {
  for (const std::string& path : paths) {
    if (options_.files) {
      if (FileId file = options_.files->find(path)) return file;
      continue;
    }
    FileId known = sources().find(path);
    if (known != 0 && sources().file(known).has_text()) return known;
    std::string text, reason;
    if (read_included(options_.parse, path, text, reason)) return sources().add(path, std::move(text));
    if (!is_absence(reason)) failed.push_back({path, reason});
  }
  return 0;
}

names::ModulePlace Session::place_of(std::string_view dotted, const SourceModule& importer) const {
  std::string_view own = sources().file(importer.file).name();
  return names::place_of_module(dotted, own, importer.builtin, options_.parse.include_paths);
}

SourceModule* Session::load_import(std::string_view dotted, Loc loc, const SourceModule& importer,
                                   std::span<const ast::ImportedName> wanted) {
  names::ModulePlace place = place_of(dotted, importer);
  if (place.kind == names::ModulePlace::Kind::Language) {
    report(diag::language_import, loc, dotted)
        .help("delete the import, and write its names as they are: @jit, Tensor, exp; 'from' gives them other names");
    return nullptr;
  }
  if (place.kind == names::ModulePlace::Kind::Library) {
    if (SourceModule* library = load_library(dotted)) return library;
    std::string_view last = dotted.substr(dotted.rfind('.') + 1);
    auto builder = report(diag::unknown_module, loc, dotted);
    if (builder.suggest(sources(), loc, last, {"nn", "ops", "stdlib"})) return nullptr;
    auto is_there = [&](const ast::ImportedName& each) { return is_in_library(each.name.text); };
    bool are_there = !wanted.empty() && std::ranges::all_of(wanted, is_there);
    are_there ? builder.fix("the functions of the library are in tessera.nn", loc, "tessera.nn")
              : builder.help("the functions of the library are in tessera.nn");
    return nullptr;
  }
  std::vector<Attempt> failed;
  FileId file = find_import(place.paths, failed);
  bool reads_disk = !options_.parse.read;
  if (file == 0 && reads_disk && !failed.empty()) {
    report(diag::cannot_read, loc, failed[0].path, failed[0].reason);
    return nullptr;
  }
  if (file == 0) {
    bool is_ours = names::is_word(dotted, names::WordKind::Namespace);
    std::string help = is_ours ? fmt::format("'{}' is built in: delete the import", dotted) : help_for_import(dotted);
    // The first import of such packages stands for all of them.
    if (!help.empty() && !is_ours && !is_first_use(loc.file, "import of packages")) return nullptr;
    if (help.empty()) help = "a module is a file 'name.tsr' beside the importing file or in a folder given with -I";
    auto builder = report(diag::unknown_module, loc, dotted);
    // The program's answer may be more specific than "no such file".
    for (const Attempt& each : failed) builder.note(Loc{}, fmt::format("tried '{}': {}", each.path, each.reason));
    std::string_view first = dotted.substr(0, dotted.find('.'));
    if (first == dotted || !builder.suggest(sources(), loc, first, {"tessera"})) builder.help(std::move(help));
    return nullptr;
  }
  return load(std::string(dotted), file, false, loc);
}

void Session::add_written_dim(Loc written, std::vector<NamedPlace> constants) {
  written_dims_[{written.file, written.line, written.column}] = std::move(constants);
}

const std::vector<NamedPlace>* Session::written_dim(Loc written) const {
  auto found = written_dims_.find({written.file, written.line, written.column});
  return found == written_dims_.end() ? nullptr : &found->second;
}

bool Session::drops_errors() const {
  auto is_error = [](const Diagnostic& diagnostic) { return diagnostic.severity == Severity::Error; };
  const std::vector<Diagnostic>& kept = diagnostics_->all();
  return !may_report() || size_t(std::count_if(kept.begin(), kept.end(), is_error)) < diagnostics_->error_count();
}

bool Session::is_builtin(Loc loc) const {
  auto module = by_file_.find(loc.file);
  return module != by_file_.end() && module->second->builtin;
}

SourceModule* Session::load(std::string name, FileId file, bool builtin, Loc import) {
  if (auto it = by_file_.find(file); it != by_file_.end()) {
    return it->second->loading ? report_cycle(*it->second, import) : it->second;
  }
  if (loading_.size() >= import_chain_limit) {
    report(diag::unsupported_include_depth, import, import_chain_limit);
    return nullptr;
  }
  if (import.known()) sources().set_included(file, import);
  SourceModule& module = *modules_.emplace_back(std::make_unique<SourceModule>());
  by_file_[file] = &module;
  module.name = std::move(name);
  module.file = file;
  module.builtin = builtin;
  module.scope = new_scope(prelude_, &module);
  if (!loading_.empty() || builtin) module.key_prefix = module.name;
  module.loading = true;
  loading_.push_back({&module, import});
  parse(module);
  loading_.pop_back();
  module.loading = false;
  return &module;
}

/// Reads the declarations of a module and enters their names. Broken ones of a file that a tool has
/// parsed stand for poison: what is wrong with them is said already.
void Session::parse(SourceModule& module) {
  std::vector<std::string> broken;
  if (options_.files && options_.files->declarations(module.file, module.unit, broken)) {
    // A tool may have a file for each declaration.
    for (const ast::Declaration& each : module.unit.declarations) by_file_.emplace(each.stmt->loc.file, &module);
  } else {
    size_t errors = diagnostics_->error_count();
    module.unit = parse_source(module.file, sources(), options_.parse, *diagnostics_);
    module.broken = diagnostics_->error_count() != errors;
  }
  links_->add(module, broken);
  load_imports(module);
  enter_names(module);
  for (const std::string& name : broken) {
    if (!module.scope->find_here(name)) module.scope->set(name, Datum::poison(), Loc{});
  }
}

SourceModule* Session::report_cycle(const SourceModule& module, Loc import) {
  auto builder = report(diag::import_cycle, import, sources().file(module.file).name());
  bool inside = false;
  for (const Loading& loading : loading_) {
    if (inside) {
      std::string_view name = sources().file(loading.module->file).name();
      builder.note(loading.import, fmt::format("'{}' is imported here", name), NoteKind::Import);
    }
    inside = inside || loading.module == &module;
  }
  builder.help("move what both files need into a third one");
  return nullptr;
}

}  // namespace tessera::frontend
