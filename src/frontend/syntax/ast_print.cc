// The S-expression form of a tree. Left-nested Binary nodes are written with a loop: their depth
// has no limit, everything else's has.

#include <fmt/format.h>

#include "frontend/syntax/ast.h"
#include "support/diagnostic.h"

namespace tessera::ast {

namespace {

class Printer {
 public:
  void stmt(const Stmt& node);
  void expr(const Expr* node);
  std::string take() { return std::move(out_); }

 private:
  void open(std::string_view head) {
    out_ += '(';
    out_ += head;
  }
  void close() { out_ += ')'; }
  void line() {
    out_ += '\n';
    out_.append(2 * size_t(indent_), ' ');
  }
  /// " x", with "_" for what is absent.
  void child(const Expr* node) {
    out_ += ' ';
    expr(node);
  }
  void children(ExprList nodes) {
    for (const Expr* node : nodes) child(node);
  }
  void name(std::string_view text) {
    out_ += ' ';
    out_ += text.empty() ? std::string_view("_") : text;
  }
  void list(std::string_view head, ExprList nodes) {
    open(head);
    children(nodes);
    close();
  }
  void quoted(std::string_view text);
  void binary(const Binary& node);
  void compare(const Compare& node);
  void comprehension(const Comprehension& node);
  void arguments(std::span<const Argument> list);
  void parameters(std::span<const Parameter> list);
  void decorators(std::span<const Decorator> list);
  void names(std::span<const Identifier> list);
  void body(StmtList list);
  void block(std::string_view head, StmtList list);
  void if_stmt(const If& node);
  void with_stmt(const With& node);
  template <typename Definition>
  void definition_end(const Definition& node);
  void def(const Def& node);
  void module_stmt(const Module& node);
  void imports(const Stmt& node);
  void simple(const Stmt& node);

  std::string out_;
  int indent_ = 0;
};

void Printer::quoted(std::string_view text) {
  out_ += '"';
  while (!text.empty()) {
    size_t plain = std::min(text.find_first_of("\"\\"), text.size());
    out_ += escape_control(text.substr(0, plain));
    if (plain < text.size()) {
      out_ += '\\';
      out_ += text[plain++];
    }
    text.remove_prefix(plain);
  }
  out_ += '"';
}

void Printer::binary(const Binary& node) {
  std::vector<const Binary*> spine = left_spine(node);
  for (const Binary* at : spine) {
    open(spelling(at->op));
    out_ += ' ';
  }
  expr(spine.back()->left);
  for (auto at = spine.rbegin(); at != spine.rend(); ++at) {
    child((*at)->right);
    close();
  }
}

void Printer::compare(const Compare& node) {
  open("compare");
  for (size_t i = 0; i < node.operands.size(); ++i) {
    if (i != 0) name(spelling(node.ops[i - 1]));
    child(node.operands[i]);
  }
  close();
}

void Printer::arguments(std::span<const Argument> list) {
  for (const Argument& argument : list) {
    out_ += ' ';
    if (argument.name.text.empty()) {
      expr(argument.value);
    } else {
      open("=");
      name(argument.name.text);
      child(argument.value);
      close();
    }
  }
}

void Printer::parameters(std::span<const Parameter> list) {
  out_ += " (";
  for (const Parameter& parameter : list) {
    if (&parameter != list.data()) out_ += ' ';
    open(parameter.keyword_only ? "keyword" : "param");
    name(parameter.name.text);
    if (parameter.annotation != nullptr || parameter.default_value != nullptr) {
      child(parameter.annotation);
    }
    if (parameter.default_value != nullptr) child(parameter.default_value);
    close();
  }
  out_ += ')';
}

void Printer::comprehension(const Comprehension& node) {
  static constexpr std::string_view heads[] = {"list-for", "set-for", "dict-for", "generator"};
  open(heads[size_t(node.form)]);
  if (node.key != nullptr) child(node.key);
  child(node.element);
  for (const ComprehensionClause& clause : node.clauses) {
    out_ += " (for";
    child(clause.target);
    child(clause.iterable);
    children(clause.conditions);
    close();
  }
  close();
}

void Printer::expr(const Expr* node) {
  if (node == nullptr) {
    out_ += '_';
    return;
  }
  switch (node->kind) {
    case NodeKind::ErrorExpr: out_ += "(error)"; return;
    case NodeKind::Name: out_ += cast<Name>(*node).text; return;
    case NodeKind::Integer: out_ += fmt::format("{}", cast<Integer>(*node).value); return;
    case NodeKind::Float: out_ += cast<Float>(*node).text; return;
    case NodeKind::String: quoted(cast<String>(*node).value); return;
    case NodeKind::Bool: out_ += cast<Bool>(*node).value ? "True" : "False"; return;
    case NodeKind::None: out_ += "None"; return;
    case NodeKind::Ellipsis: out_ += "..."; return;
    case NodeKind::Tuple: return list("tuple", cast<Tuple>(*node).elements);
    case NodeKind::List: return list("list", cast<List>(*node).elements);
    case NodeKind::Set: return list("set", cast<Set>(*node).elements);
    case NodeKind::Binary: return binary(cast<Binary>(*node));
    case NodeKind::Compare: return compare(cast<Compare>(*node));
    case NodeKind::Comprehension: return comprehension(cast<Comprehension>(*node));
    case NodeKind::Logical: {
      const Logical& logical = cast<Logical>(*node);
      return list(spelling(logical.op), logical.operands);
    }
    case NodeKind::Dict:
      open("dict");
      for (const DictEntry& entry : cast<Dict>(*node).entries) {
        out_ += " (:";
        child(entry.key);
        child(entry.value);
        close();
      }
      return close();
    case NodeKind::Unary:
      open(spelling(cast<Unary>(*node).op));
      child(cast<Unary>(*node).operand);
      return close();
    case NodeKind::Conditional: {
      const Conditional& conditional = cast<Conditional>(*node);
      const Expr* parts[] = {conditional.condition, conditional.then_value, conditional.else_value};
      return list("if-else", parts);
    }
    case NodeKind::Call:
      open("call");
      child(cast<Call>(*node).callee);
      arguments(cast<Call>(*node).arguments);
      return close();
    case NodeKind::Attribute:
      open(".");
      child(cast<Attribute>(*node).object);
      name(cast<Attribute>(*node).name.text);
      return close();
    case NodeKind::Subscript:
      open("[]");
      child(cast<Subscript>(*node).object);
      children(cast<Subscript>(*node).indices);
      return close();
    case NodeKind::Slice: {
      const Slice& slice = cast<Slice>(*node);
      const Expr* parts[] = {slice.lower, slice.upper, slice.step};
      return list("slice", parts);
    }
    case NodeKind::Lambda:
      open("lambda");
      parameters(cast<Lambda>(*node).parameters);
      child(cast<Lambda>(*node).body);
      return close();
    case NodeKind::PrivilegedType:
      list("region", cast<PrivilegedType>(*node).privileges);
      out_.pop_back();
      child(cast<PrivilegedType>(*node).type);
      return close();
    default: TSR_UNREACHABLE("a statement where an expression belongs");
  }
}

void Printer::names(std::span<const Identifier> list) {
  for (const Identifier& identifier : list) name(identifier.text);
}

void Printer::body(StmtList list) {
  ++indent_;
  for (const Stmt* node : list) {
    line();
    stmt(*node);
  }
  --indent_;
}

void Printer::block(std::string_view head, StmtList list) {
  ++indent_;
  line();
  open(head);
  body(list);
  close();
  --indent_;
}

void Printer::decorators(std::span<const Decorator> list) {
  ++indent_;
  for (const Decorator& decorator : list) {
    line();
    open("@");
    name(dotted(decorator.path));
    if (decorator.has_arguments) {
      out_ += " (args";
      arguments(decorator.arguments);
      close();
    }
    close();
  }
  --indent_;
}

void Printer::if_stmt(const If& node) {
  open("if");
  ++indent_;
  for (const IfArm& arm : node.arms) {
    line();
    open("arm");
    child(arm.condition);
    body(arm.body);
    close();
  }
  --indent_;
  if (!node.else_body.empty()) block("else", node.else_body);
  close();
}

void Printer::with_stmt(const With& node) {
  open("with");
  for (const WithItem& item : node.items) {
    out_ += " (item";
    child(item.context);
    if (item.target != nullptr) child(item.target);
    close();
  }
  body(node.body);
  close();
}

/// Prints the end of a function or module.
template <typename Definition>
void Printer::definition_end(const Definition& node) {
  if (!node.where.empty()) {
    out_ += ' ';
    list("where", node.where);
  }
  decorators(node.decorators);
  body(node.body);
  close();
}

void Printer::def(const Def& node) {
  open("def");
  name(node.name.text);
  parameters(node.parameters);
  child(node.return_type);
  if (node.has_effects) {
    out_ += ' ';
    list("effects", node.effects);
  }
  definition_end(node);
}

void Printer::module_stmt(const Module& node) {
  open("module");
  name(node.name.text);
  parameters(node.parameters);
  definition_end(node);
}

void Printer::imports(const Stmt& node) {
  open(kind_name(node.kind));
  if (const Import* import = as<Import>(&node)) {
    for (const ImportItem& item : import->items) {
      name(dotted(item.path));
      if (!item.alias.text.empty()) out_ += fmt::format(" (as {})", item.alias.text);
    }
  } else {
    const FromImport& from = cast<FromImport>(node);
    name(dotted(from.path));
    for (const ImportedName& item : from.names) {
      name(item.name.text);
      if (!item.alias.text.empty()) out_ += fmt::format(" (as {})", item.alias.text);
    }
  }
  close();
}

/// Statements of one line.
void Printer::simple(const Stmt& node) {
  open(kind_name(node.kind));
  if (const ExprStmt* expression = as<ExprStmt>(&node)) {
    child(expression->value);
  } else if (const Assign* assign = as<Assign>(&node)) {
    children(assign->targets);
    if (assign->annotation != nullptr) {
      out_ += " (:";
      child(assign->annotation);
      close();
    }
    child(assign->value);
  } else if (const AugAssign* augment = as<AugAssign>(&node)) {
    name(spelling(augment->op));
    child(augment->target);
    child(augment->value);
  } else if (const Return* result = as<Return>(&node)) {
    if (result->value != nullptr) child(result->value);
  } else if (const Const* constant = as<Const>(&node)) {
    name(constant->name.text);
    child(constant->annotation);
    child(constant->value);
  } else if (const Param* param = as<Param>(&node)) {
    names(param->names);
    out_ += " (:";
    child(param->annotation);
    close();
    child(param->initialiser);
  } else if (const Dim* dim = as<Dim>(&node)) {
    names(dim->names);
  }
  close();
}

void Printer::stmt(const Stmt& node) {
  switch (node.kind) {
    case NodeKind::If: return if_stmt(cast<If>(node));
    case NodeKind::With: return with_stmt(cast<With>(node));
    case NodeKind::Def: return def(cast<Def>(node));
    case NodeKind::Module: return module_stmt(cast<Module>(node));
    case NodeKind::Import:
    case NodeKind::FromImport: return imports(node);
    case NodeKind::For:
      open("for");
      child(cast<For>(node).target);
      child(cast<For>(node).iterable);
      body(cast<For>(node).body);
      return close();
    case NodeKind::While:
      open("while");
      child(cast<While>(node).condition);
      body(cast<While>(node).body);
      return close();
    case NodeKind::On:
      open("on");
      child(cast<On>(node).place);
      body(cast<On>(node).body);
      return close();
    default: return simple(node);
  }
}

}  // namespace

std::string print_ast(const Node& node) {
  Printer printer;
  if (is_expression(node.kind)) {
    printer.expr(static_cast<const Expr*>(&node));
  } else {
    printer.stmt(static_cast<const Stmt&>(node));
  }
  return printer.take();
}

std::string print_ast(const SourceUnit& unit) {
  std::string out;
  for (const Declaration& declaration : unit.declarations) {
    out += print_ast(*declaration.stmt);
    out += '\n';
  }
  return out;
}

}  // namespace tessera::ast
