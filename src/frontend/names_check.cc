#include "frontend/names_check.h"

#include <algorithm>
#include <map>
#include <set>

#include "frontend/binding/names.h"
#include "frontend/binding/words.h"
#include "frontend/evaluate/links.h"
#include "frontend/fixes/operand_text.h"
#include "frontend/syntax/ast_walk.h"
#include "frontend/values/modules.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

using NameSet = std::set<std::string_view>;

void append_names(const ast::Node* node, NameSet& names) {
  if (!node) return;
  ast::walk(*node, [&](const ast::Node& each) {
    if (const auto* name = ast::as<ast::Name>(&each)) names.insert(name->text);
    if (const auto* text = ast::as<ast::String>(&each)) names.insert(text->value);
  });
}

/// The names that stand alone as parts of a type, so that arguments give them values: D, and not 2 * D.
void append_bound(const ast::Node* annotation, NameSet& names) {
  if (!annotation) return;
  ast::walk(*annotation, [&](const ast::Node& each) {
    const auto* subscript = ast::as<ast::Subscript>(&each);
    const auto* type = subscript ? ast::as<ast::Name>(subscript->object) : nullptr;
    if (type && type->text == "OptimizerState") return;  // of a param, which it names
    for (const ast::Expr* part : subscript ? subscript->indices : ast::ExprList()) {
      const auto* policy = ast::as<ast::Binary>(part);
      if (policy && policy->op == ast::BinaryOp::MatMul) part = ast::left_spine(*part).back()->left;
      if (const auto* name = ast::as<ast::Name>(part)) names.insert(name->text);
      if (const auto* text = ast::as<ast::String>(part)) names.insert(text->value);
    }
  });
}

/// Whether a body says that it is not written yet: `...` stands for the rest.
bool is_sketch(const ast::Def& def) {
  bool found = false;
  auto look = [&](const ast::Node& node) {
    const auto* stmt = ast::as<ast::ExprStmt>(&node);
    found = found || (stmt && stmt->value->kind == ast::NodeKind::Ellipsis);
  };
  for (const ast::Stmt* stmt : def.body) ast::walk(*stmt, look);
  return found;
}

bool mentions(const ast::Node& node, std::string_view name) {
  NameSet found;
  append_names(&node, found);
  return found.contains(name);
}

/// The name that a statement gives a value, and none besides; null where it does something else.
const ast::Name* only_target(const ast::Stmt& stmt) {
  const auto* assign = ast::as<ast::Assign>(&stmt);
  return assign && assign->value && assign->targets.size() == 1 ? ast::as<ast::Name>(assign->targets[0]) : nullptr;
}

/// Whether another value replaces that of the i-th statement before anything reads it.
bool is_replaced(ast::StmtList body, size_t i, std::string_view name) {
  for (const ast::Stmt* stmt : body.subspan(i + 1)) {
    const ast::Name* target = only_target(*stmt);
    bool replaces = target && target->text == name;
    const ast::Node* read = stmt;
    if (replaces) read = ast::cast<ast::Assign>(*stmt).value;
    if (mentions(*read, name)) return false;
    if (replaces) return true;
  }
  return false;
}

/// The blocks that a node itself has.
std::vector<ast::StmtList> blocks_of(const ast::Node& node) {
  if (const auto* def = ast::as<ast::Def>(&node)) return {def->body};
  if (const auto* loop = ast::as<ast::For>(&node)) return {loop->body};
  if (const auto* loop = ast::as<ast::While>(&node)) return {loop->body};
  if (const auto* with = ast::as<ast::With>(&node)) return {with->body};
  if (const auto* on = ast::as<ast::On>(&node)) return {on->body};
  const auto* branch = ast::as<ast::If>(&node);
  if (!branch) return {};
  std::vector<ast::StmtList> blocks = {branch->else_body};
  for (const ast::IfArm& arm : branch->arms) blocks.push_back(arm.body);
  return blocks;
}

/// Whether a value is given a name for what else its call does: `t = tile.context(m=M)` declares axes.
bool declares(const ast::Expr& value) {
  const auto* call = ast::as<ast::Call>(&value);
  const auto* callee = call ? ast::as<ast::Attribute>(call->callee) : nullptr;
  return callee && callee->name.text == "context";
}

/// Whether an expression is a range of written numbers that has none: range(3, 0).
bool is_empty_range(const ast::Expr& iterable) {
  const auto* call = ast::as<ast::Call>(&iterable);
  const auto* callee = call ? ast::as<ast::Name>(call->callee) : nullptr;
  if (!callee || callee->text != "range" || call->arguments.empty() || call->arguments.size() > 3) return false;
  std::vector<int64_t> numbers;
  for (const ast::Argument& argument : call->arguments) {
    std::optional<int64_t> number = ast::written_number(argument.value);
    if (!number || !argument.name.text.empty()) return false;
    numbers.push_back(*number);
  }
  if (numbers.size() == 1) numbers.insert(numbers.begin(), 0);
  int64_t step = numbers.size() == 3 ? numbers[2] : 1;
  return step > 0 ? numbers[0] >= numbers[1] : step < 0 && numbers[0] <= numbers[1];
}

class NamesCheck {
 public:
  NamesCheck(Session& session, const SourceModule& file)
      : session_(session),
        file_(file) {
    bind();
  }

  void run() {
    for (const ast::Declaration& declaration : file_.unit.declarations) look(*declaration.stmt);
    for (const auto& [file, bound] : names_) {
      for (const names::Declared& declared : bound.declared) signature(declared);
      for (const ast::Stmt* stmt : bound.unreachable) unreachable(*stmt, "'return' ends the function before it");
    }
    for (const auto& [file, bound] : names_) {
      for (const names::Declared& declared : bound.declared) declaration(declared);
    }
    for (const ast::Identifier& macro : file_.unit.names.unused_macros) unused_macro(macro);
  }

 private:
  /// The names of the text of the file, or of its pieces where a tool has it in pieces; not of files that it includes.
  void bind() {
    std::span<const ast::Declaration> rest = file_.unit.declarations;
    if (!session_.options().files) {
      names_.emplace(file_.file, names::bind_names(session_.sources(), file_.file, rest));
      return;
    }
    while (!rest.empty()) {
      FileId piece = rest.front().stmt->loc.file;
      auto end = std::ranges::find_if(rest, [&](const auto& each) { return each.stmt->loc.file != piece; });
      auto own = rest.first(size_t(end - rest.begin()));
      names_.emplace(piece, names::bind_names(session_.sources(), piece, own));
      rest = rest.subspan(own.size());
    }
  }
  bool is_own(Loc loc) const { return names_.contains(loc.file); }

  /// Whether a name may be without use: the lines that are left out in this compilation may have one.
  bool may_be_unused(std::string_view name) const {
    return name.starts_with('_') || file_.unit.names.skipped.contains(name);
  }
  /// The local that a name declares there; null where another place has declared it, or it is no name of the file.
  const names::Local* declared_at(Loc loc) const {
    const names::Local* local = local_at(loc);
    return local && local->range == place_in(session_.sources(), loc) ? local : nullptr;
  }
  /// The local that a name stands for.
  const names::Local* local_at(Loc loc) const {
    auto bound = names_.find(loc.file);
    if (bound == names_.end()) return nullptr;
    const names::Occurrence* found = bound->second.beginning_at(place_in(session_.sources(), loc).begin);
    return found && found->local >= 0 ? &bound->second.locals[size_t(found->local)] : nullptr;
  }

  void look(const ast::Stmt& stmt) {
    if (const auto* import = ast::as<ast::Import>(&stmt)) return imports(*import);
    if (const auto* from = ast::as<ast::FromImport>(&stmt)) return imports(*from);
    if (const auto* module = ast::as<ast::Module>(&stmt)) fields(*module);
    const auto* def = ast::as<ast::Def>(&stmt);
    if (def && is_sketch(*def)) return;
    loops_.clear();
    ast::walk(stmt, [&](const ast::Node& node) {
      const auto* assign = ast::as<ast::Assign>(&node);
      for (ast::StmtList block : blocks_of(node)) overwritten(block);
      conditions(node);
      if (node.kind == ast::NodeKind::For || node.kind == ast::NodeKind::While) loops_.push_back(place(node.loc));
      if (assign) lost_weights(*assign);
      if (def && lost_updates(node)) return;
      if (!assign || !assign->value || declares(*assign->value)) return;
      for (const ast::Expr* target : assign->targets) variable(*target, def);
    });
  }

  /// Values that a function gives the name of a param, and that nothing reads: a training step without `update`. True
  /// where one was reported.
  bool lost_updates(const ast::Node& node) {
    if (const auto* augmented = ast::as<ast::AugAssign>(&node)) {
      std::string value = fmt::format("{} {} ({})", text(*augmented->target), ast::spelling(augmented->op),
                                      text(*augmented->value));
      return lost_update(*augmented->target, node, text(*augmented->value).empty() ? "" : value);
    }
    const auto* assign = ast::as<ast::Assign>(&node);
    if (!assign || !assign->value) return false;
    bool any = false;
    for (const ast::Expr* target : assign->targets) {
      if (assign->targets.size() == 1 && lost_update(*target, node, text(*assign->value))) return true;
      ast::walk(*target, [&](const ast::Node& part) {
        const auto* name = ast::as<ast::Name>(&part);
        if (name && name != target && lost_update(*name, node, "")) any = true;
      });
    }
    return any;
  }
  /// Reports a target of a statement that loses `value`; false where it does not.
  bool lost_update(const ast::Expr& target, const ast::Node& stmt, const std::string& value) {
    if (!loses_update(target, stmt)) return false;
    std::string name = text(target);
    std::string why = fmt::format("'{}' is a variable here, and the param keeps its value", name);
    auto builder = session_.report(diag::lost_update, target.loc, name, why);
    builder.label(param_of(name)->loc, "the param is here");
    if (value.empty()) {
      builder.help(fmt::format("give the value a name of its own, and the param that value: update({}, …)", name));
    } else {
      builder.fix("'update' gives the param a value", stmt.loc, fmt::format("update({}, {})", name, value));
    }
    return true;
  }
  bool loses_update(const ast::Expr& target, const ast::Node& stmt) const {
    const auto* name = ast::as<ast::Name>(&target);
    return name && param_of(name->text) && loses_value(*name, stmt);
  }
  /// The new weights of a step of an optimiser that nothing reads: weights, state = adamw(w, state, g, rate).
  void lost_weights(const ast::Assign& assign) {
    const auto* call = assign.value ? ast::as<ast::Call>(assign.value) : nullptr;
    const auto* pair = assign.targets.size() == 1 ? ast::as<ast::Tuple>(assign.targets[0]) : nullptr;
    if (!call || call->arguments.empty() || !pair || pair->elements.empty() || !steps_weights(*call)) return;
    const auto* name = ast::as<ast::Name>(pair->elements[0]);
    if (!name || name->text.starts_with('_') || param_of(name->text) || !loses_value(*name, assign)) return;
    const ast::Expr& weights = *call->arguments[0].value;
    const auto* given = ast::as<ast::Name>(&weights);
    session_.report(diag::lost_update, name->loc, name->text, "nothing reads these new weights")
        .help(given && local_at(given->loc) ? fmt::format("return them: return {}, …", name->text)
                                            : fmt::format("give them to the param: update({}, {})", text(weights),
                                                          name->text));
  }
  /// Whether a call is that of a function of the library which gives the weights and the state after a step.
  bool steps_weights(const ast::Call& call) const {
    names::Linked callee = session_.links().expression(*call.callee, *file_.scope);
    const auto* def = callee.declared && callee.declared->stmt ? ast::as<ast::Def>(callee.declared->stmt) : nullptr;
    if (!def || !session_.is_builtin(def->loc) || def->parameters.size() < 2) return false;
    const ast::Expr* type = def->parameters[1].annotation;
    const auto* name = type ? ast::as<ast::Name>(type) : nullptr;
    return name && name->text == "OptimizerState";
  }
  /// Whether a statement gives a variable a value that nothing behind it reads, nor anything in a loop around it.
  bool loses_value(const ast::Name& target, const ast::Node& stmt) const {
    const names::Local* local = local_at(target.loc);
    if (!local || local->kind != names::SymbolKind::Variable) return false;
    TextRange own = place(stmt.loc);
    uint32_t from = own.end;
    for (TextRange loop : loops_) {
      if (loop.contains(own.begin)) from = std::min(from, loop.begin);
    }
    const names::FileNames& names = names_.at(target.loc.file);
    auto number = int32_t(local - names.locals.data());
    return std::ranges::none_of(names.occurrences, [&](const names::Occurrence& each) {
      bool is_elsewhere = each.range.begin >= own.end || each.range.end <= own.begin;
      return each.local == number && !each.writes && each.range.begin >= from && is_elsewhere;
    });
  }
  TextRange place(Loc loc) const { return place_in(session_.sources(), loc); }
  std::string text(const ast::Node& node) const { return source_text(session_.sources(), node.loc); }
  /// The param of the file of that name; null for none.
  const ParamDeclaration* param_of(std::string_view name) const {
    auto is_same = [&](const ParamDeclaration& each) {
      return each.name == name && each.key == each.name && is_own(each.loc);
    };
    auto param = std::ranges::find_if(session_.params(), is_same);
    return param == session_.params().end() ? nullptr : &*param;
  }

  void variable(const ast::Expr& target, const ast::Def* def) {
    const auto* name = ast::as<ast::Name>(&target);
    const names::Local* local = name ? declared_at(name->loc) : nullptr;
    if (!local || local->kind != names::SymbolKind::Variable || may_be_unused(name->text)) return;
    if (def && !session_.free_names(*def).contains(name->text)) hidden_param("variable", *def, {name->text, name->loc});
    if (local->is_read) return;
    session_.report(diag::unused_variable, name->loc, name->text)
        .help(fmt::format("use it, leave the statement out, or name it '_{}'", name->text));
  }

  /// Values that others of the same block replace.
  void overwritten(ast::StmtList body) {
    for (size_t i = 0; i < body.size(); ++i) {
      const ast::Name* name = only_target(*body[i]);
      const names::Local* local = name ? local_at(name->loc) : nullptr;
      if (!local || !local->is_read || may_be_unused(name->text) || !is_replaced(body, i, name->text)) continue;
      session_.report(diag::overwritten_value, name->loc, name->text).help("leave the statement out, or use the value");
    }
  }

  /// Blocks behind a condition that is written as False.
  void conditions(const ast::Node& node) {
    auto look = [&](const ast::Expr* condition, ast::StmtList body) {
      const auto* truth = ast::as<ast::Bool>(condition);
      bool is_written = truth && !truth->value && source_text(session_.sources(), truth->loc) == "False";
      if (is_written && !body.empty()) unreachable(*body[0], "its condition is False");
    };
    if (const auto* loop = ast::as<ast::While>(&node)) look(loop->condition, loop->body);
    const auto* loop = ast::as<ast::For>(&node);
    bool is_empty = loop && !loop->body.empty() && is_empty_range(*loop->iterable);
    if (is_empty) unreachable(*loop->body[0], "the range of its loop is empty");
    if (const auto* branch = ast::as<ast::If>(&node)) {
      for (const ast::IfArm& arm : branch->arms) look(arm.condition, arm.body);
    }
  }
  void unreachable(const ast::Stmt& stmt, std::string_view reason) {
    session_.report(diag::unreachable, stmt.loc, reason).help("leave it out");
  }

  /// A file without code of its own is there for others, which may import from it what it imports.
  bool has_code() const {
    auto is_code = [](const names::Declared& each) {
      return each.kind == names::SymbolKind::Entry || each.kind == names::SymbolKind::Kernel;
    };
    auto has = [&](const auto& each) { return std::ranges::any_of(each.second.declared, is_code); };
    return std::ranges::any_of(names_, has);
  }
  void imports(const ast::Import& stmt) {
    for (const ast::ImportItem& item : stmt.items) {
      import(item.alias.text.empty() ? item.path.front() : item.alias, item.path);
    }
  }
  void imports(const ast::FromImport& stmt) {
    for (const ast::ImportedName& item : stmt.names) {
      import(item.alias.text.empty() ? item.name : item.alias, stmt.path);
    }
  }
  /// Files may be imported for their params, which the program then has.
  void import(const ast::Identifier& name, std::span<const ast::Identifier> path) {
    bool is_library = !path.empty() && path.front().text == "tessera";
    bool may_be_for_params = !is_library && has_params_elsewhere();
    if (may_be_unused(name.text) || is_used(name.text) || !has_code() || may_be_for_params) return;
    session_.report(diag::unused_import, name.loc, name.text).help("leave it out");
  }
  bool has_params_elsewhere() const {
    return std::ranges::any_of(session_.params(), [&](const auto& each) { return !is_own(each.loc); });
  }
  /// Whether a declaration uses a name of the file.
  bool is_used(std::string_view name) { return used().contains(name); }
  const NameSet& used() {
    if (used_.empty()) {
      for (const ast::Declaration& declaration : file_.unit.declarations) {
        const names::FreeNames& free = session_.free_names(*declaration.stmt);
        for (const auto* list : {&free.names, &free.types, &free.sizes}) used_.insert(list->begin(), list->end());
      }
    }
    return used_;
  }

  void declaration(const names::Declared& declared) {
    if (declared.kind == names::SymbolKind::Param) return unused(declared, "param");
    if (declared.kind == names::SymbolKind::Dim) return unused(declared, "dim");
    if (declared.kind != names::SymbolKind::Constant) return;
    const ModuleInstance* instance = instance_of(declared.name);
    if (!instance || !has_entries(*instance)) unused(declared, instance ? "module instance" : "constant");
  }
  /// A file without code of its own declares for others. Of what is hidden that is said.
  void unused(const names::Declared& declared, std::string_view what) {
    bool is_explained = may_be_unused(declared.name) || hidden_.contains(declared.name);
    if (is_explained || is_used(declared.name) || !has_code()) return;
    const Binding* binding = file_.scope->find_here(declared.name);
    if (!binding || !is_own(binding->loc)) return;
    session_.report(diag::unused_declaration, binding->loc, what, declared.name)
        .help(fmt::format("use it, leave it out, or name it '_{}'", declared.name));
  }
  /// Fields of a module that nothing asks an instance for.
  void fields(const ast::Module& module) {
    if (!has_code() || !is_own(module.loc) || reads_trees()) return;
    for (const ast::Stmt* stmt : module.body) {
      const auto* field = ast::as<ast::Assign>(stmt);
      if (!field || !field->annotation || field->targets.size() != 1) continue;
      const auto* name = ast::as<ast::Name>(field->targets[0]);
      if (!name || may_be_unused(name->text) || members().contains(name->text)) continue;
      session_.report(diag::unused_declaration, name->loc, "field", fmt::format("{}.{}", module.name.text, name->text))
          .help(fmt::format("use it, leave it out, or name it '_{}'", name->text));
    }
  }
  /// Whether the file has a function on trees, which reads each field of an instance as a leaf.
  bool reads_trees() {
    constexpr std::string_view prefix = "tree_";
    auto has = [&](const NameSet& names) {
      auto first = names.lower_bound(prefix);
      return first != names.end() && first->starts_with(prefix);
    };
    return has(used()) || has(members());
  }
  /// The names of the members that are asked for anywhere.
  const NameSet& members() {
    if (members_.empty()) {
      for (const auto& [file, bound] : names_) {
        std::string_view text = session_.sources().file(file).text();
        for (const names::Occurrence& each : bound.occurrences) {
          bool counts = each.kind == names::OccurrenceKind::Member;
          if (counts) members_.insert(text.substr(each.range.begin, each.range.end - each.range.begin));
        }
      }
    }
    return members_;
  }

  const ModuleInstance* instance_of(std::string_view name) const {
    const Binding* binding = file_.scope->find_here(name);
    return binding ? binding->value.object_as<ModuleInstance>() : nullptr;
  }
  /// Whether methods of an instance are entries, which a bundle has.
  bool has_entries(const ModuleInstance& instance) const {
    return std::ranges::any_of(instance.module().stmt().body, [&](const ast::Stmt* stmt) {
      const auto* def = ast::as<ast::Def>(stmt);
      const Function* method = def ? session_.method(*def, *instance.scope()) : nullptr;
      return method && method->kind == FunctionKind::Jit;
    });
  }

  void signature(const names::Declared& declared) {
    const auto* def = ast::as<ast::Def>(declared.stmt);
    if (!def) return;
    repeated_clauses(*def);
    bool is_entry = declared.kind == names::SymbolKind::Entry;
    for (size_t i = 0; is_entry && i < def->parameters.size(); ++i) {
      hidden_param("parameter", *def, def->parameters[i].name);
    }
    if ((is_entry || declared.kind == names::SymbolKind::Kernel) && !is_sketch(*def)) unused_parameters(*def);
  }

  void repeated_clauses(const ast::Def& def) {
    std::map<std::string, Loc> known;
    for (const ast::Expr* clause : def.where) {
      std::string text = source_text(session_.sources(), clause->loc);
      auto [first, is_new] = known.emplace(text, clause->loc);
      if (is_new) continue;
      session_.report(diag::repeated_clause, clause->loc, text, def.name.text)
          .label(first->second, "it is here first")
          .help("leave it out");
    }
  }

  void unused_parameters(const ast::Def& def) {
    for (const ast::Parameter& parameter : def.parameters) {
      const names::Local* local = declared_at(parameter.name.loc);
      if (!local || local->is_read || may_be_unused(parameter.name.text) || gives_size(def, parameter)) continue;
      session_.report(diag::unused_parameter, parameter.name.loc, def.name.text, parameter.name.text)
          .help(fmt::format("use it, leave it out, or name it '_{}'", parameter.name.text));
    }
  }

  /// Whether the type of a parameter alone gives a size or a dtype that the function uses.
  bool gives_size(const ast::Def& def, const ast::Parameter& parameter) const {
    NameSet own, others;
    append_bound(parameter.annotation, own);
    NameSet used;
    for (const ast::Stmt* stmt : def.body) append_names(stmt, used);
    for (const ast::Expr* clause : def.where) append_names(clause, used);
    append_names(def.return_type, used);
    for (const ast::Parameter& other : def.parameters) {
      if (&other == &parameter) continue;
      append_bound(other.annotation, others);
      append_names(other.annotation, used);  // 2 * D needs that D has a value
    }
    return std::ranges::any_of(own, [&](std::string_view name) {
      return is_open(name) && used.contains(name) && !others.contains(name);
    });
  }
  /// Whether a name in a type gets its value by calls: it is none of the language, and no constant.
  bool is_open(std::string_view name) const {
    if (names::is_word(name, names::WordKind::Type) || names::is_word(name, names::WordKind::DType)) return false;
    const Binding* binding = file_.scope->find_here(name);
    return !binding || binding->value.is(DatumKind::Dim);
  }

  /// A parameter or a variable of a function, which the function then has instead of the param.
  void hidden_param(std::string_view what, const ast::Def& def, const ast::Identifier& name) {
    const ParamDeclaration* param = param_of(name.text);
    if (!param) return;
    hidden_.insert(name.text);
    session_.report(diag::hidden_param, name.loc, what, name.text, def.name.text)
        .label(param->loc, "the param is here")
        .help(what == "parameter" ? "leave it out of the entry, which reads the param, or give it another name"
                                  : "give the variable another name");
  }

  void unused_macro(const ast::Identifier& macro) {
    if (may_be_unused(macro.text)) return;
    auto builder = session_.report(diag::unused_macro, macro.loc, macro.text);
    bool is_condition = file_.unit.names.conditions.contains(macro.text);
    builder.help(is_condition ? "conditions see what -D defines alone: give it there" : "leave it out");
  }

  Session& session_;
  const SourceModule& file_;
  std::map<FileId, names::FileNames> names_;  ///< by what has the text of the file: itself, or its pieces
  std::vector<TextRange> loops_;              ///< of the declaration at hand, those before the node at hand
  NameSet hidden_;                            ///< params that others hide
  NameSet used_;                              ///< names of the file that its declarations use
  NameSet members_;                           ///< names of the members that it asks for
};

/// -D defines names for all files that are read.
void check_defines(Session& session) {
  std::vector<std::string> read;
  for (const auto& module : session.modules()) {
    const auto& conditions = module->unit.names.conditions;
    read.insert(read.end(), conditions.begin(), conditions.end());
  }
  for (const auto& [name, value] : session.options().parse.defines) {
    if (std::ranges::find(read, name) != read.end()) continue;
    auto builder = session.diagnostics().report(diag::unused_define, Loc{}, name);
    std::string nearest = nearest_name(name, read);
    builder.help(nearest.empty() ? fmt::format("-D chooses lines by conditions: %if defined({})", name)
                                 : fmt::format("did you mean '{}'?", nearest));
  }
}

}  // namespace

void check_names(Session& session, const SourceModule& file) {
  size_t first = session.diagnostics().all().size();
  NamesCheck(session, file).run();
  bool is_of_editor = session.options().files;  // whose definitions are for all the files that it has open
  if (!is_of_editor) check_defines(session);
  session.diagnostics().sort_from(first);
}

}  // namespace tessera::frontend
