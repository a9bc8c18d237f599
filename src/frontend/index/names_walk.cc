// Uses of names in statements and expressions.

#include <algorithm>

#include "frontend/index/names.h"
#include "frontend/syntax/ast_walk.h"

namespace tessera::frontend {

namespace {

/// As deep as the evaluation goes.
constexpr unsigned depth_limit = 2000;

/// The place of a dotted name.
Loc path_loc(std::span<const ast::Identifier> path) {
  Loc loc = path.front().loc, last = path.back().loc;
  if (last.file == loc.file && last.line == loc.line && last.column > loc.column) {
    loc.length = last.column + last.length - loc.column;
  }
  return loc;
}

}  // namespace

void NameIndexer::refer(Loc loc, SymbolId symbol, ReferenceRole role) {
  if (loc.known()) index_.references.push_back({loc, symbol, role});
}

std::optional<SymbolId> NameIndexer::look_up(std::string_view name, size_t skipped) {
  for (size_t i = frames_.size() - std::min(skipped, frames_.size()); i-- > 0;) {
    auto it = frames_[i].names.find(name);
    if (it != frames_[i].names.end()) return it->second;
  }
  const Binding* binding = session_.prelude()->find_here(name);
  return binding ? built_in(std::string(name), binding->value) : std::nullopt;
}

void NameIndexer::use(std::string_view name, Loc loc) {
  if (std::optional<SymbolId> symbol = look_up(name)) refer(loc, *symbol);
}

void NameIndexer::walk_file(const SourceModule& module) {
  module_ = &module;
  frames_.clear();
  frames_.push_back({file_names_[&module], std::nullopt});
  enter_imports(module);
  for (const ast::Declaration& declaration : module.unit.declarations) {
    const ast::Stmt& stmt = *declaration.stmt;
    if (const auto* def = ast::as<ast::Def>(&stmt)) {
      if (auto symbol = defined_at(def->name.loc)) walk_def(*def, *symbol);
    } else if (const auto* part = ast::as<ast::Module>(&stmt)) {
      if (auto symbol = defined_at(part->name.loc)) walk_module(*part, *symbol);
    } else if (const auto* constant = ast::as<ast::Const>(&stmt)) {
      walk_type(constant->annotation, false);
      walk(constant->value);
    } else if (const auto* param = ast::as<ast::Param>(&stmt)) {
      walk_type(param->annotation, false);
      walk(param->initialiser);
    } else if (const auto* assign = ast::as<ast::Assign>(&stmt)) {
      walk_type(assign->annotation, false);
      walk(assign->value);
    } else if (stmt.kind == ast::NodeKind::ExprStmt) {
      walk(stmt);
    }
  }
}

void NameIndexer::walk(ast::StmtList body) {
  if (depth_ >= depth_limit) return;
  ++depth_;
  for (const ast::Stmt* stmt : body) walk(*stmt);
  --depth_;
}

void NameIndexer::walk(const ast::Stmt& stmt) {
  switch (stmt.kind) {
    case ast::NodeKind::Assign:
      return walk_assign(ast::cast<ast::Assign>(stmt));
    case ast::NodeKind::AugAssign: {
      const auto& node = ast::cast<ast::AugAssign>(stmt);
      walk(node.value);
      return assign(*node.target);
    }
    case ast::NodeKind::For: {
      const auto& node = ast::cast<ast::For>(stmt);
      walk(node.iterable);
      assign(*node.target);
      return walk(node.body);
    }
    case ast::NodeKind::If: {
      const auto& node = ast::cast<ast::If>(stmt);
      for (const ast::IfArm& arm : node.arms) {
        walk(arm.condition);
        walk(arm.body);
      }
      return walk(node.else_body);
    }
    case ast::NodeKind::While:
      walk(ast::cast<ast::While>(stmt).condition);
      return walk(ast::cast<ast::While>(stmt).body);
    case ast::NodeKind::With: {
      const auto& node = ast::cast<ast::With>(stmt);
      for (const ast::WithItem& item : node.items) {
        walk(item.context);
        if (item.target) assign(*item.target);
      }
      return walk(node.body);
    }
    case ast::NodeKind::On:
      walk(ast::cast<ast::On>(stmt).place);
      return walk(ast::cast<ast::On>(stmt).body);
    case ast::NodeKind::Def:
      return walk_nested(ast::cast<ast::Def>(stmt));
    case ast::NodeKind::Const: {
      const auto& node = ast::cast<ast::Const>(stmt);
      walk_type(node.annotation, false);
      walk(node.value);
      if (node.name.text.empty()) return;
      frames_.back().names.try_emplace(
          node.name.text, add(SymbolKind::Constant, node.name, node.loc, frames_.back().owner));
      return;
    }
    default:
      return walk_children(stmt);  // an expression or a return
  }
}

void NameIndexer::walk_children(const ast::Node& node) {
  std::vector<const ast::Node*> children;
  ast::append_children(node, children);
  for (const ast::Node* child : children) {
    if (ast::is_expression(child->kind)) walk(static_cast<const ast::Expr*>(child));
  }
}

void NameIndexer::walk(const ast::Expr* expr) {
  if (!expr || depth_ >= depth_limit) return;
  ++depth_;
  walk_expression(*expr);
  --depth_;
}

void NameIndexer::walk_expression(const ast::Expr& expr) {
  switch (expr.kind) {
    case ast::NodeKind::Name:
      return use(ast::cast<ast::Name>(expr).text, expr.loc);
    case ast::NodeKind::Binary:
      return walk_binaries(ast::cast<ast::Binary>(expr));
    case ast::NodeKind::Call:
      return walk_call(ast::cast<ast::Call>(expr));
    case ast::NodeKind::Attribute:
      return walk_attribute(ast::cast<ast::Attribute>(expr));
    case ast::NodeKind::Lambda:
      return walk_lambda(ast::cast<ast::Lambda>(expr));
    case ast::NodeKind::Comprehension:
      return walk_comprehension(ast::cast<ast::Comprehension>(expr));
    case ast::NodeKind::PrivilegedType:
      return walk_type(&expr, false);
    default:
      return walk_children(expr);
  }
}

void NameIndexer::walk_binaries(const ast::Binary& binary) {
  std::vector<const ast::Binary*> spine = ast::left_spine(binary);
  walk(spine.back()->left);
  for (size_t i = spine.size(); i-- > 0;) {
    // `bf16 @ accum(f32)` has a policy on its right, which a name of the program hides.
    bool policy = spine[i]->op == ast::BinaryOp::MatMul && walk_policy(*spine[i]->right);
    if (!policy) walk(spine[i]->right);
  }
}

void NameIndexer::walk_call(const ast::Call& call) {
  walk(call.callee);
  for (const ast::Argument& argument : call.arguments) walk(argument.value);
  std::optional<SymbolId> callee = meaning_of(*call.callee).symbol;
  if (!callee) return;
  for (const ast::Argument& argument : call.arguments) {
    if (argument.name.text.empty()) continue;
    auto parameter = parameter_of(*callee, argument.name.text);
    if (parameter) refer(argument.name.loc, *parameter, ReferenceRole::Keyword);
  }
  // A call of an instance runs a method, which the evaluation knows.
  SymbolKind kind = index_.symbols[index_.resolved(*callee)].kind;
  bool is_called = kind == SymbolKind::Function || kind == SymbolKind::Kernel || kind == SymbolKind::Method ||
                   kind == SymbolKind::Module || kind == SymbolKind::BuiltinFunction;
  if (!is_called) return;
  std::optional<SymbolId> caller;
  for (size_t i = frames_.size(); i-- > 0 && !caller;) caller = frames_[i].owner;
  index_.calls.push_back({extent_of(session_.sources(), call.loc), caller, index_.resolved(*callee)});
}

void NameIndexer::walk_attribute(const ast::Attribute& attribute) {
  walk(attribute.object);
  std::optional<SymbolId> symbol = meaning_of(attribute).symbol;
  if (symbol && !attribute.name.text.empty()) refer(attribute.name.loc, *symbol);
}

void NameIndexer::walk_lambda(const ast::Lambda& lambda) {
  Inside inside(*this, std::nullopt);
  std::optional<SymbolId> owner;
  for (size_t i = frames_.size(); i-- > 0 && !owner;) owner = frames_[i].owner;
  for (const ast::Parameter& parameter : lambda.parameters) {
    walk(parameter.default_value);
    if (parameter.name.text.empty()) continue;
    frames_.back().names[parameter.name.text] =
        add(SymbolKind::Parameter, parameter.name, parameter.loc, owner);
  }
  walk(lambda.body);
}

void NameIndexer::walk_comprehension(const ast::Comprehension& node) {
  Inside inside(*this, std::nullopt);
  for (const ast::ComprehensionClause& clause : node.clauses) {
    walk(clause.iterable);
    assign(*clause.target);
    for (const ast::Expr* condition : clause.conditions) walk(condition);
  }
  walk(node.key);
  walk(node.element);
}

void NameIndexer::walk_assign(const ast::Assign& stmt) {
  walk(stmt.value);
  walk_type(stmt.annotation, false);
  for (const ast::Expr* target : stmt.targets) assign(*target);
}

/// A name that is given a value: a new one of the function, or one that it has.
void NameIndexer::assign(const ast::Expr& target) {
  const auto* name = ast::as<ast::Name>(&target);
  if (!name) {
    bool unpacks = target.kind == ast::NodeKind::Tuple || target.kind == ast::NodeKind::List;
    if (!unpacks || depth_ >= depth_limit) return walk(&target);
    std::vector<const ast::Node*> elements;
    ast::append_children(target, elements);
    ++depth_;
    for (const ast::Node* element : elements) assign(*static_cast<const ast::Expr*>(element));
    --depth_;
    return;
  }
  Names& names = frames_.back().names;
  auto known = names.find(name->text);
  if (known != names.end()) return refer(name->loc, known->second, ReferenceRole::Write);
  std::optional<SymbolId> owner;
  for (size_t i = frames_.size(); i-- > 0 && !owner;) owner = frames_[i].owner;
  names[name->text] = add(SymbolKind::Variable, {name->text, name->loc}, {}, owner);
}

void NameIndexer::walk_decorators(std::span<const ast::Decorator> decorators) {
  for (const ast::Decorator& decorator : decorators) {
    if (!decorator.path.empty()) {
      SymbolId symbol = built_in(SymbolKind::BuiltinDecorator, ast::dotted(decorator.path),
                                 "@" + ast::dotted(decorator.path));
      refer(path_loc(decorator.path), symbol);
    }
    for (const ast::Argument& argument : decorator.arguments) walk(argument.value);
  }
}

void NameIndexer::walk_def(const ast::Def& def, SymbolId symbol) {
  walk_decorators(def.decorators);
  Inside inside(*this, symbol);
  for (SymbolId parameter : index_.symbols[symbol].parameters) {
    for (const ast::Parameter& each : def.parameters) {
      if (each.name.loc == index_.symbols[parameter].loc) frames_.back().names.try_emplace(each.name.text, parameter);
    }
  }
  for (const ast::Parameter& parameter : def.parameters) walk_type(parameter.annotation, true);
  for (const ast::Parameter& parameter : def.parameters) walk(parameter.default_value);
  walk_type(def.return_type, false);
  for (const ast::Expr* clause : def.where) walk(clause);
  walk(def.body);
}

void NameIndexer::walk_nested(const ast::Def& def) {
  if (def.name.text.empty()) return;
  std::optional<SymbolId> owner;
  for (size_t i = frames_.size(); i-- > 0 && !owner;) owner = frames_[i].owner;
  SymbolId symbol = declare_function(def, SymbolKind::Function, owner);
  frames_.back().names[def.name.text] = symbol;
  walk_def(def, symbol);
}

void NameIndexer::walk_module(const ast::Module& module, SymbolId symbol) {
  walk_decorators(module.decorators);
  Inside inside(*this, symbol);
  for (const auto& [name, member] : module_members_[symbol]) {
    SymbolKind kind = index_.symbols[member].kind;
    bool by_name = kind == SymbolKind::Parameter || kind == SymbolKind::Constant;
    if (by_name) frames_.back().names.try_emplace(name, member);
  }
  for (const ast::Parameter& parameter : module.parameters) {
    walk_type(parameter.annotation, false);
    walk(parameter.default_value);
  }
  for (const ast::Expr* clause : module.where) walk(clause);
  for (const ast::Stmt* stmt : module.body) {
    if (const auto* def = ast::as<ast::Def>(stmt)) {
      if (auto method = defined_at(def->name.loc)) walk_def(*def, *method);
    } else if (const auto* constant = ast::as<ast::Const>(stmt)) {
      walk(constant->value);
    } else if (const auto* field = ast::as<ast::Assign>(stmt)) {
      walk_field(*field);
    }
  }
}

void NameIndexer::walk_field(const ast::Assign& field) {
  if (field.annotation && is_param_field(field)) {
    walk_type(field.annotation, false);
  } else {
    walk(field.annotation);  // `block: Block(D)` is an expression
  }
  walk(field.value);
}

}  // namespace tessera::frontend
