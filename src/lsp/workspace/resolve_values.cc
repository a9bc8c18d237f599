// Kinds of values, as far as the text determines them: instances of modules, schedules, functions.
// That is enough for members and keyword arguments; shapes come from the evaluation.

#include <fmt/format.h>

#include "lsp/workspace/resolve.h"

namespace tessera::lsp {

namespace {

/// The source of the value of a field, a constant or a variable.
const ast::Expr* value_of(const Symbol& symbol) {
  if (symbol.local) return symbol.local->origin;
  const ast::Stmt* stmt = symbol.declared ? symbol.declared->stmt : nullptr;
  if (const auto* constant = ast::as<ast::Const>(stmt)) return constant->value;
  const auto* assign = ast::as<ast::Assign>(stmt);
  if (!assign) return nullptr;
  // A field's module stands where its type would.
  return symbol.kind == SymbolKind::Field ? assign->annotation : assign->value;
}

const ast::Expr* type_of(const Symbol& symbol) {
  if (symbol.local && symbol.local->parameter) return symbol.local->parameter->annotation;
  const ast::Stmt* stmt = symbol.declared ? symbol.declared->stmt : nullptr;
  if (const auto* param = ast::as<ast::Param>(stmt)) return param->annotation;
  const auto* assign = ast::as<ast::Assign>(stmt);
  return assign ? assign->annotation : nullptr;
}

/// The function that a symbol names; null for anything else.
const ast::Def* definition_of(const Symbol& symbol) {
  if (symbol.local) return symbol.local->def;
  return symbol.declared ? ast::as<ast::Def>(symbol.declared->stmt) : nullptr;
}

/// A member that is a tensor.
bool is_tensor_member(const Word& word) {
  bool state = word.kind == WordKind::CacheMember || word.kind == WordKind::OptimizerMember;
  if (word.kind == WordKind::TensorMember) return word.text == "T";
  return state && (word.text == "K" || word.text == "V" || word.text == "m" || word.text == "v" ||
                   word.text == "master");
}

/// The sort of values of a type's name.
ValueSort sort_of_type(std::string_view name) {
  const names::TypeRow* type = names::find_type(name);
  switch (type ? type->form : names::TypeForm::Unsupported) {
    case names::TypeForm::Tensor:
    case names::TypeForm::Param:
    case names::TypeForm::Tile:
    case names::TypeForm::KTile: return ValueSort::Tensor;
    case names::TypeForm::KVCache: return ValueSort::Cache;
    case names::TypeForm::OptimizerState: return ValueSort::Optimizer;
    case names::TypeForm::Schedule: return ValueSort::Schedule;
    default: return ValueSort::Unknown;
  }
}

}  // namespace

bool is_callable(SymbolKind kind) {
  switch (kind) {
    case SymbolKind::Function:
    case SymbolKind::Entry:
    case SymbolKind::Kernel:
    case SymbolKind::Method:
    case SymbolKind::Module:
    case SymbolKind::Builtin: return true;
    default: return false;
  }
}

std::span<const WordKind> member_words(ValueSort sort) {
  static constexpr WordKind tensor[] = {WordKind::TensorMember};
  static constexpr WordKind cache[] = {WordKind::CacheMember, WordKind::StateMember};
  static constexpr WordKind optimizer[] = {WordKind::OptimizerMember, WordKind::StateMember};
  static constexpr WordKind schedule[] = {WordKind::ScheduleMember};
  static constexpr WordKind unknown[] = {WordKind::TensorMember, WordKind::CacheMember, WordKind::StateMember};
  switch (sort) {
    case ValueSort::Tensor: return tensor;
    case ValueSort::Cache: return cache;
    case ValueSort::Optimizer: return optimizer;
    case ValueSort::Schedule: return schedule;
    case ValueSort::Unknown: return unknown;
    case ValueSort::Name:
    case ValueSort::Instance: break;
  }
  return {};
}

Meaning Resolver::meaning_of(const Symbol& symbol) {
  Deeper deeper(followed_);
  if (symbol.word && is_tensor_member(*symbol.word)) return {ValueSort::Tensor, {}};
  if (deeper.too_deep() || is_callable(symbol.kind) || symbol.word || !symbol.piece) return {ValueSort::Name, symbol};
  if (symbol.kind == SymbolKind::File || symbol.kind == SymbolKind::Namespace) return {ValueSort::Name, symbol};
  if (symbol.kind == SymbolKind::Self) {
    auto module = declared_name(*symbol.file, *symbol.piece, symbol.local->owner, false);
    return module ? Meaning{ValueSort::Instance, std::move(module)} : Meaning{};
  }
  Meaning found = meaning_of_type(*symbol.file, *symbol.piece, type_of(symbol));
  if (found.sort == ValueSort::Unknown) found = meaning_of(*symbol.file, *symbol.piece, value_of(symbol));
  if (found.sort == ValueSort::Unknown) found.symbol = symbol;
  return found;
}

/// Of a parameter, a param or a variable with a type; a list of values is as good as one.
Meaning Resolver::meaning_of_type(FileModel& file, const Piece& piece, const ast::Expr* type) {
  Deeper deeper(followed_);
  if (!type || deeper.too_deep()) return {};
  switch (type->kind) {
    case ast::NodeKind::Name: return {sort_of_type(ast::cast<ast::Name>(*type).text), {}};
    case ast::NodeKind::Subscript: return meaning_of_type(file, piece, ast::cast<ast::Subscript>(*type).object);
    case ast::NodeKind::PrivilegedType: return meaning_of_type(file, piece, ast::cast<ast::PrivilegedType>(*type).type);
    case ast::NodeKind::Binary: return meaning_of_type(file, piece, ast::cast<ast::Binary>(*type).left);
    case ast::NodeKind::List: {
      ast::ExprList elements = ast::cast<ast::List>(*type).elements;
      return elements.empty() ? Meaning{} : meaning_of_type(file, piece, elements[0]);
    }
    default: return {};
  }
}

Meaning Resolver::meaning_of(FileModel& file, const Piece& piece, const ast::Expr* value) {
  Deeper deeper(followed_);
  if (!value || deeper.too_deep()) return {};
  switch (value->kind) {
    case ast::NodeKind::Name: return meaning_of_name(file, piece, value->loc);
    case ast::NodeKind::Attribute: return meaning_of_name(file, piece, ast::cast<ast::Attribute>(*value).name.loc);
    case ast::NodeKind::Call: return meaning_of_call(file, piece, ast::cast<ast::Call>(*value));
    case ast::NodeKind::Subscript: {
      Meaning object = meaning_of(file, piece, ast::cast<ast::Subscript>(*value).object);
      return object.sort == ValueSort::Name ? Meaning{} : object;
    }
    case ast::NodeKind::Comprehension: return meaning_of(file, piece, ast::cast<ast::Comprehension>(*value).element);
    case ast::NodeKind::Conditional: return meaning_of(file, piece, ast::cast<ast::Conditional>(*value).then_value);
    case ast::NodeKind::List: {
      ast::ExprList elements = ast::cast<ast::List>(*value).elements;
      return elements.empty() ? Meaning{} : meaning_of(file, piece, elements[0]);
    }
    case ast::NodeKind::Binary: {
      // `[Block(D)] * n`
      const auto& binary = ast::cast<ast::Binary>(*value);
      if (ast::as<ast::List>(binary.left)) return meaning_of(file, piece, binary.left);
      Meaning left = meaning_of(file, piece, binary.left);
      return left.sort == ValueSort::Tensor ? left : meaning_of(file, piece, binary.right);
    }
    default: return {};
  }
}

Meaning Resolver::meaning_of_name(FileModel& file, const Piece& piece, Loc loc) {
  const Occurrence* name = loc.file == piece.file ? piece.names.beginning_at(piece.range(loc).begin) : nullptr;
  auto symbol = name ? resolve({&file, &piece, name}) : std::nullopt;
  return symbol ? meaning_of(*symbol) : Meaning{};
}

Meaning Resolver::meaning_of_call(FileModel& file, const Piece& piece, const ast::Call& call) {
  Meaning callee = meaning_of(file, piece, call.callee);
  const auto* attribute = ast::as<ast::Attribute>(call.callee);
  const Word* word = callee.symbol ? callee.symbol->word : nullptr;
  // The same kernel under another schedule; the cache with more in it.
  bool same = word && attribute && (word->kind == WordKind::KernelMember || word->kind == WordKind::StateMember ||
                                    word->text == "append" || word->text == "prune");
  return same ? meaning_of(file, piece, attribute->object) : result_of(callee);
}

Meaning Resolver::result_of(const Meaning& callee) {
  if (callee.sort != ValueSort::Name || !callee.symbol) return {};
  const Symbol& symbol = *callee.symbol;
  if (symbol.kind == SymbolKind::Module) return {ValueSort::Instance, symbol};
  if (symbol.word && symbol.word->kind == WordKind::ScheduleMember) return {ValueSort::Schedule, {}};
  if (symbol.kind == SymbolKind::Kernel) return {ValueSort::Tensor, {}};
  const ast::Def* def = definition_of(symbol);
  if (def) return meaning_of_type(*symbol.file, *symbol.piece, def->return_type);
  if (!symbol.builtin) return {};
  if (symbol.name == "Schedule" || symbol.name == "block") return {ValueSort::Schedule, {}};
  return {symbol.builtin->elementwise != ElementwiseKind::None ? ValueSort::Tensor : ValueSort::Unknown, {}};
}

Meaning Resolver::meaning_of_parent(const NamePlace& place) {
  const Occurrence& occurrence = *place.occurrence;
  if (occurrence.parent < 0) return meaning_of(*place.file, *place.piece, occurrence.object);
  NamePlace outer = place;
  outer.occurrence = &place.piece->names.occurrences[size_t(occurrence.parent)];
  std::optional<Symbol> parent = resolve(outer);
  return parent ? meaning_of(*parent) : Meaning{};
}

std::optional<Symbol> Resolver::member(const Meaning& object, std::string_view name) {
  Deeper deeper(followed_);
  if (deeper.too_deep()) return std::nullopt;
  if (object.sort == ValueSort::Instance) return own_member(object.symbol, name);
  if (object.sort != ValueSort::Name) {
    for (WordKind kind : member_words(object.sort)) {
      if (const Word* word = find_member_word(name, kind)) return word_symbol(*word);
    }
    return std::nullopt;
  }
  const Symbol& symbol = *object.symbol;
  if (symbol.kind == SymbolKind::Kernel) {
    const Word* word = find_word(name, WordKind::KernelMember);
    return word ? std::optional(word_symbol(*word)) : std::nullopt;
  }
  return linked(linker_.member(module_of(symbol), name));
}

std::optional<Symbol> Resolver::called_with(const NamePlace& argument) {
  bool by_name = argument.occurrence->kind == OccurrenceKind::Argument;
  return by_name ? callee(meaning_of_parent(argument)) : std::nullopt;
}

std::optional<Symbol> Resolver::callee(const Meaning& meaning) {
  if (!meaning.symbol) return std::nullopt;
  if (meaning.sort == ValueSort::Instance) return own_member(meaning.symbol, "__call__");
  bool known = meaning.sort == ValueSort::Name && is_callable(meaning.symbol->kind);
  return known ? meaning.symbol : std::nullopt;
}

}  // namespace tessera::lsp
