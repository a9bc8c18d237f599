// Uses of names in annotations, and the dimensions and dtypes that these declare. The rules are
// those of type_expr.h.

#include <algorithm>
#include <array>

#include "frontend/check_numerics.h"
#include "frontend/index/names.h"

namespace tessera::frontend {

namespace {

constexpr std::array<std::string_view, 17> type_names = {
    "Tensor", "Tile", "KTile",  "Param", "Region",   "KVCache", "OptimizerState", "Mesh", "Schedule",
    "int",    "float", "bool", "dim",   "dtype", "str",  "fn",  "any"};
constexpr std::array<std::string_view, 6> shaped_names = {"Tensor",  "Tile",          "KTile",
                                                           "KVCache", "OptimizerState", "Param"};
constexpr std::array<std::string_view, 9> policy_names = {
    "accum", "stochastic_round", "saturate",       "loss_scale", "device",
    "paged", "rolling_window",   "checkpointable", "fp32_master"};
constexpr std::array<std::string_view, 3> layout_names = {"packed", "row_major", "col_major"};

template <size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Whether a name around a function may be a size, so that it declares nothing in a signature.
bool may_be_value(SymbolKind kind) {
  return kind == SymbolKind::Constant || kind == SymbolKind::Variable ||
         kind == SymbolKind::Parameter || kind == SymbolKind::Dimension ||
         kind == SymbolKind::DType;
}

}  // namespace

void NameIndexer::walk_type(const ast::Expr* type, bool declares) {
  if (!type || depth_ >= 2000) return;
  ++depth_;
  if (const auto* name = ast::as<ast::Name>(type)) {
    if (is_one_of(name->text, type_names)) {
      refer(name->loc, built_in(SymbolKind::BuiltinType, std::string(name->text)));
    } else if (dtype_by_name(name->text)) {
      refer(name->loc, built_in(SymbolKind::BuiltinDType, std::string(name->text)));
    } else {
      use(name->text, name->loc);
    }
  } else if (const auto* subscript = ast::as<ast::Subscript>(type)) {
    walk_shaped(*subscript, declares);
  } else if (const auto* binary = ast::as<ast::Binary>(type)) {
    walk_type(binary->left, declares);
    bool policy = binary->op == ast::BinaryOp::MatMul && walk_policy(*binary->right);
    if (!policy && binary->op == ast::BinaryOp::BitOr) {
      walk_type(binary->right, declares);
    } else if (!policy) {
      walk(binary->right);  // the length of `[T] * n`
    }
  } else if (const auto* privileged = ast::as<ast::PrivilegedType>(type)) {
    for (const ast::Expr* each : privileged->privileges) {
      const auto* privilege = ast::as<ast::Name>(each);
      if (privilege) refer(each->loc, built_in(SymbolKind::BuiltinPrivilege, std::string(privilege->text)));
    }
    walk_type(privileged->type, declares);
  } else if (const auto* tuple = ast::as<ast::Tuple>(type)) {
    for (const ast::Expr* element : tuple->elements) walk_type(element, declares);
  } else if (const auto* list = ast::as<ast::List>(type)) {
    for (const ast::Expr* element : list->elements) walk_type(element, declares);
  } else {
    walk(type);
  }
  --depth_;
}

void NameIndexer::walk_shaped(const ast::Subscript& type, bool declares) {
  const auto* name = ast::as<ast::Name>(type.object);
  if (!name || !is_one_of(name->text, shaped_names)) return walk(&type);
  refer(name->loc, built_in(SymbolKind::BuiltinType, std::string(name->text)));
  ast::ExprList items = type.indices;
  if (name->text == "OptimizerState") {
    for (const ast::Expr* item : items) walk(item);
    return;
  }
  const auto* layout = items.size() > 1 ? ast::as<ast::Name>(items.back()) : nullptr;
  if (layout && is_one_of(layout->text, layout_names)) items = items.first(items.size() - 1);
  // A KTile of strings alone has no dtype.
  bool has_dtype = !items.empty() && items.back()->kind != ast::NodeKind::String;
  if (has_dtype) walk_dtype(*items.back(), declares);
  for (const ast::Expr* dim : items.first(items.size() - (has_dtype ? 1 : 0))) {
    walk_dim(*dim, declares);
  }
}

/// A bare name of a dimension or dtype: one that is known, or one that is declared here.
void NameIndexer::name_symbol(SymbolKind kind, const ast::Identifier& name, bool declares) {
  Names& own = frames_.back().names;
  if (auto it = own.find(name.text); it != own.end()) return refer(name.loc, it->second);
  std::optional<SymbolId> outside = look_up(name.text, 1);
  bool known = outside && (!declares || may_be_value(index_.symbols[index_.resolved(*outside)].kind));
  if (known) return refer(name.loc, *outside);
  if (!declares || name.text.empty()) return;
  SymbolId symbol = add(kind, name, name.loc, frames_.back().owner);
  std::string_view what = kind == SymbolKind::Dimension ? "dim" : "dtype";
  index_.symbols[symbol].signature = std::string(what) + " " + std::string(name.text);
  own[name.text] = symbol;
}

void NameIndexer::walk_dim(const ast::Expr& dim, bool declares) {
  if (const auto* name = ast::as<ast::Name>(&dim)) {
    name_symbol(SymbolKind::Dimension, {name->text, name->loc}, declares);
  } else if (const auto* string = ast::as<ast::String>(&dim)) {
    walk_string_dim(*string, declares);
  } else {
    walk(&dim);
  }
}

/// "B*H": each factor is a name, at its own place where the literal is written plainly.
void NameIndexer::walk_string_dim(const ast::String& dim, bool declares) {
  bool plain = dim.loc.length == dim.value.size() + 2;
  for (size_t start = 0; start <= dim.value.size();) {
    size_t end = std::min(dim.value.find('*', start), dim.value.size());
    Loc loc = dim.loc;
    if (plain) {
      loc.column += uint32_t(start) + 1;
      loc.length = uint32_t(end - start);
    }
    name_symbol(SymbolKind::Dimension, {dim.value.substr(start, end - start), loc}, declares);
    start = end + 1;
  }
}

void NameIndexer::walk_dtype(const ast::Expr& dtype, bool declares) {
  if (const auto* name = ast::as<ast::Name>(&dtype)) {
    if (dtype_by_name(name->text)) {
      return refer(name->loc, built_in(SymbolKind::BuiltinDType, std::string(name->text)));
    }
    return name_symbol(SymbolKind::DType, {name->text, name->loc}, declares);
  }
  const auto* binary = ast::as<ast::Binary>(&dtype);
  if (!binary || binary->op != ast::BinaryOp::MatMul || depth_ >= 2000) return walk(&dtype);
  ++depth_;
  walk_dtype(*binary->left, declares);
  --depth_;
  if (!walk_policy(*binary->right)) walk(binary->right);
}

/// A policy behind `@`; false when the expression is none.
bool NameIndexer::walk_policy(const ast::Expr& policy) {
  const auto* call = ast::as<ast::Call>(&policy);
  const auto* name = ast::as<ast::Name>(call ? call->callee : &policy);
  if (!name || !is_one_of(name->text, policy_names)) return false;
  // A product with a tensor of such a name is no policy.
  for (const Frame& frame : frames_) {
    if (frame.names.count(name->text)) return false;
  }
  refer(name->loc, built_in(SymbolKind::BuiltinPolicy, std::string(name->text)));
  if (!call) return true;
  for (const ast::Argument& argument : call->arguments) {
    bool is_dtype = name->text == "accum";
    if (is_dtype) {
      walk_dtype(*argument.value, false);
    } else {
      walk(argument.value);
    }
  }
  return true;
}

}  // namespace tessera::frontend
