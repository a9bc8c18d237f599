#include "frontend/evaluate/type_expr.h"

#include <algorithm>

#include "frontend/binding/words.h"
#include "frontend/evaluate/blame_names.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/evaluate/kernel_scan.h"
#include "frontend/evaluate/placement.h"
#include "frontend/evaluate/session.h"
#include "frontend/fixes/foreign.h"
#include "frontend/fixes/operand_text.h"
#include "frontend/syntax/ast_walk.h"
#include "frontend/syntax/lexer.h"
#include "frontend/values/dims.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

/// How a type of that name is written; nothing for any other name.
std::optional<names::TypeForm> form_of(std::string_view name) {
  const names::TypeRow* type = names::find_type(name);
  return type ? std::optional(type->form) : std::nullopt;
}

/// The types with dims, which a misspelt one may stand for.
std::vector<std::string> shaped_types() {
  std::vector<std::string> names;
  for (const std::string& name : names::words_of(names::WordKind::Type)) {
    if (form_of(name) <= names::TypeForm::OptimizerState) names.push_back(name);
  }
  return names;
}

std::optional<StateKind> state_of(std::optional<names::TypeForm> form) {
  if (form == names::TypeForm::KVCache) return StateKind::KVCache;
  if (form == names::TypeForm::OptimizerState) return StateKind::OptimizerState;
  return std::nullopt;
}

/// The kind of pattern that a bare name of a type gives by itself.
std::optional<PatternKind> bare_kind(names::TypeForm form) {
  switch (form) {
    case names::TypeForm::Dim: return PatternKind::DimParam;
    case names::TypeForm::DType: return PatternKind::DTypeParam;
    case names::TypeForm::String: return PatternKind::String;
    case names::TypeForm::Function: return PatternKind::Function;
    case names::TypeForm::Schedule: return PatternKind::Schedule;
    case names::TypeForm::Any: return PatternKind::Any;
    case names::TypeForm::Tile:
    case names::TypeForm::Unsupported: return PatternKind::Other;
    case names::TypeForm::KVCache:
    case names::TypeForm::OptimizerState: return PatternKind::State;
    case names::TypeForm::Tensor:
    case names::TypeForm::KTile:
    case names::TypeForm::Param:
    case names::TypeForm::Tuple:
    case names::TypeForm::Scalar: return std::nullopt;
  }
  return std::nullopt;
}

template <typename List>
auto find_symbol(List& list, std::string_view name) {
  return std::find_if(list.begin(), list.end(),
                      [&](const DeclaredSymbol& symbol) { return symbol.name == name; });
}

/// Reads annotations. With `declares_`, bare names in dimension and dtype positions become symbols
/// of the signature.
class TypeReader {
 public:
  TypeReader(Evaluator& evaluator, Scope& scope, Signature* signature, bool declares)
      : evaluator_(evaluator), scope_(scope), signature_(signature), declares_(declares) {}

  TypePattern read(const ast::Expr& expr);
  /// Adds a policy to the pattern of a dtype or of a state; false when an error was reported.
  bool add_policy(const ast::Expr& policy, TypePattern& pattern);

 private:
  TypePattern read_name(const ast::Name& name);
  TypePattern read_subscript(const ast::Subscript& subscript);
  TypePattern read_shaped(PatternKind kind, const ast::Subscript& subscript);
  TypePattern read_policy(const ast::Binary& binary);
  TypePattern read_privileged(const ast::PrivilegedType& privileged);
  TypePattern read_tuple(ast::ExprList elements, Loc loc);
  TypePattern region_without_type(Loc loc) {
    evaluator_.report(diag::malformed_type, loc, "a region has no tensor type after its brackets")
        .help("write the access in the brackets and the type after them: Region[write] Tensor[B, f32]");
    return poison(loc);
  }
  TypePattern read_state(StateKind kind, const ast::Subscript& subscript);
  TypePattern read_repeated(const ast::List& list, const ast::Expr& count, Loc loc);
  void warn_of_unread(const ast::Expr& policy);
  bool unknown_policy(const ast::Expr& policy, names::PolicySubject subject);
  bool read_device(const ast::Expr& argument);
  bool set_state_policy(const ast::Expr& policy, TypePattern& pattern);
  DimPattern read_dim(const ast::Expr& expr, PatternKind kind);
  DimPattern read_string_dim(const ast::String& string, PatternKind kind);
  bool read_dtype(const ast::Expr& expr, TypePattern& pattern);
  bool read_dtype_name(const ast::Name& name, TypePattern& pattern);
  bool set_policy(const ast::Expr& policy, TypePattern& pattern);
  bool check_accum(const TypePattern& pattern, Loc loc);
  TypePattern poison(Loc loc) {
    if (signature_) signature_->failed = true;
    TypePattern pattern;
    pattern.kind = PatternKind::Poison;
    pattern.loc = loc;
    return pattern;
  }
  TypePattern malformed(Loc loc, std::string text) {
    evaluator_.report(diag::malformed_type, loc, text);
    return poison(loc);
  }
  /// The value a name has around the function, or nullopt.
  std::optional<Datum> outside(const ast::Name& name);
  void use(std::vector<DeclaredSymbol>& list, std::string_view name, Loc loc) {
    auto it = find_symbol(list, name);
    if (it == list.end()) it = list.insert(it, {std::string(name), loc, 0});
    ++it->uses;
  }

  Evaluator& evaluator_;
  Scope& scope_;
  Signature* signature_;
  bool declares_;
};

std::optional<Datum> TypeReader::outside(const ast::Name& name) {
  Scope* where = nullptr;
  Binding* binding = scope_.find(name.text, &where);
  if (!binding) return std::nullopt;
  if (EvaluationObserver* observer = evaluator_.session().observer()) {
    observer->named(name.text, name.loc, *where, *binding);
  }
  return evaluator_.resolve(*binding, *where, name.text, name.loc);
}

TypePattern TypeReader::read(const ast::Expr& expr) {
  switch (expr.kind) {
    case ast::NodeKind::ErrorExpr:
      return poison(expr.loc);
    case ast::NodeKind::Name:
      return read_name(ast::cast<ast::Name>(expr));
    case ast::NodeKind::Subscript:
      return read_subscript(ast::cast<ast::Subscript>(expr));
    case ast::NodeKind::Tuple:
      return read_tuple(ast::cast<ast::Tuple>(expr).elements, expr.loc);
    case ast::NodeKind::PrivilegedType:
      return read_privileged(ast::cast<ast::PrivilegedType>(expr));
    case ast::NodeKind::Binary: {
      const auto& binary = ast::cast<ast::Binary>(expr);
      if (binary.op == ast::BinaryOp::MatMul) return read_policy(binary);
      const auto* list = ast::as<ast::List>(binary.left);
      if (binary.op == ast::BinaryOp::Mul && list) return read_repeated(*list, *binary.right, expr.loc);
      break;
    }
    case ast::NodeKind::None: {
      TypePattern pattern = read_tuple({}, expr.loc);
      return pattern;
    }
    default:
      break;
  }
  const auto* member = ast::as<ast::Attribute>(&expr);
  const auto* call = ast::as<ast::Call>(&expr);
  const auto* called = call ? ast::as<ast::Name>(call->callee) : nullptr;
  if (called && called->text == "Region") return region_without_type(expr.loc);
  std::string_view help = member ? help_for_tile(member->name.text) : std::string_view();
  if (help.empty() && member) help = help_for_type(member->name.text);
  const auto* binary = ast::as<ast::Binary>(&expr);
  if (binary && binary->op == ast::BinaryOp::BitOr) {
    bool may_lack = binary->right->kind == ast::NodeKind::None || binary->left->kind == ast::NodeKind::None;
    help = help_for_type(may_lack ? "Optional" : "Union");
  }
  std::string text = member && !help.empty() ? source_text(evaluator_.session().sources(), expr.loc) : std::string();
  evaluator_.report(diag::not_a_type, expr.loc, text.empty() ? "an expression" : fmt::format("'{}'", text))
      .help(help.empty() ? "a type is written as in Tensor[B, D, f32]" : std::string(help));
  return poison(expr.loc);
}

TypePattern TypeReader::read_name(const ast::Name& name) {
  TypePattern pattern;
  pattern.loc = name.loc;
  std::optional<names::TypeForm> form = form_of(name.text);
  if (auto kind = form ? bare_kind(*form) : std::nullopt) {
    pattern.kind = *kind;
    pattern.state = state_of(form).value_or(pattern.state);
    if (*kind == PatternKind::Other) pattern.name = std::string(name.text);
    return pattern;
  }
  if (form == names::TypeForm::Tensor || form == names::TypeForm::KTile) {
    evaluator_.report(diag::malformed_type, name.loc,
                      fmt::format("type '{}' says neither its dims nor its dtype", name.text))
        .help(fmt::format("write both, {}[B, D, f32]; the parameter of a function that is not an entry needs no type",
                          name.text));
    return poison(name.loc);
  }
  pattern.kind = PatternKind::Scalar;
  if (std::optional<DType> dtype = dtype_by_name(name.text)) {
    pattern.dtype = *dtype;
    return pattern;
  }
  std::optional<Datum> value = outside(name);
  if (value && value->is(DatumKind::DType)) {
    pattern.dtype = value->as_dtype();
    return pattern;
  }
  std::string_view help = help_for_type(name.text);
  bool is_foreign = !help.empty() && (!value || value->is(DatumKind::Builtin));
  if (is_foreign) {
    evaluator_.report(diag::not_a_type, name.loc, fmt::format("'{}'", name.text)).help(std::string(help));
  } else if (!value) {
    evaluator_.lookup(name.text, scope_, name.loc);
  } else if (!value->is_poison()) {
    evaluator_.report(diag::not_a_type, name.loc, describe(*value));
  }
  return poison(name.loc);
}

TypePattern TypeReader::read_subscript(const ast::Subscript& subscript) {
  const auto* name = ast::as<ast::Name>(subscript.object);
  if (!name) {
    auto builder = evaluator_.report(diag::not_a_type, subscript.loc, "an expression");
    const auto* inner = ast::as<ast::Subscript>(subscript.object);
    const auto* region = inner ? ast::as<ast::Name>(inner->object) : nullptr;
    if (region && region->text == "Region") {
      builder.fix("a type stands behind the privileges", inner->loc.behind(), " Tensor");
      return poison(subscript.loc);
    }
    const auto* member = ast::as<ast::Attribute>(subscript.object);
    std::string_view help = member ? help_for_type(member->name.text) : std::string_view();
    if (!help.empty()) builder.help(std::string(help));
    return poison(subscript.loc);
  }
  switch (form_of(name->text).value_or(names::TypeForm::Scalar)) {
    case names::TypeForm::Tensor:
    case names::TypeForm::Param: return read_shaped(PatternKind::Tensor, subscript);
    case names::TypeForm::Tile: return read_shaped(PatternKind::Tile, subscript);
    case names::TypeForm::KTile: return read_shaped(PatternKind::KTile, subscript);
    case names::TypeForm::Tuple: return read_tuple(subscript.indices, subscript.loc);
    case names::TypeForm::KVCache: return read_state(StateKind::KVCache, subscript);
    case names::TypeForm::OptimizerState: return read_state(StateKind::OptimizerState, subscript);
    case names::TypeForm::Unsupported: {
      if (name->text == "Region") return region_without_type(subscript.loc);
      TypePattern pattern;
      pattern.loc = subscript.loc;
      pattern.kind = PatternKind::Other;
      pattern.name = std::string(name->text);
      return pattern;
    }
    default: break;  // a type without brackets, or no type
  }
  auto builder = evaluator_.report(diag::not_a_type, name->loc, fmt::format("'{}'", name->text));
  const ast::Expr* last = subscript.indices.empty() ? nullptr : subscript.indices.back();
  if (dtype_by_name(name->text) && last && last->loc.line == name->loc.line) {
    builder.fix("the dtype is the last part of a type",
                {{name->loc, "Tensor"}, {last->loc.behind(), fmt::format(", {}", name->text)}});
  } else if (std::string_view help = help_for_type(name->text); !help.empty()) {
    builder.help(std::string(help));
  } else if (!builder.suggest(evaluator_.session().sources(), name->loc, name->text, shaped_types())) {
    builder.help("types with dims are Tensor, Param, Tile and KTile");
  }
  return poison(subscript.loc);
}

TypePattern TypeReader::read_tuple(ast::ExprList elements, Loc loc) {
  TypePattern pattern;
  pattern.kind = PatternKind::Tuple;
  pattern.loc = loc;
  for (const ast::Expr* element : elements) {
    pattern.elements.push_back(read(*element));
    if (pattern.elements.back().kind == PatternKind::Poison) return poison(loc);
  }
  return pattern;
}

TypePattern TypeReader::read_privileged(const ast::PrivilegedType& privileged) {
  TypePattern pattern = read(*privileged.type);
  for (const ast::Expr* privilege : privileged.privileges) {
    const auto* name = ast::as<ast::Name>(privilege);
    if (!name) return malformed(privilege->loc, "a privilege of 'Region' is a name");
    pattern.privileges.push_back({std::string(name->text), name->loc});
  }
  return pattern;
}

/// KVCache["B", "H", "S_max", "D_h", dtype], or OptimizerState[parameter].
TypePattern TypeReader::read_state(StateKind kind, const ast::Subscript& subscript) {
  TypePattern pattern;
  if (kind == StateKind::OptimizerState) {
    if (subscript.indices.size() != 1) {
      return malformed(subscript.loc, "'OptimizerState' is that of one parameter: OptimizerState[w]");
    }
    pattern.kind = PatternKind::State;
    pattern.loc = subscript.loc;
    pattern.state_of = subscript.indices[0];
  } else {
    pattern = read_shaped(PatternKind::State, subscript);
    if (pattern.kind == PatternKind::Poison) return pattern;
    if (pattern.dims.size() != 4) {
      return malformed(subscript.loc,
                       "'KVCache' has four dims and a dtype: KVCache[\"B\", \"H\", \"S_max\", \"D_h\", bf16]");
    }
  }
  pattern.state = kind;
  return pattern;
}

/// `[KVCache[…]] * L`: a list of that many.
TypePattern TypeReader::read_repeated(const ast::List& list, const ast::Expr& count, Loc loc) {
  if (list.elements.size() != 1) return malformed(loc, "a type of a list repeats one type: [T] * n");
  std::optional<int64_t> times = evaluator_.expect_int(evaluator_.evaluate(count, scope_), count.loc,
                                                       "the length of a list");
  if (!times) return poison(loc);
  constexpr int64_t most = 4096;
  if (*times < 1 || *times > most) {
    return malformed(count.loc, fmt::format("a list of {} types is not between 1 and {}", *times, most));
  }
  TypePattern pattern;
  pattern.kind = PatternKind::Tuple;
  pattern.loc = loc;
  pattern.elements.assign(size_t(*times), read(*list.elements[0]));
  return pattern.elements[0].kind == PatternKind::Poison ? poison(loc) : pattern;
}

/// The row of a policy; null when there is none.
const names::PolicyRow* policy_row(const ast::Expr& policy) {
  const auto* call = ast::as<ast::Call>(&policy);
  const auto* name = ast::as<ast::Name>(call ? call->callee : &policy);
  return name ? names::find_policy(name->text) : nullptr;
}

/// Warns of a policy that types keep and that nothing reads yet.
void TypeReader::warn_of_unread(const ast::Expr& policy) {
  const names::PolicyRow* row = policy_row(policy);
  if (!row || row->is_read) return;
  evaluator_.report(diag::hint_no_effect, policy.loc, fmt::format("policy '@{}'", row->text), "any target")
      .note({}, "the policy is kept, and what it asks for is not there yet");
}

/// Reports a policy that does not stand behind such a thing; false.
bool TypeReader::unknown_policy(const ast::Expr& policy, names::PolicySubject subject) {
  const auto* call = ast::as<ast::Call>(&policy);
  const auto* name = ast::as<ast::Name>(call ? call->callee : &policy);
  const names::PolicyRow* row = policy_row(policy);
  bool takes_argument = row && row->form != row->text;
  if (row && row->subject == subject && takes_argument != (call != nullptr)) {
    std::string form = fmt::format("'@{}'{}", row->form, call ? " alone" : "");
    evaluator_.report(diag::wrong_kind, policy.loc, fmt::format("policy '@{}'", name->text),
                      call ? "given an argument" : "given no argument", form);
    return false;
  }
  auto builder = evaluator_.report(diag::unknown_policy, policy.loc, name ? name->text : "…");
  if (row) {
    builder.help(fmt::format("'@{}' stands behind {}", name->text, names::example_of(*row)));
    return false;
  }
  std::vector<std::string> names, forms;
  for (const names::PolicyRow* row : names::policies_of(subject)) {
    names.emplace_back(row->text);
    forms.push_back(fmt::format("@{}", row->form));
  }
  if (name && builder.suggest(evaluator_.session().sources(), name->loc, name->text, names)) return false;
  std::string_view of = subject == names::PolicySubject::Cache       ? " of a cache"
                        : subject == names::PolicySubject::Optimizer ? " of an optimiser's state"
                                                                       : "";
  builder.help(fmt::format("policies{} are {}", of, names::listed(forms)));
  return false;
}

bool TypeReader::read_device(const ast::Expr& argument) {
  Datum device = evaluator_.evaluate(argument, scope_);
  if (device.is_poison()) return false;
  if (device.object_as<Device>()) return true;
  evaluator_.blame().report_wrong_kind(argument.loc, "the argument of '@device'", device,
                               "a device, such as cpu, gpu or gpu[0]");
  return false;
}

bool TypeReader::set_state_policy(const ast::Expr& policy, TypePattern& pattern) {
  const auto* call = ast::as<ast::Call>(&policy);
  const auto* name = ast::as<ast::Name>(call ? call->callee : &policy);
  bool cache = pattern.state == StateKind::KVCache;
  StatePolicies& policies = pattern.state_policies;
  if (name && call && name->text == "device" && call->arguments.size() == 1) {
    return read_device(*call->arguments[0].value);
  }
  if (name && !call && cache && name->text == "rolling_window") return policies.rolling_window = true;
  if (name && !call && !cache && name->text == "fp32_master") return policies.fp32_master = true;
  if (name && !call && name->text == "paged") return policies.paged = true;
  if (name && !call && name->text == "checkpointable") return policies.checkpointable = true;
  if (policy.kind == ast::NodeKind::ErrorExpr) return false;
  return unknown_policy(policy, cache ? names::PolicySubject::Cache : names::PolicySubject::Optimizer);
}

TypePattern TypeReader::read_policy(const ast::Binary& binary) {
  TypePattern pattern = read(*binary.left);
  if (pattern.kind == PatternKind::Poison) return pattern;
  return add_policy(*binary.right, pattern) ? pattern : poison(binary.loc);
}

/// True when the index could be the layout that may follow the dtype.
bool is_layout(const ast::Expr& expr) {
  const auto* name = ast::as<ast::Name>(&expr);
  return name && names::is_word(name->text, names::WordKind::Layout);
}

TypePattern TypeReader::read_shaped(PatternKind kind, const ast::Subscript& subscript) {
  TypePattern pattern;
  pattern.kind = kind;
  pattern.loc = subscript.loc;
  ast::ExprList items = subscript.indices;
  if (items.size() > 1 && is_layout(*items.back())) {
    pattern.layout = std::string(ast::cast<ast::Name>(*items.back()).text);
    items = items.first(items.size() - 1);
  }
  // A KTile of strings alone takes its dtype from the argument.
  bool strings_only =
      kind == PatternKind::KTile && !items.empty() && items.back()->kind == ast::NodeKind::String;
  if (!strings_only) {
    if (items.empty() || !read_dtype(*items.back(), pattern)) return poison(subscript.loc);
    items = items.first(items.size() - 1);
  }
  for (const ast::Expr* item : items) {
    if (item->kind == ast::NodeKind::ErrorExpr) return poison(subscript.loc);
    if (item->kind == ast::NodeKind::List || item->kind == ast::NodeKind::Tuple) {
      evaluator_.report(diag::malformed_type, item->loc, "the dims of a type have no brackets of their own")
          .help("they stand in a row, and the dtype behind them: Tensor[B, D, f32]");
      return poison(subscript.loc);
    }
    if (item->kind == ast::NodeKind::Ellipsis) {
      evaluator_.report(diag::malformed_type, item->loc, "'...' stands for no dims: a type gives each of them")
          .help("give each a name: Tensor[A, B, D, f32]");
      return poison(subscript.loc);
    }
    bool is_open = item->kind == ast::NodeKind::None || ast::written_number(item).value_or(0) < 0;
    if (is_open) {
      std::string written = source_text(evaluator_.session().sources(), item->loc);
      evaluator_.report(diag::malformed_type, item->loc, fmt::format("'{}' is not a dimension of a type", written))
          .help(std::string(help_for_open_size));
      return poison(subscript.loc);
    }
    pattern.dims.push_back(read_dim(*item, kind));
    const DimPattern& dim = pattern.dims.back();
    if (!dim.expr && dim.symbol.empty() && dim.group.empty()) return poison(subscript.loc);
  }
  return pattern;
}

DimPattern TypeReader::read_dim(const ast::Expr& expr, PatternKind kind) {
  if (const auto* string = ast::as<ast::String>(&expr)) return read_string_dim(*string, kind);
  DimPattern dim;
  dim.loc = expr.loc;
  dim.expr = &expr;
  const auto* name = ast::as<ast::Name>(&expr);
  if (!name || !signature_) return dim;
  if (!signature_->declares_dim(name->text)) {
    if (!declares_) return dim;
    // A name that the file gives a value has it, also where that is no size; functions and the prelude may be hidden.
    std::optional<Datum> value = outside(*name);
    Scope* where = nullptr;
    bool has_value = value && !value->is(DatumKind::Function) && scope_.find(name->text, &where) && where->module();
    if (has_value || (value && value->is_poison())) return dim;
  }
  dim.symbol = std::string(name->text);
  use(signature_->dims, name->text, name->loc);
  return dim;
}

DimPattern TypeReader::read_string_dim(const ast::String& string, PatternKind kind) {
  DimPattern dim;
  dim.loc = string.loc;
  std::vector<std::string> factors;
  std::string_view rest = string.value;
  bool good = true;
  while (true) {
    size_t star = rest.find('*');
    std::string_view factor = rest.substr(0, star);
    bool name = !factor.empty() && !std::isdigit(static_cast<unsigned char>(factor[0])) &&
                std::all_of(factor.begin(), factor.end(), [](unsigned char c) {
                  return c < 0x80 && (std::isalnum(c) || c == '_');
                });
    good = good && name;
    factors.emplace_back(factor);
    if (star == std::string_view::npos) break;
    rest = rest.substr(star + 1);
  }
  if (!good || (factors.size() > 1 && kind != PatternKind::KTile) || factors.size() > 8) {
    evaluator_
        .report(diag::malformed_type, string.loc,
                fmt::format("dimension \"{}\" is not a name", string.value))
        .help("a string dimension is one name; only KTile takes products such as \"B*H\"");
    return dim;
  }
  if (signature_) {
    for (const std::string& factor : factors) use(signature_->dims, factor, string.loc);
  }
  if (factors.size() == 1) {
    dim.symbol = factors[0];
  } else {
    dim.group = std::move(factors);
  }
  return dim;
}

bool TypeReader::read_dtype(const ast::Expr& expr, TypePattern& pattern) {
  if (const auto* name = ast::as<ast::Name>(&expr)) return read_dtype_name(*name, pattern);
  if (const auto* binary = ast::as<ast::Binary>(&expr);
      binary && binary->op == ast::BinaryOp::MatMul) {
    return read_dtype(*binary->left, pattern) && add_policy(*binary->right, pattern);
  }
  if (const auto* call = ast::as<ast::Call>(&expr)) {
    const auto* callee = ast::as<ast::Name>(call->callee);
    const auto* format =
        call->arguments.size() == 1 ? ast::as<ast::Name>(call->arguments[0].value) : nullptr;
    if (callee && format && (callee->text == "fp8" || callee->text == "f8")) {
      std::optional<DType> dtype = dtype_by_name("f8" + std::string(format->text));
      if (dtype) {
        pattern.dtype = *dtype;
        return true;
      }
    }
  }
  if (expr.kind == ast::NodeKind::ErrorExpr) return false;
  auto builder = evaluator_.report(diag::malformed_type, expr.loc, "the last part of this type is not a dtype");
  const auto* member = ast::as<ast::Attribute>(&expr);
  const auto* string = ast::as<ast::String>(&expr);
  std::string_view name = member ? member->name.text : string ? std::string_view(string->value) : "";
  std::string here(dtype_here(name));
  if (!here.empty()) {
    builder.fix(string ? "a dtype has no quotes" : "dtypes stand alone", expr.loc, here);
  } else {
    builder.help("write dims first and the dtype last: Tensor[B, D, f32]");
  }
  return false;
}

bool TypeReader::read_dtype_name(const ast::Name& name, TypePattern& pattern) {
  if (std::optional<DType> dtype = dtype_by_name(name.text)) {
    pattern.dtype = *dtype;
    return true;
  }
  std::optional<Datum> value;
  if (!signature_ || !signature_->declares_dtype(name.text)) {
    value = outside(name);
    if (value && value->is(DatumKind::DType)) {
      pattern.dtype = value->as_dtype();
      pattern.policies = value->dtype_policies();
      return true;
    }
    if (value && value->is_poison()) return false;
    if (std::string_view here = dtype_here(name.text); !here.empty()) {
      evaluator_.report(diag::malformed_type, name.loc, fmt::format("'{}' is not a dtype", name.text))
          .fix(fmt::format("the dtype is {}", here), name.loc, std::string(here));
      return false;
    }
  }
  bool known = signature_ && signature_->declares_dtype(name.text);
  bool sized = value && (value->is(DatumKind::Int) || value->is(DatumKind::Dim));
  if (!value && !known && !declares_) {
    report_unknown_dtype(evaluator_.blame(), name);
    return false;
  }
  if (sized || (!known && !declares_)) {
    evaluator_.report(diag::malformed_type, name.loc, fmt::format("'{}' is not a dtype", name.text))
        .help("write dims first and the dtype last: Tensor[B, D, f32]");
    return false;
  }
  pattern.dtype_symbol = std::string(name.text);
  use(signature_->dtypes, name.text, name.loc);
  return true;
}

bool TypeReader::add_policy(const ast::Expr& policy, TypePattern& pattern) {
  bool is_state = pattern.kind == PatternKind::State;
  bool is_set = is_state ? set_state_policy(policy, pattern)
                         : set_policy(policy, pattern) && check_accum(pattern, policy.loc);
  if (is_set) warn_of_unread(policy);
  return is_set;
}

bool TypeReader::set_policy(const ast::Expr& policy, TypePattern& pattern) {
  const auto* call = ast::as<ast::Call>(&policy);
  const auto* name = ast::as<ast::Name>(call ? call->callee : &policy);
  const ast::Expr* argument =
      call && call->arguments.size() == 1 ? call->arguments[0].value : nullptr;
  if (name && name->text == "accum" && argument) {
    TypePattern accum;
    if (!read_dtype(*argument, accum)) return false;
    if (pattern.policies.accum && *pattern.policies.accum != accum.dtype) {
      evaluator_.report(diag::accum_conflict, policy.loc, to_string(*pattern.policies.accum),
                        to_string(accum.dtype));
      return false;
    }
    pattern.policies.accum = accum.dtype;
    return true;
  }
  if (name && name->text == "stochastic_round" && !call) {
    pattern.policies.stochastic_round = true;
    bool is_rounded = is_float(pattern.dtype) && dtype_info(pattern.dtype).bits < 32;
    if (pattern.dtype_symbol.empty() && !is_rounded) {
      evaluator_
          .report(diag::hint_no_effect, policy.loc, "policy '@stochastic_round'", to_string(pattern.dtype))
          .help("it is for floats of fewer than 32 bits: bf16, f16, f8e4m3, f8e5m2");
    }
    return true;
  }
  if (name && name->text == "saturate" && !call) {
    pattern.policies.saturate = true;
    if (pattern.dtype_symbol.empty() && pattern.dtype == DType::Bool) {
      evaluator_.report(diag::hint_no_effect, policy.loc, "policy '@saturate'", "bool")
          .help("it is for numbers, of which a dtype has a greatest");
    }
    return true;
  }
  if (name && name->text == "loss_scale" && argument) {
    std::optional<int64_t> scale = evaluator_.expect_int(evaluator_.evaluate(*argument, scope_),
                                                         argument->loc, "the loss scale");
    if (scale && *scale < 1) {
      evaluator_.report(diag::wrong_kind, argument->loc, "the loss scale", fmt::format("{}", *scale),
                        "an integer from 1 up");
      return false;
    }
    pattern.policies.loss_scale = scale;
    return scale.has_value();
  }
  if (policy.kind == ast::NodeKind::ErrorExpr) return false;
  return unknown_policy(policy, names::PolicySubject::DType);
}

bool TypeReader::check_accum(const TypePattern& pattern, Loc loc) {
  if (!pattern.policies.accum || !pattern.dtype_symbol.empty()) return true;
  if (widens_to(pattern.dtype, *pattern.policies.accum)) return true;
  evaluator_.report(diag::accum_narrower, loc, to_string(*pattern.policies.accum),
                    to_string(pattern.dtype));
  return false;
}

/// How often a name is written in the body, the `where` clauses and the defaults of a function.
unsigned count_mentions(const ast::Def& def, std::string_view name) {
  unsigned count = 0;
  auto visit = [&](const ast::Node& node) {
    const auto* mention = ast::as<ast::Name>(&node);
    if (mention && mention->text == name) ++count;
  };
  for (const ast::Stmt* stmt : def.body) ast::walk(*stmt, visit);
  for (const ast::Expr* clause : def.where) ast::walk(*clause, visit);
  for (const ast::Parameter& parameter : def.parameters) {
    if (parameter.default_value) ast::walk(*parameter.default_value, visit);
  }
  return count;
}

void check_dtype_symbols(Evaluator& evaluator, const Function& function, Signature& signature) {
  const ast::Def& def = *function.def;
  const Scope& scope = *function.scope;
  // The standard library means what it writes.
  bool library = scope.module() && scope.module()->builtin;
  for (const DeclaredSymbol& symbol : signature.dims) {
    if (library || !dtype_by_name(symbol.name)) continue;
    evaluator.report(diag::dtype_is_dimension, symbol.loc, symbol.name)
        .help("write dims first and the dtype last: Tensor[B, D, f32]");
    signature.failed = true;
  }
  for (const DeclaredSymbol& symbol : signature.dtypes) {
    auto dim = find_symbol(signature.dims, symbol.name);
    if (dim != signature.dims.end()) {
      evaluator.report(diag::dtype_is_dimension, symbol.loc, symbol.name)
          .label(dim->loc, "it is a dimension here")
          .help("write dims first and the dtype last: Tensor[B, D, f32]");
      signature.failed = true;
    } else if (!library && symbol.uses == 1 && count_mentions(def, symbol.name) == 0) {
      if (function.kind == FunctionKind::Jit) continue;  // an entry that leaves it open is refused
      auto builder = evaluator.report(diag::unused_dtype_parameter, symbol.loc, symbol.name);
      std::vector<std::string> names;
      for (std::string_view name : dtype_names()) names.emplace_back(name);
      builder.suggest(evaluator.session().sources(), symbol.loc, symbol.name, names);
    }
  }
}

/// A name cannot be a size and a parameter that is a tensor.
void check_size_parameters(Evaluator& evaluator, const Function& function, Signature& signature) {
  for (const ast::Parameter& parameter : function.parameters()) {
    auto dim = find_symbol(signature.dims, parameter.name.text);
    bool is_tensor = parameter.annotation && parameter.annotation->kind == ast::NodeKind::Subscript;
    if (dim == signature.dims.end() || !is_tensor) continue;
    evaluator
        .report(diag::malformed_type, dim->loc,
                fmt::format("'{}' is both a size and a tensor of this signature", dim->name))
        .label(parameter.name.loc, "it is a tensor here")
        .help("give the size a name of its own, such as B");
    signature.failed = true;
  }
}

/// Parameters `n: int`, `n: dim` and `T: dtype` name symbols wherever they stand in the list.
void declare_symbol_parameters(const Function& function, Signature& signature) {
  for (const ast::Parameter& parameter : function.parameters()) {
    const auto* type = ast::as<ast::Name>(parameter.annotation);
    if (!type) continue;
    DeclaredSymbol symbol{std::string(parameter.name.text), parameter.loc, 1};
    if (type->text == "int" || type->text == "dim") signature.dims.push_back(symbol);
    if (type->text == "dtype") {
      symbol.uses = 2;
      signature.dtypes.push_back(symbol);
    }
  }
}

}  // namespace

bool Signature::declares_dim(std::string_view name) const {
  return find_symbol(dims, name) != dims.end();
}

bool Signature::declares_dtype(std::string_view name) const {
  return find_symbol(dtypes, name) != dtypes.end();
}

namespace {

/// A kernel that draws without a seed has one more parameter, which its calls may leave out.
void add_seed(const Session& session, const Function& function, Signature& signature) {
  static const ast::None nothing{{{ast::NodeKind::None, {}}}};
  if (function.kind != FunctionKind::Kernel) return;
  std::vector<const ast::Call*> draws = draws_by_call(session, function);
  if (draws.empty()) return;
  SignatureParameter seed;
  seed.name = std::string(seed_of_call);
  seed.type.kind = PatternKind::Tensor;
  seed.type.dtype = DType::U64;
  seed.type.loc = draws[0]->loc;
  seed.default_value = &nothing;
  seed.keyword_only = true;
  seed.loc = draws[0]->loc;
  signature.parameters.push_back(std::move(seed));
}

}  // namespace

Signature read_signature(Evaluator& evaluator, const Function& function) {
  const ast::Def& def = *function.def;
  Scope& scope = *function.scope;
  Signature signature;
  declare_symbol_parameters(function, signature);
  TypeReader parameters(evaluator, scope, &signature, true);
  for (const ast::Parameter& parameter : function.parameters()) {
    SignatureParameter read;
    read.name = std::string(parameter.name.text);
    read.default_value = parameter.default_value;
    read.keyword_only = parameter.keyword_only;
    read.loc = parameter.loc;
    if (parameter.annotation) read.type = parameters.read(*parameter.annotation);
    for (const SignatureParameter& earlier : signature.parameters) {
      if (earlier.name != read.name || read.name.empty()) continue;
      evaluator.report(diag::duplicate_parameter, parameter.loc, read.name)
          .label(earlier.loc, "it is declared here first");
      signature.failed = true;
    }
    signature.parameters.push_back(std::move(read));
  }
  add_seed(evaluator.session(), function, signature);
  if (def.return_type) {
    TypeReader result(evaluator, scope, &signature, false);
    signature.result = result.read(*def.return_type);
  }
  if (!signature.failed) check_dtype_symbols(evaluator, function, signature);
  if (!signature.failed) check_size_parameters(evaluator, function, signature);
  return signature;
}

TypePattern read_type(Evaluator& evaluator, const ast::Expr& expr, Scope& scope) {
  return TypeReader(evaluator, scope, nullptr, false).read(expr);
}

std::optional<DTypeValue> with_policy(Evaluator& evaluator, const DTypeValue& dtype, const ast::Expr& policy,
                                      Scope& scope) {
  TypePattern pattern;
  pattern.dtype = dtype.dtype;
  pattern.policies = dtype.policies;
  if (!TypeReader(evaluator, scope, nullptr, false).add_policy(policy, pattern)) return std::nullopt;
  return DTypeValue{pattern.dtype, pattern.policies};
}

}  // namespace tessera::frontend
