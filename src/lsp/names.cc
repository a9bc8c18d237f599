#include "lsp/names.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "frontend/syntax/ast_walk.h"
#include "lsp/declared.h"
#include "lsp/piece.h"

namespace tessera::lsp {

namespace {

class Binder {
 public:
  explicit Binder(const Piece& piece) : piece_(piece) {}
  PieceNames run();

 private:
  struct Scope {
    int32_t parent = -1;
    Range range;
    std::map<std::string_view, int32_t> names;
  };
  /// Where an expression stands.
  enum class Place : uint8_t { Value, Annotation, TypeArgument };

  // Declarations and statements.
  void top_level(const ast::Stmt& stmt, Range range);
  void suite(ast::StmtList body, uint32_t end);
  void statement(const ast::Stmt& stmt, uint32_t end);
  void def(const ast::Def& def, std::string_view owner, bool nested, uint32_t end);
  void module(const ast::Module& module, uint32_t end);
  void field(const ast::Assign& field, std::string_view owner);
  void parameters(std::span<const ast::Parameter> list, const std::string& callable, std::string_view owner);
  void decorators(std::span<const ast::Decorator> list);
  void imports(const ast::Import& stmt);
  void imports(const ast::FromImport& stmt);
  void path(std::span<const ast::Identifier> parts, OccurrenceKind kind);
  void effects(ast::ExprList list);
  void declare_assigned(ast::StmtList body);
  void declare_target(const ast::Expr& target);

  // Expressions; the result is the occurrence that names the value, or -1.
  int32_t expression(const ast::Expr* expr, Place place = Place::Value);
  int32_t call(const ast::Call& call, Place place);
  void arguments(std::span<const ast::Argument> list, int32_t callee, Place place);
  void lambda(const ast::Lambda& lambda);
  void comprehension(const ast::Comprehension& node);
  void target(const ast::Expr* expr);

  int32_t add(Loc loc, OccurrenceKind kind, bool writes = false);
  int32_t use(std::string_view name, Loc loc, Place place, bool writes);
  int32_t find(std::string_view name) const;
  int32_t declare(std::string_view name, Loc loc, LocalKind kind);
  void open(Range range) {
    scopes_.push_back({scope_, range, {}});
    scope_ = int32_t(scopes_.size()) - 1;
  }
  void close() { scope_ = scopes_[size_t(scope_)].parent; }
  bool is_own(Loc loc) const { return loc.known() && loc.file == piece_.file; }

  // What the tree does not have.
  void leftovers();
  int32_t scope_at(uint32_t offset) const;
  void leftover(size_t at, const std::vector<size_t>& code, const std::vector<int32_t>& callees);
  void sort();

  const Piece& piece_;
  PieceNames out_;
  std::vector<Scope> scopes_;
  int32_t scope_ = -1;
  int32_t signature_ = -1;  ///< the scope that types of parameters declare symbols in
  std::unordered_map<uint32_t, int32_t> by_offset_;
};

int32_t Binder::add(Loc loc, OccurrenceKind kind, bool writes) {
  if (!is_own(loc)) return -1;
  Range range = piece_.range(loc);
  auto [it, fresh] = by_offset_.try_emplace(range.begin, int32_t(out_.occurrences.size()));
  if (!fresh) return it->second;  // two names of one macro
  out_.occurrences.push_back({range, kind, writes});
  return it->second;
}

int32_t Binder::find(std::string_view name) const {
  for (int32_t at = scope_; at >= 0; at = scopes_[size_t(at)].parent) {
    auto found = scopes_[size_t(at)].names.find(name);
    if (found != scopes_[size_t(at)].names.end()) return found->second;
  }
  return -1;
}

int32_t Binder::declare(std::string_view name, Loc loc, LocalKind kind) {
  if (name.empty() || scope_ < 0) return -1;
  Scope& scope = scopes_[size_t(scope_)];
  auto [it, fresh] = scope.names.try_emplace(name, int32_t(out_.locals.size()));
  if (fresh) out_.locals.push_back({std::string(name), kind, piece_.range(loc), scope.range});
  return it->second;
}

int32_t Binder::use(std::string_view name, Loc loc, Place place, bool writes) {
  int32_t local = find(name);
  if (local < 0 && place == Place::TypeArgument && signature_ >= 0) {
    int32_t inner = std::exchange(scope_, signature_);
    local = declare(name, loc, LocalKind::Symbol);
    scope_ = inner;
    writes = true;
  }
  int32_t made = add(loc, local < 0 ? OccurrenceKind::Free : OccurrenceKind::Local, writes);
  if (made >= 0) out_.occurrences[size_t(made)].local = local;
  return made;
}

// Expressions.

int32_t Binder::expression(const ast::Expr* expr, Place place) {
  if (!expr) return -1;
  switch (expr->kind) {
    case ast::NodeKind::Name: return use(ast::cast<ast::Name>(*expr).text, expr->loc, place, false);
    case ast::NodeKind::Attribute: {
      const auto& attribute = ast::cast<ast::Attribute>(*expr);
      int32_t object = expression(attribute.object, place);
      int32_t made = add(attribute.name.loc, OccurrenceKind::Member);
      if (made >= 0) out_.occurrences[size_t(made)].parent = object;
      return made;
    }
    case ast::NodeKind::Call: return call(ast::cast<ast::Call>(*expr), place);
    case ast::NodeKind::Lambda: lambda(ast::cast<ast::Lambda>(*expr)); return -1;
    case ast::NodeKind::Comprehension: comprehension(ast::cast<ast::Comprehension>(*expr)); return -1;
    case ast::NodeKind::Subscript: {
      const auto& subscript = ast::cast<ast::Subscript>(*expr);
      expression(subscript.object, place);
      Place inner = place == Place::Value ? place : Place::TypeArgument;
      for (const ast::Expr* index : subscript.indices) expression(index, inner);
      return -1;
    }
    case ast::NodeKind::Binary: {
      // Left operands may be nested without limit.
      std::vector<const ast::Binary*> spine = ast::left_spine(*expr);
      expression(spine.back()->left, place);
      for (size_t i = spine.size(); i-- > 0;) expression(spine[i]->right, place);
      return -1;
    }
    default: break;
  }
  std::vector<const ast::Node*> children;
  ast::append_children(*expr, children);
  for (const ast::Node* child : children) expression(static_cast<const ast::Expr*>(child), place);
  return -1;
}

int32_t Binder::call(const ast::Call& call, Place place) {
  int32_t callee = expression(call.callee, place == Place::TypeArgument ? Place::Value : place);
  arguments(call.arguments, callee, place);
  return -1;
}

void Binder::arguments(std::span<const ast::Argument> list, int32_t callee, Place place) {
  for (const ast::Argument& argument : list) {
    if (!argument.name.text.empty()) {
      int32_t made = add(argument.name.loc, OccurrenceKind::Argument);
      if (made >= 0) out_.occurrences[size_t(made)].parent = callee;
    }
    expression(argument.value, place);
  }
}

void Binder::lambda(const ast::Lambda& lambda) {
  for (const ast::Parameter& parameter : lambda.parameters) expression(parameter.default_value);
  open(piece_.range(lambda.loc));
  parameters(lambda.parameters, "", "");
  expression(lambda.body);
  close();
}

void Binder::comprehension(const ast::Comprehension& node) {
  open(piece_.range(node.loc));
  for (const ast::ComprehensionClause& clause : node.clauses) {
    expression(clause.iterable);
    declare_target(*clause.target);
    target(clause.target);
    for (const ast::Expr* condition : clause.conditions) expression(condition);
  }
  expression(node.key);
  expression(node.element);
  close();
}

void Binder::target(const ast::Expr* expr) {
  if (!expr) return;
  if (const auto* name = ast::as<ast::Name>(expr)) {
    use(name->text, name->loc, Place::Value, true);
  } else if (const auto* tuple = ast::as<ast::Tuple>(expr)) {
    for (const ast::Expr* element : tuple->elements) target(element);
  } else if (const auto* list = ast::as<ast::List>(expr)) {
    for (const ast::Expr* element : list->elements) target(element);
  } else {
    expression(expr);
  }
}

void Binder::declare_target(const ast::Expr& target) {
  if (const auto* name = ast::as<ast::Name>(&target)) {
    if (find(name->text) < 0 || scopes_[size_t(scope_)].names.count(name->text) == 0) {
      declare(name->text, name->loc, LocalKind::Variable);
    }
  } else if (const auto* tuple = ast::as<ast::Tuple>(&target)) {
    for (const ast::Expr* element : tuple->elements) declare_target(*element);
  } else if (const auto* list = ast::as<ast::List>(&target)) {
    for (const ast::Expr* element : list->elements) declare_target(*element);
  }
}

// Statements.

void Binder::declare_assigned(ast::StmtList body) {
  for (const ast::Stmt* stmt : body) {
    if (const auto* assign = ast::as<ast::Assign>(stmt)) {
      for (const ast::Expr* target : assign->targets) declare_target(*target);
    } else if (const auto* augmented = ast::as<ast::AugAssign>(stmt)) {
      declare_target(*augmented->target);
    } else if (const auto* loop = ast::as<ast::For>(stmt)) {
      declare_target(*loop->target);
      declare_assigned(loop->body);
    } else if (const auto* repeat = ast::as<ast::While>(stmt)) {
      declare_assigned(repeat->body);
    } else if (const auto* branch = ast::as<ast::If>(stmt)) {
      for (const ast::IfArm& arm : branch->arms) declare_assigned(arm.body);
      declare_assigned(branch->else_body);
    } else if (const auto* with = ast::as<ast::With>(stmt)) {
      for (const ast::WithItem& item : with->items) {
        if (item.target) declare_target(*item.target);
      }
      declare_assigned(with->body);
    } else if (const auto* on = ast::as<ast::On>(stmt)) {
      declare_assigned(on->body);
    } else if (const auto* def = ast::as<ast::Def>(stmt)) {
      int32_t made = declare(def->name.text, def->name.loc, LocalKind::Function);
      if (made >= 0) out_.locals[size_t(made)].def = def;
    }
  }
}

void Binder::suite(ast::StmtList body, uint32_t end) {
  for (size_t i = 0; i < body.size(); ++i) {
    uint32_t next = i + 1 < body.size() && is_own(body[i + 1]->loc) ? piece_.range(body[i + 1]->loc).begin : end;
    statement(*body[i], next);
  }
}

void Binder::statement(const ast::Stmt& stmt, uint32_t end) {
  switch (stmt.kind) {
    case ast::NodeKind::Def: return def(ast::cast<ast::Def>(stmt), "", true, end);
    case ast::NodeKind::Assign: {
      const auto& assign = ast::cast<ast::Assign>(stmt);
      expression(assign.annotation, Place::Annotation);
      expression(assign.value);
      for (const ast::Expr* left : assign.targets) target(left);
      return;
    }
    case ast::NodeKind::AugAssign:
      expression(ast::cast<ast::AugAssign>(stmt).value);
      return target(ast::cast<ast::AugAssign>(stmt).target);
    case ast::NodeKind::For: {
      const auto& loop = ast::cast<ast::For>(stmt);
      expression(loop.iterable);
      target(loop.target);
      return suite(loop.body, end);
    }
    case ast::NodeKind::While:
      expression(ast::cast<ast::While>(stmt).condition);
      return suite(ast::cast<ast::While>(stmt).body, end);
    case ast::NodeKind::If:
      for (const ast::IfArm& arm : ast::cast<ast::If>(stmt).arms) {
        expression(arm.condition);
        suite(arm.body, end);
      }
      return suite(ast::cast<ast::If>(stmt).else_body, end);
    case ast::NodeKind::With:
      for (const ast::WithItem& item : ast::cast<ast::With>(stmt).items) {
        expression(item.context);
        target(item.target);
      }
      return suite(ast::cast<ast::With>(stmt).body, end);
    case ast::NodeKind::On:
      expression(ast::cast<ast::On>(stmt).place);
      return suite(ast::cast<ast::On>(stmt).body, end);
    case ast::NodeKind::ExprStmt: expression(ast::cast<ast::ExprStmt>(stmt).value); return;
    case ast::NodeKind::Return: expression(ast::cast<ast::Return>(stmt).value); return;
    default: return;
  }
}

void Binder::parameters(std::span<const ast::Parameter> list, const std::string& callable, std::string_view owner) {
  for (size_t i = 0; i < list.size(); ++i) {
    bool is_self = i == 0 && !owner.empty();
    int32_t made = declare(list[i].name.text, list[i].name.loc, is_self ? LocalKind::Self : LocalKind::Parameter);
    if (made < 0) continue;
    Local& local = out_.locals[size_t(made)];
    local.parameter = &list[i];
    local.callable = is_self ? "" : callable;
    if (is_self) local.owner = owner;
    use(list[i].name.text, list[i].name.loc, Place::Value, true);
  }
  for (const ast::Parameter& parameter : list) expression(parameter.annotation, Place::Annotation);
}

void Binder::decorators(std::span<const ast::Decorator> list) {
  for (const ast::Decorator& decorator : list) {
    path(decorator.path, OccurrenceKind::Decorator);
    arguments(decorator.arguments, -1, Place::Value);
  }
}

void Binder::effects(ast::ExprList list) {
  for (const ast::Expr* effect : list) {
    const auto* call = ast::as<ast::Call>(effect);
    const auto* name = ast::as<ast::Name>(call ? call->callee : effect);
    if (name) add(name->loc, OccurrenceKind::Effect);
    if (call) arguments(call->arguments, -1, Place::Value);
  }
}

void Binder::def(const ast::Def& def, std::string_view owner, bool nested, uint32_t end) {
  decorators(def.decorators);
  if (nested && find(def.name.text) >= 0) {
    use(def.name.text, def.name.loc, Place::Value, true);
  } else {
    int32_t made = add(def.name.loc, owner.empty() ? OccurrenceKind::Free : OccurrenceKind::OwnMember, true);
    if (made >= 0) out_.occurrences[size_t(made)].owner = owner;
  }
  for (const ast::Parameter& parameter : def.parameters) expression(parameter.default_value);
  std::string name(def.name.text);
  std::string callable = nested ? "" : owner.empty() ? name : std::string(owner) + "." + name;
  open({piece_.range(def.loc).begin, end});
  int32_t outer = std::exchange(signature_, scope_);
  parameters(def.parameters, callable, owner);
  signature_ = outer;
  declare_assigned(def.body);
  expression(def.return_type, Place::Annotation);
  effects(def.effects);
  for (const ast::Expr* clause : def.where) expression(clause);
  int32_t none = std::exchange(signature_, -1);
  suite(def.body, end);
  signature_ = none;
  close();
}

void Binder::field(const ast::Assign& field, std::string_view owner) {
  expression(field.annotation, Place::Annotation);
  expression(field.value);
  for (const ast::Expr* target : field.targets) {
    int32_t made = add(target->loc, OccurrenceKind::OwnMember, true);
    if (made >= 0) out_.occurrences[size_t(made)].owner = owner;
  }
}

void Binder::module(const ast::Module& module, uint32_t end) {
  decorators(module.decorators);
  add(module.name.loc, OccurrenceKind::Free, true);
  for (const ast::Parameter& parameter : module.parameters) expression(parameter.default_value);
  open({piece_.range(module.loc).begin, end});
  parameters(module.parameters, std::string(module.name.text), "");
  for (const ast::Stmt* stmt : module.body) {
    if (const auto* constant = ast::as<ast::Const>(stmt)) {
      declare(constant->name.text, constant->name.loc, LocalKind::Variable);
    }
  }
  for (const ast::Expr* clause : module.where) expression(clause);
  for (size_t i = 0; i < module.body.size(); ++i) {
    const ast::Stmt& stmt = *module.body[i];
    bool has_next = i + 1 < module.body.size() && is_own(module.body[i + 1]->loc);
    uint32_t next = has_next ? piece_.range(module.body[i + 1]->loc).begin : end;
    if (const auto* method = ast::as<ast::Def>(&stmt)) {
      def(*method, module.name.text, false, next);
    } else if (const auto* assign = ast::as<ast::Assign>(&stmt)) {
      field(*assign, module.name.text);
    } else if (const auto* constant = ast::as<ast::Const>(&stmt)) {
      expression(constant->annotation, Place::Annotation);
      expression(constant->value);
      use(constant->name.text, constant->name.loc, Place::Value, true);
    } else {
      statement(stmt, next);
    }
  }
  close();
}

void Binder::path(std::span<const ast::Identifier> parts, OccurrenceKind kind) {
  for (const ast::Identifier& part : parts) {
    int32_t made = add(part.loc, kind);
    if (made < 0) continue;
    // From the first byte of the path to the last of this part, as it is written.
    uint32_t begin = piece_.range(parts.front().loc).begin;
    Occurrence& occurrence = out_.occurrences[size_t(made)];
    occurrence.path = piece_.text().substr(begin, occurrence.range.end - begin);
  }
}

void Binder::imports(const ast::Import& stmt) {
  for (const ast::ImportItem& item : stmt.items) {
    path(item.path, OccurrenceKind::Path);
    if (!item.alias.text.empty()) add(item.alias.loc, OccurrenceKind::Free, true);
  }
}

void Binder::imports(const ast::FromImport& stmt) {
  path(stmt.path, OccurrenceKind::Path);
  std::string_view file;
  if (!stmt.path.empty() && is_own(stmt.path.back().loc)) {
    uint32_t begin = piece_.range(stmt.path.front().loc).begin;
    file = piece_.text().substr(begin, piece_.range(stmt.path.back().loc).end - begin);
  }
  for (const ast::ImportedName& item : stmt.names) {
    int32_t made = add(item.name.loc, OccurrenceKind::Imported, item.alias.text.empty());
    if (made >= 0) out_.occurrences[size_t(made)].path = file;
    if (!item.alias.text.empty()) add(item.alias.loc, OccurrenceKind::Free, true);
  }
}

void Binder::top_level(const ast::Stmt& stmt, Range range) {
  switch (stmt.kind) {
    case ast::NodeKind::Def: return def(ast::cast<ast::Def>(stmt), "", false, range.end);
    case ast::NodeKind::Module: return module(ast::cast<ast::Module>(stmt), range.end);
    case ast::NodeKind::Const: {
      const auto& constant = ast::cast<ast::Const>(stmt);
      expression(constant.annotation, Place::Annotation);
      expression(constant.value);
      add(constant.name.loc, OccurrenceKind::Free, true);
      return;
    }
    case ast::NodeKind::Param: {
      const auto& param = ast::cast<ast::Param>(stmt);
      for (const ast::Identifier& name : param.names) add(name.loc, OccurrenceKind::Free, true);
      expression(param.annotation, Place::Annotation);
      expression(param.initialiser);
      return;
    }
    case ast::NodeKind::Dim:
      for (const ast::Identifier& name : ast::cast<ast::Dim>(stmt).names) add(name.loc, OccurrenceKind::Free, true);
      return;
    case ast::NodeKind::Import: return imports(ast::cast<ast::Import>(stmt));
    case ast::NodeKind::FromImport: return imports(ast::cast<ast::FromImport>(stmt));
    default: return statement(stmt, range.end);
  }
}

// Names that are in no tree.

int32_t Binder::scope_at(uint32_t offset) const {
  int32_t best = -1;
  for (size_t i = 0; i < scopes_.size(); ++i) {
    bool inner = best < 0 || scopes_[i].range.begin >= scopes_[size_t(best)].range.begin;
    if (scopes_[i].range.touches(offset) && inner) best = int32_t(i);
  }
  return best;
}

void Binder::leftover(size_t at, const std::vector<size_t>& code, const std::vector<int32_t>& callees) {
  auto kind = [&](size_t i) { return i < code.size() ? piece_.tokens[code[i]].kind : TokenKind::EndOfFile; };
  const RawToken& token = piece_.tokens[code[at]];
  Range range{token.offset, token.offset + token.length};
  Occurrence made{range};
  auto named = [&](size_t i) {
    auto found = by_offset_.find(piece_.tokens[code[i]].offset);
    return found == by_offset_.end() ? -1 : found->second;
  };
  if (at > 0 && kind(at - 1) == TokenKind::Dot) {
    made.kind = OccurrenceKind::Member;
    made.parent = at > 1 ? named(at - 2) : -1;
  } else if (!callees.empty() && callees.back() >= 0 && kind(at + 1) == TokenKind::Assign) {
    made.kind = OccurrenceKind::Argument;
    made.parent = callees.back();
  } else {
    scope_ = scope_at(token.offset);
    made.local = find(piece_.text(token));
    made.kind = made.local < 0 ? OccurrenceKind::Free : OccurrenceKind::Local;
  }
  by_offset_[token.offset] = int32_t(out_.occurrences.size());
  out_.occurrences.push_back(std::move(made));
}

void Binder::leftovers() {
  std::vector<size_t> code;
  for (size_t i = 0; i < piece_.tokens.size(); ++i) {
    if (piece_.tokens[i].role == TokenRole::Code) code.push_back(i);
  }
  std::vector<int32_t> callees;  // for each open bracket: the name before it, or -1
  for (size_t at = 0; at < code.size(); ++at) {
    const RawToken& token = piece_.tokens[code[at]];
    if (is_opening(token.kind)) {
      auto before = at > 0 ? by_offset_.find(piece_.tokens[code[at - 1]].offset) : by_offset_.end();
      callees.push_back(token.kind == TokenKind::Lparen && before != by_offset_.end() ? before->second : -1);
    } else if (is_closing(token.kind)) {
      if (!callees.empty()) callees.pop_back();
    } else if (token.kind == TokenKind::Name && by_offset_.count(token.offset) == 0) {
      leftover(at, code, callees);
    }
  }
}

void Binder::sort() {
  std::vector<int32_t> order(out_.occurrences.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return out_.occurrences[size_t(a)].range.begin < out_.occurrences[size_t(b)].range.begin;
  });
  std::vector<int32_t> place(order.size());
  std::vector<Occurrence> sorted;
  for (size_t i = 0; i < order.size(); ++i) {
    place[size_t(order[i])] = int32_t(i);
    sorted.push_back(std::move(out_.occurrences[size_t(order[i])]));
  }
  for (Occurrence& occurrence : sorted) {
    if (occurrence.parent >= 0) occurrence.parent = place[size_t(occurrence.parent)];
  }
  out_.occurrences = std::move(sorted);
}

PieceNames Binder::run() {
  uint32_t end = uint32_t(piece_.text().size());
  for (size_t i = 0; i < piece_.declarations.size(); ++i) {
    const ast::Stmt& stmt = *piece_.declarations[i].stmt;
    if (!is_own(stmt.loc)) continue;
    bool has_next = i + 1 < piece_.declarations.size() && is_own(piece_.declarations[i + 1].stmt->loc);
    uint32_t next = has_next ? piece_.range(piece_.declarations[i + 1].stmt->loc).begin : end;
    top_level(stmt, {piece_.range(stmt.loc).begin, std::max(next, piece_.range(stmt.loc).end)});
  }
  leftovers();
  sort();
  out_.declared = list_declared(piece_);
  return std::move(out_);
}

}  // namespace

const Occurrence* PieceNames::at(uint32_t offset) const {
  auto after = std::upper_bound(occurrences.begin(), occurrences.end(), offset,
                                [](uint32_t at, const Occurrence& o) { return at < o.range.begin; });
  if (after == occurrences.begin()) return nullptr;
  const Occurrence& found = *(after - 1);
  return found.range.touches(offset) ? &found : nullptr;
}

int32_t PieceNames::visible(std::string_view name, uint32_t offset) const {
  int32_t best = -1;
  for (size_t i = 0; i < locals.size(); ++i) {
    if (locals[i].name != name || !locals[i].scope.touches(offset)) continue;
    bool inner = best < 0 || locals[i].scope.begin >= locals[size_t(best)].scope.begin;
    if (inner) best = int32_t(i);
  }
  return best;
}

PieceNames bind_names(const Piece& piece) { return Binder(piece).run(); }

}  // namespace tessera::lsp
