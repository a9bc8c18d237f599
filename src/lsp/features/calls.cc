// The call hierarchy: the callers of a function, and the functions it calls.

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "frontend/syntax/ast_walk.h"
#include "lsp/features/features.h"
#include "lsp/features/symbol_kinds.h"
#include "lsp/features/usages.h"

namespace tessera::lsp {

namespace {

/// A callable of a file.
bool is_function(const Symbol& symbol) { return symbol.declared && is_callable(symbol.kind); }

/// The item of a symbol; `data` finds it again by its place.
Json item_of(Context& context, const Symbol& symbol) {
  return {{"name", symbol.name},
          {"kind", protocol_kind(symbol.kind)},
          {"detail", std::string(describe(symbol.kind))},
          {"uri", context.workspace.uri(*symbol.file)},
          {"range", range_json(context, *symbol.file, symbol.full_range)},
          {"selectionRange", range_json(context, *symbol.file, symbol.range)},
          {"data", symbol.key}};
}

/// The symbol that an item was made of, if it is still there.
std::optional<Symbol> symbol_of(Context& context, const Json& params) {
  const Json& item = member(params, "item");
  Json place = {{"textDocument", {{"uri", text_at(item, "uri")}}},
                {"position", member(member(item, "selectionRange"), "start")}};
  FileModel* file = file_of(context, place);
  if (!file) return std::nullopt;
  Resolver resolver(context.workspace);
  auto name = resolver.name_at(*file, offset_of(context, *file, place));
  auto symbol = name ? resolver.resolve(*name) : std::nullopt;
  return symbol && symbol->key == text_at(item, "data") ? symbol : std::nullopt;
}

/// The function around an offset.
std::optional<Symbol> enclosing(Context& context, FileModel& file, uint32_t offset) {
  Resolver resolver(context.workspace);
  const Piece* piece = file.piece_at(offset);
  if (!piece) return std::nullopt;
  for (const Declared& declared : piece->names.declared) {
    if (!piece->in_document(declared.range).contains(offset)) continue;
    auto holder = resolver.declared(file, *piece, declared, false);
    for (const Declared& member : declared.members) {
      bool inside = member.kind == SymbolKind::Method && piece->in_document(member.range).contains(offset);
      if (!inside) continue;
      auto name = resolver.name_at(file, piece->in_document(member.name_range).begin);
      return name ? resolver.resolve(*name) : std::nullopt;
    }
    return holder && is_function(*holder) ? holder : std::nullopt;
  }
  return std::nullopt;
}

/// Where the names of what is called begin, each in its piece: `f` of `f(x)`, `b` of `a.b[i](x)`.
std::set<uint32_t> called_names(const Piece& piece) {
  std::set<uint32_t> begins;
  for (const ast::Declaration& declaration : piece.declarations) {
    ast::walk(*declaration.stmt, [&](const ast::Node& node) {
      const auto* call = ast::as<ast::Call>(&node);
      const ast::Expr* callee = call ? call->callee : nullptr;
      while (const auto* element = ast::as<ast::Subscript>(callee)) callee = element->object;
      const auto* attribute = ast::as<ast::Attribute>(callee);
      if (!callee || (!attribute && !ast::as<ast::Name>(callee))) return;
      Loc loc = attribute ? attribute->name.loc : callee->loc;
      if (loc.file == piece.file) begins.insert(piece.range(loc).begin);
    });
  }
  return begins;
}

/// Calls of instances, whose method `__call__` is not named.
std::vector<NamePlace> calls_of_instances(Context& context, const Symbol& method) {
  std::vector<FileModel*> files = context.workspace.all_files();
  if (std::find(files.begin(), files.end(), method.file) == files.end()) files.push_back(method.file);
  Resolver resolver(context.workspace);
  std::vector<NamePlace> found;
  for (FileModel* file : files) {
    if (context.is_cancelled()) break;
    for (const std::shared_ptr<Piece>& piece : file->pieces()) {
      for (uint32_t begin : called_names(*piece)) {
        const Occurrence* name = piece->names.beginning_at(begin);
        auto called = name ? resolver.resolve({file, piece.get(), name}) : std::nullopt;
        auto callee = called && called->key != method.key ? resolver.callee(*called) : std::nullopt;
        if (callee && callee->key == method.key) found.push_back({file, piece.get(), name});
      }
    }
  }
  return found;
}

/// Calls, each side once with all its places.
class Grouped {
 public:
  Grouped(Context& context, const char* side) : context_(context), side_(side) {}
  void add(const Symbol& symbol, const FileModel& file, Range range) {
    auto [at, fresh] = by_key_.try_emplace(symbol.key, out_.size());
    if (fresh) out_.push_back({{side_, item_of(context_, symbol)}, {"fromRanges", Json::array()}});
    out_[at->second]["fromRanges"].push_back(range_json(context_, file, range));
  }
  Json take() { return std::move(out_); }

 private:
  Context& context_;
  const char* side_;
  std::map<std::string, size_t> by_key_;
  Json out_ = Json::array();
};

}  // namespace

Json prepare_call_hierarchy(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  Resolver resolver(context.workspace);
  auto name = file ? resolver.name_at(*file, offset_of(context, *file, params)) : std::nullopt;
  auto symbol = name ? resolver.resolve(*name) : std::nullopt;
  auto callee = symbol ? resolver.callee(*symbol) : std::nullopt;
  if (!callee || !is_function(*callee)) return nullptr;
  return Json::array({item_of(context, *callee)});
}

Json incoming_calls(Context& context, const Json& params) {
  auto symbol = symbol_of(context, params);
  if (!symbol) return nullptr;
  Grouped calls(context, "from");
  for (const Usage& usage : all_usages(context, *symbol, *symbol->file)) {
    bool declares = usage.writes || (&usage.file() == symbol->file && usage.range() == symbol->range);
    auto caller = declares ? std::nullopt : enclosing(context, usage.file(), usage.range().begin);
    if (caller) calls.add(*caller, usage.file(), usage.range());
  }
  bool is_call = symbol->kind == SymbolKind::Method && symbol->name == "__call__";
  for (const NamePlace& place : is_call ? calls_of_instances(context, *symbol) : std::vector<NamePlace>()) {
    auto caller = enclosing(context, *place.file, place.range().begin);
    if (caller) calls.add(*caller, *place.file, place.range());
  }
  return calls.take();
}

Json outgoing_calls(Context& context, const Json& params) {
  auto symbol = symbol_of(context, params);
  if (!symbol) return nullptr;
  Resolver resolver(context.workspace);
  Grouped calls(context, "to");
  std::set<uint32_t> called = called_names(*symbol->piece);
  for (const Occurrence& occurrence : symbol->piece->names.occurrences) {
    Range range = symbol->piece->in_document(occurrence.range);
    if (!symbol->full_range.contains(range.begin) || range == symbol->range) continue;
    auto used = resolver.resolve({symbol->file, symbol->piece, &occurrence});
    auto callee = used ? resolver.callee(*used) : std::nullopt;
    // An instance that is only named is not called.
    bool names = callee && (callee->key == used->key || called.count(occurrence.range.begin) != 0);
    if (names && is_function(*callee)) calls.add(*callee, *symbol->file, range);
  }
  return calls.take();
}

}  // namespace tessera::lsp
