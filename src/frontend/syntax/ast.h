#pragma once
// The abstract syntax tree: what was written, and where; nothing about what it means.
//
// Every top-level declaration owns the arena its nodes live in, so one declaration can be parsed
// again, or dropped, without touching the others, and a tree of any depth dies without recursion.
// Broken source still gives a tree: an ErrorExpr or ErrorStmt stands where nothing could be made of
// the text, and any pointer documented as "null when absent" may be null. A required child is never
// null. Types are ordinary expressions (`Tensor[B, D, bf16 @accum(f32)]`); names are not resolved.
//
// Depth: brackets, blocks and chains are limited (brackets.h, layout.h, lines.h), so recursion over
// a tree is safe with one exception: the left operands of Binary can be nested without limit. Walk
// them with left_spine().

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/arena.h"
#include "support/check.h"
#include "support/source.h"

namespace tessera::ast {

/// Kinds of all nodes: expressions, then statements and declarations.
enum class NodeKind : uint8_t {
  ErrorExpr,
  Name,
  Integer,
  Float,
  String,
  Bool,
  None,
  Ellipsis,
  Tuple,
  List,
  Set,
  Dict,
  Unary,
  Binary,
  Logical,
  Compare,
  Conditional,
  Call,
  Attribute,
  Subscript,
  Slice,
  Lambda,
  Comprehension,
  PrivilegedType,

  ErrorStmt,
  ExprStmt,
  Assign,
  AugAssign,
  Return,
  If,
  For,
  While,
  With,
  On,
  Pass,
  Def,
  Module,
  Const,
  Param,
  Dim,
  Import,
  FromImport,
};

/// Name of a kind as print_ast writes it ("binary", "error-stmt").
std::string_view kind_name(NodeKind kind);

/// The common head. `loc` is the first byte of the construct; its length spans the whole construct
/// when that lies in one file and was not made by a macro, else the first token.
struct Node {
  NodeKind kind;
  Loc loc;
};

struct Expr : Node {};
struct Stmt : Node {};

inline bool is_expression(NodeKind kind) {
  return kind < NodeKind::ErrorStmt;
}

/// The node as a T, or null when it is null or of another kind.
template <typename T>
const T* as(const Node* node) {
  return node != nullptr && node->kind == T::node_kind ? static_cast<const T*>(node) : nullptr;
}
/// The node as a T; the kind must match.
template <typename T>
const T& cast(const Node& node) {
  TSR_CHECK(node.kind == T::node_kind, "AST node of another kind");
  return static_cast<const T&>(node);
}

/// A name where it is written and not evaluated. Empty text: the name is missing.
struct Identifier {
  std::string_view text;
  Loc loc;
};

using ExprList = std::span<const Expr* const>;
using StmtList = std::span<const Stmt* const>;

// Expressions.

/// Text nothing could be made of; a diagnostic has been reported.
struct ErrorExpr : Expr {
  static constexpr NodeKind node_kind = NodeKind::ErrorExpr;
};

struct Name : Expr {
  static constexpr NodeKind node_kind = NodeKind::Name;
  std::string_view text;
};

struct Integer : Expr {
  static constexpr NodeKind node_kind = NodeKind::Integer;
  uint64_t value;
  std::string_view text;  ///< as written
};

struct Float : Expr {
  static constexpr NodeKind node_kind = NodeKind::Float;
  double value;
  std::string_view text;  ///< as written
};

/// A string literal, or several that stand side by side; escapes are resolved, bytes are UTF-8.
struct String : Expr {
  static constexpr NodeKind node_kind = NodeKind::String;
  std::string_view value;
};

struct Bool : Expr {
  static constexpr NodeKind node_kind = NodeKind::Bool;
  bool value;
};

struct None : Expr {
  static constexpr NodeKind node_kind = NodeKind::None;
};

/// `...`, in a subscript or as a body.
struct Ellipsis : Expr {
  static constexpr NodeKind node_kind = NodeKind::Ellipsis;
};

/// `a, b` with or without parentheses; `()` has no elements.
struct Tuple : Expr {
  static constexpr NodeKind node_kind = NodeKind::Tuple;
  ExprList elements;
};

struct List : Expr {
  static constexpr NodeKind node_kind = NodeKind::List;
  ExprList elements;
};

struct Set : Expr {
  static constexpr NodeKind node_kind = NodeKind::Set;
  ExprList elements;
};

struct DictEntry {
  const Expr* key;
  const Expr* value;
};

struct Dict : Expr {
  static constexpr NodeKind node_kind = NodeKind::Dict;
  std::span<const DictEntry> entries;
};

enum class UnaryOp : uint8_t { Plus, Minus, Invert, Not };

struct Unary : Expr {
  static constexpr NodeKind node_kind = NodeKind::Unary;
  UnaryOp op;
  const Expr* operand;
};

/// MatMul is every binary `@`: a matmul, or a policy when its left side is a type or dtype.
/// BitOr also separates alternatives of types (`f32|bf16`).
enum class BinaryOp : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  MatMul,
  Pow,
  ShiftLeft,
  ShiftRight,
  BitAnd,
  BitXor,
  BitOr,
};

struct Binary : Expr {
  static constexpr NodeKind node_kind = NodeKind::Binary;
  BinaryOp op;
  Loc op_loc;
  const Expr* left;
  const Expr* right;
};

enum class LogicalOp : uint8_t { And, Or };

/// `a and b and c`: two operands or more.
struct Logical : Expr {
  static constexpr NodeKind node_kind = NodeKind::Logical;
  LogicalOp op;
  ExprList operands;
};

enum class CompareOp : uint8_t {
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  In,
  NotIn,
  Is,
  IsNot,
};

/// `a < b <= c`: ops[i] stands between operands[i] and operands[i + 1].
struct Compare : Expr {
  static constexpr NodeKind node_kind = NodeKind::Compare;
  ExprList operands;
  std::span<const CompareOp> ops;
};

/// `then_value if condition else else_value`.
struct Conditional : Expr {
  static constexpr NodeKind node_kind = NodeKind::Conditional;
  const Expr* condition;
  const Expr* then_value;
  const Expr* else_value;
};

/// One argument of a call; positional when the name is empty.
struct Argument {
  Identifier name;
  const Expr* value;
  Loc loc;
};

struct Call : Expr {
  static constexpr NodeKind node_kind = NodeKind::Call;
  const Expr* callee;
  std::span<const Argument> arguments;
};

/// `object.name`.
struct Attribute : Expr {
  static constexpr NodeKind node_kind = NodeKind::Attribute;
  const Expr* object;
  Identifier name;
};

/// `object[indices]`; `x[a, b]` has two indices, `x[(a, b)]` one. An index may be a Slice.
struct Subscript : Expr {
  static constexpr NodeKind node_kind = NodeKind::Subscript;
  const Expr* object;
  ExprList indices;
};

/// `lower:upper:step` inside a subscript; each null when absent.
struct Slice : Expr {
  static constexpr NodeKind node_kind = NodeKind::Slice;
  const Expr* lower;
  const Expr* upper;
  const Expr* step;
};

/// A parameter of a def, lambda or module; annotation and default_value are null when absent.
struct Parameter {
  Identifier name;
  const Expr* annotation;
  const Expr* default_value;
  bool keyword_only;
  Loc loc;
};

struct Lambda : Expr {
  static constexpr NodeKind node_kind = NodeKind::Lambda;
  std::span<const Parameter> parameters;
  const Expr* body;
};

enum class ComprehensionKind : uint8_t { List, Set, Dict, Generator };

/// `for target in iterable if condition…`.
struct ComprehensionClause {
  const Expr* target;
  const Expr* iterable;
  ExprList conditions;
};

/// `[element for …]` and its kin; for Dict, `key` is set and `element` is the value.
struct Comprehension : Expr {
  static constexpr NodeKind node_kind = NodeKind::Comprehension;
  ComprehensionKind form;
  const Expr* key;
  const Expr* element;
  std::span<const ComprehensionClause> clauses;
};

/// `Region[reduce_sum] Tensor[…]` in an annotation: privileges are what stands in the brackets.
struct PrivilegedType : Expr {
  static constexpr NodeKind node_kind = NodeKind::PrivilegedType;
  ExprList privileges;
  const Expr* type;
};

// Statements.

struct ErrorStmt : Stmt {
  static constexpr NodeKind node_kind = NodeKind::ErrorStmt;
};

struct ExprStmt : Stmt {
  static constexpr NodeKind node_kind = NodeKind::ExprStmt;
  const Expr* value;
};

/// `t1 = t2 = value` (targets in order), or `target: annotation = value` with one target. A tuple
/// target is a Tuple. `annotation` and `value` are null when absent; only an annotated target may
/// lack a value (a field of a module).
struct Assign : Stmt {
  static constexpr NodeKind node_kind = NodeKind::Assign;
  ExprList targets;
  const Expr* annotation;
  const Expr* value;
};

struct AugAssign : Stmt {
  static constexpr NodeKind node_kind = NodeKind::AugAssign;
  BinaryOp op;
  Loc op_loc;
  const Expr* target;
  const Expr* value;
};

/// `value` is null when absent.
struct Return : Stmt {
  static constexpr NodeKind node_kind = NodeKind::Return;
  const Expr* value;
};

struct IfArm {
  const Expr* condition;
  StmtList body;
  Loc loc;
};

/// if, elif…, else; the else body is empty when absent.
struct If : Stmt {
  static constexpr NodeKind node_kind = NodeKind::If;
  std::span<const IfArm> arms;
  StmtList else_body;
};

struct For : Stmt {
  static constexpr NodeKind node_kind = NodeKind::For;
  const Expr* target;
  const Expr* iterable;
  StmtList body;
};

struct While : Stmt {
  static constexpr NodeKind node_kind = NodeKind::While;
  const Expr* condition;
  StmtList body;
};

/// `context as target`; target is null when absent.
struct WithItem {
  const Expr* context;
  const Expr* target;
};

struct With : Stmt {
  static constexpr NodeKind node_kind = NodeKind::With;
  std::span<const WithItem> items;
  StmtList body;
};

/// `on expr`, with a block or (has_body false) for what follows.
struct On : Stmt {
  static constexpr NodeKind node_kind = NodeKind::On;
  const Expr* place;
  bool has_body;
  StmtList body;
};

struct Pass : Stmt {
  static constexpr NodeKind node_kind = NodeKind::Pass;
};

// Declarations.

/// `@a.b(arguments)`.
struct Decorator {
  std::span<const Identifier> path;
  bool has_arguments;
  std::span<const Argument> arguments;
  Loc loc;
};

/// A function, method or kernel; also nested in a body. A body that is only `...` is the single
/// statement ExprStmt(Ellipsis): see is_declaration.
struct Def : Stmt {
  static constexpr NodeKind node_kind = NodeKind::Def;
  std::span<const Decorator> decorators;
  Identifier name;
  std::span<const Parameter> parameters;
  const Expr* return_type;  ///< null when absent
  bool has_effects;         ///< `!{…}` is written, possibly empty
  ExprList effects;
  ExprList where;
  StmtList body;

  /// The body is `...`.
  bool is_declaration() const;
};

/// `module Name(parameters):` The body holds fields (Assign with an annotation), methods (Def),
/// Pass and docstrings; the checker refuses the rest.
struct Module : Stmt {
  static constexpr NodeKind node_kind = NodeKind::Module;
  std::span<const Decorator> decorators;
  Identifier name;
  std::span<const Parameter> parameters;
  ExprList where;
  StmtList body;
};

/// `const F: annotation = value`; annotation is null when absent.
struct Const : Stmt {
  static constexpr NodeKind node_kind = NodeKind::Const;
  Identifier name;
  const Expr* annotation;
  const Expr* value;
};

/// `param A, B: annotation = initialiser`; annotation and initialiser are null when absent.
struct Param : Stmt {
  static constexpr NodeKind node_kind = NodeKind::Param;
  std::span<const Identifier> names;
  const Expr* annotation;
  const Expr* initialiser;
};

/// `dim A, B`.
struct Dim : Stmt {
  static constexpr NodeKind node_kind = NodeKind::Dim;
  std::span<const Identifier> names;
};

/// `a.b as c`; the alias is empty when absent.
struct ImportItem {
  std::span<const Identifier> path;
  Identifier alias;
};

struct Import : Stmt {
  static constexpr NodeKind node_kind = NodeKind::Import;
  std::span<const ImportItem> items;
};

struct ImportedName {
  Identifier name;
  Identifier alias;  ///< empty when absent
};

/// `from path import names`.
struct FromImport : Stmt {
  static constexpr NodeKind node_kind = NodeKind::FromImport;
  std::span<const Identifier> path;
  std::span<const ImportedName> names;
};

/// One top-level statement and the memory of its tree.
struct Declaration {
  std::unique_ptr<Arena> arena;
  const Stmt* stmt = nullptr;  ///< never null after parsing
  /// Hash of the tokens' kinds and texts, without places: equal hashes mean the same tree.
  uint64_t token_hash = 0;
  /// A syntax error was reported inside it.
  bool has_error = false;
};

/// Names that the tree does not have.
struct PreprocessorNames {
  std::set<std::string, std::less<>> conditions;  ///< that a `%if` or `%elif` reads, evaluated or not
  std::set<std::string, std::less<>> skipped;     ///< in lines that conditions leave out
  std::vector<Identifier> unused_macros;          ///< that the file itself defines
};

/// A parsed file with what it includes.
struct SourceUnit {
  FileId file = 0;
  std::vector<Declaration> declarations;
  /// Files whose text took part, in order of first use: the file itself and what it includes.
  std::vector<FileId> files;
  PreprocessorNames names;

  /// All Import and FromImport statements at top level, in order.
  std::vector<const Stmt*> imports() const;
};

/// The Binary nodes from `root` down its left operands, outermost first; empty unless `root` is a
/// Binary. The leftmost operand is spine.back()->left.
std::vector<const Binary*> left_spine(const Expr& root);

std::string_view spelling(UnaryOp op);
std::string_view spelling(BinaryOp op);
std::string_view spelling(LogicalOp op);
std::string_view spelling(CompareOp op);

/// "a.b.c".
std::string dotted(std::span<const Identifier> path);

/// S-expression of a tree, one statement a line, two spaces a level; no places.
std::string print_ast(const Node& node);
std::string print_ast(const SourceUnit& unit);

}  // namespace tessera::ast
