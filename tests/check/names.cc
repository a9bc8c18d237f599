#include "check/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "check/compare_links.h"
#include "check/random.h"
#include "frontend/binding/names.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/evaluate/session.h"
#include "frontend/fixes/operand_text.h"
#include "frontend/values/observer.h"
#include "frontend/values/scope.h"
#include "ir/graph/ops.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::check {

namespace {

using frontend::Binding;
using frontend::Function;
using frontend::Scope;
using frontend::Session;
using frontend::source_text;
using names::FileNames;
using names::Occurrence;
using names::OccurrenceKind;

class Comparer : public frontend::EvaluationObserver {
 public:
  explicit Comparer(const SourceManager& sources) : sources_(sources), links_(sources) {}

  void started(Session& session) override {
    session_ = &session;
    links_.started(session);
  }

  void bound(std::string_view name, Loc loc, const frontend::Datum& value) override {
    bool is_main = session_->modules()[0]->file == loc.file;
    if (is_main) values_[std::string(name)] = to_text(value);
  }

  void evaluated(const ast::Expr& expr, const frontend::Datum& value) override {
    const ast::Expr* first = &expr;
    while (const auto* member = ast::as<ast::Attribute>(first)) first = member->object;
    const auto* name = ast::as<ast::Name>(first);
    const Occurrence* found = nullptr;
    bool is_free = name && find(name->text, name->loc, found) && found && found->kind == OccurrenceKind::Free;
    std::string difference = is_free ? links_.compare(expr, value) : "";
    if (!difference.empty()) out_.differences.push_back(place(source_text(sources_, expr.loc), expr.loc) + difference);
  }

  void returned(const Function&, const frontend::Datum&, const std::set<std::string>&) override {
    constants_ = links_.constants();
  }

  /// What the constants of the main file had to be, after the evaluation.
  void check(const std::map<std::string, std::string>& wanted) {
    for (const auto& [name, value] : wanted) {
      auto found = values_.find(name);
      std::string had = found == values_.end() ? "" : found->second;
      if (had != value) {
        out_.differences.push_back(fmt::format("'{}' is '{}' in the evaluation, not '{}'", name, had, value));
      }
      bool exists = constants_[name];
      if (exists == value.empty()) out_.differences.push_back(fmt::format("what '{}' names is {} by its text", name,
                                                                          exists ? "there" : "lacking"));
    }
  }

  void named(std::string_view name, Loc loc, const Scope& scope, const Binding& binding) override {
    const Occurrence* found = nullptr;
    const FileNames* names = find(name, loc, found);
    if (!names) return;
    ++out_.lookups;
    bool is_file = &scope == scope.module_scope(), is_prelude = !scope.parent();
    if (!found || (found->kind != OccurrenceKind::Local && found->kind != OccurrenceKind::Free)) {
      differ(name, loc, "no name of a scope", "a name of one");
    } else if (found->kind == OccurrenceKind::Free) {
      bool declared = declares(*names, name);
      if (!is_file && !is_prelude) differ(name, loc, "a name of the file or the language", "a local");
      if (declared && is_prelude) differ(name, loc, "a name of the file", "one of the language");
    } else {
      check_local(*names, *found, name, loc, binding, is_file || is_prelude);
    }
  }

  /// Of a name that nothing defines, after the evaluation.
  void unknown(Loc loc) {
    session_ = nullptr;
    std::string name = source_text(sources_, loc);
    const Occurrence* found = nullptr;
    const FileNames* names = find(name, loc, found);
    if (!names || (found && found->writes && found->is_certain)) return;  // the definition is at fault
    ++out_.unknown;
    bool may_be = found && (found->kind == OccurrenceKind::Free || !found->is_certain);
    if (!may_be) differ(name, loc, "a name with a value", "an unknown name");
    if (may_be && declares(*names, name)) differ(name, loc, "a name of the file", "an unknown name");
  }

  NameComparison take() {
    out_.links = links_.links();
    return std::move(out_);
  }

 private:
  void check_local(const FileNames& names, const Occurrence& use, std::string_view name, Loc loc,
                   const Binding& binding, bool is_outer) {
    const names::Local& local = names.locals[size_t(use.local)];
    out_.uncertain += !use.is_certain;
    // A size of a signature is one of the file where that has it.
    if (local.kind == names::SymbolKind::Size || !use.is_certain) return;
    if (is_outer) return differ(name, loc, "a local", "a name of the file or the language");
    if (binding.loc.file != loc.file) return;
    TextRange place = place_in(sources_, binding.loc);
    const Occurrence* given = names.beginning_at(place.begin);
    bool is_other = given && given->kind == OccurrenceKind::Local && given->writes && given->local != use.local &&
                    names.locals[size_t(given->local)].name == name;
    if (is_other) differ(name, loc, "a local", fmt::format("another of line {}", binding.loc.line));
  }

  static bool declares(const FileNames& names, std::string_view name) {
    return std::any_of(names.declared.begin(), names.declared.end(),
                       [&](const names::Declared& each) { return each.name == name; });
  }

  /// The names of the file of a place, and the one that is there; null where the text has something else.
  const FileNames* find(std::string_view name, Loc loc, const Occurrence*& found) {
    if (!loc.known() || source_text(sources_, {loc.file, loc.line, loc.column, uint32_t(name.size())}) != name) {
      return nullptr;
    }
    auto [it, fresh] = files_.try_emplace(loc.file);
    if (fresh && session_) {
      for (const auto& module : session_->modules()) {
        if (module->file == loc.file) it->second = names::bind_names(sources_, loc.file, module->unit.declarations);
      }
    }
    found = it->second.beginning_at(place_in(sources_, loc).begin);
    bool is_other = found && found->range.end - found->range.begin != name.size();  // it begins like the name
    return is_other || it->second.occurrences.empty() ? nullptr : &it->second;
  }

  std::string place(std::string_view name, Loc loc) const {
    return fmt::format("{}:{}:{}: '{}' ", sources_.file(loc.file).name(), loc.line, loc.column, name);
  }

  void differ(std::string_view name, Loc loc, std::string_view binder, std::string_view evaluation) {
    out_.differences.push_back(place(name, loc) +
                               fmt::format("is {} by its text, and {} in the evaluation", binder, evaluation));
  }

  const SourceManager& sources_;
  Session* session_ = nullptr;
  std::map<FileId, FileNames> files_;
  LinkComparer links_;
  std::map<std::string, std::string> values_;  ///< of constants of the main file
  std::map<std::string, bool> constants_;
  NameComparison out_;
};

class ScopesWriter {
 public:
  explicit ScopesWriter(uint64_t seed) : random_(seed) {}

  std::string write() {
    for (const char* name : {"a", "b"}) {
      if (!random_.one_in(3)) text_ += fmt::format("const {} = {}\n", name, random_.pick(4));
    }
    text_ += "\ndef helper(c, d):\n";
    body(1, 3, "c");
    text_ += "\n@jit\ndef f(x: Tensor[4, f32]) -> Tensor[4, f32]:\n    e = helper(1, 2)\n";
    body(1, 6, "e");
    text_.erase(text_.rfind("    return"));
    text_ += fmt::format("    return x * float({})\n", expression(2));
    return text_;
  }

 private:
  std::string name() { return std::string(random_.of<std::string_view>({"a", "b", "c", "d", "e"})); }

  std::string expression(int depth) {
    size_t form = depth > 0 ? random_.pick(9) : random_.pick(3);
    if (form == 0) return std::to_string(random_.pick(5));
    if (form < 5) return name();
    std::string inner = expression(depth - 1), variable = name();
    if (form == 5) return fmt::format("(lambda {}: {})({})", variable, inner, expression(depth - 1));
    if (form == 6) return fmt::format("[{} for {} in range({}, 3)][0]", inner, variable, random_.pick(3));
    return fmt::format("({} + {})", inner, expression(depth - 1));
  }

  void line(int depth, const std::string& text) { text_ += std::string(size_t(depth) * 4, ' ') + text + "\n"; }

  /// Statements, and a return.
  void body(int depth, size_t count, const std::string& safe) {
    for (size_t i = 0; i < count; ++i) statement(depth);
    line(depth, fmt::format("return {}", random_.one_in(2) ? safe : expression(1)));
  }

  void block(int depth) {
    for (size_t i = 0, n = 1 + random_.pick(2); i < n; ++i) statement(depth);
  }

  void statement(int depth) {
    switch (depth < 4 ? random_.pick(9) : random_.pick(3)) {
      case 0:
      case 1: return line(depth, fmt::format("{} = {}", name(), expression(2)));
      case 2: return line(depth, fmt::format("{} += {}", name(), expression(1)));
      case 3: return line(depth, fmt::format("{}, {} = {}, {}", name(), name(), expression(1), expression(1)));
      case 4:
        line(depth, fmt::format("if {}:", random_.one_in(2) ? "1 < 2" : "2 < 1"));
        block(depth + 1);
        if (random_.one_in(3) && depth > 1) line(depth + 1, fmt::format("return {}", expression(1)));
        if (random_.one_in(2)) return;
        line(depth, "else:");
        return block(depth + 1);
      case 5:
        line(depth, fmt::format("for {} in range({}):", name(), random_.pick(3)));
        return block(depth + 1);
      case 6:
      case 7: {
        std::string parameter = name(), function = fmt::format("g{}", functions_++);
        line(depth, fmt::format("def {}({}):", function, parameter));
        body(depth + 1, 1 + random_.pick(2), parameter);
        return line(depth, fmt::format("{} = {}({})", name(), function, expression(1)));
      }
      default: return line(depth, fmt::format("const {} = {}", name(), expression(1)));
    }
  }

  Random random_;
  std::string text_;
  int functions_ = 0;
};

}  // namespace

NameComparison compare_names(SourceManager& sources, const ComparedProgram& program) {
  Context context;
  graph::register_ops(context);
  schedule::register_ops(context);
  DiagnosticEngine diagnostics(sources);
  Comparer comparer(sources);
  frontend::FrontendOptions options;
  options.observer = &comparer;
  options.kernels_for = program.kernels_for;
  if (program.texts) {
    options.include_paths = {"."};
    options.read = [&](const std::string& path, std::string& text, std::string& error) {
      auto found = program.texts->find(path);
      if (found == program.texts->end()) error = "no such file";
      if (found != program.texts->end()) text = found->second;
      return error.empty();
    };
  }
  (void)frontend::compile_source(context, program.file, options, diagnostics);
  for (const Diagnostic& said : diagnostics.all()) {
    if (said.id == diag::unknown_name.id) comparer.unknown(said.loc);
  }
  if (program.values) comparer.check(*program.values);
  return comparer.take();
}

std::string random_scopes(uint64_t seed) { return ScopesWriter(seed).write(); }

}  // namespace tessera::check
