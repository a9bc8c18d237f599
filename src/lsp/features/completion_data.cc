#include "lsp/features/completion_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lsp/features/describe_symbol.h"
#include "lsp/features/describe_values.h"
#include "lsp/features/features.h"

namespace tessera::lsp {

namespace {

/// What a name of a function is, where it gets its meaning.
std::optional<Symbol> local_of(Resolver& resolver, FileModel& file, const std::string& name, int64_t at) {
  if (at < 0 || size_t(at) >= file.text().size()) return std::nullopt;
  auto place = resolver.name_at(file, uint32_t(at));
  auto symbol = place ? resolver.resolve(*place) : std::nullopt;
  // The text may be another one by now.
  bool is_it = symbol && symbol->local && symbol->name == name;
  return is_it ? symbol : std::nullopt;
}

std::optional<Symbol> symbol_of_data(Context& context, const Json& data) {
  std::string name = text_at(data, "name");
  if (auto kind = integer_at(data, "word")) {
    for (const Word& word : words()) {
      if (int64_t(word.kind) == *kind && word.text == name) return word_symbol(word);
    }
    return std::nullopt;
  }
  if (std::string table = text_at(data, "table"); !table.empty()) {
    const frontend::Builtin* op = table == "ops" ? find_op(name) : find_tile_op(name);
    return op ? std::optional(builtin_symbol(*op)) : std::nullopt;
  }
  FileModel* file = context.workspace.known(text_at(data, "path"));
  if (!file) return std::nullopt;
  Resolver resolver(context.workspace);
  if (auto at = integer_at(data, "at")) return local_of(resolver, *file, name, *at);
  std::string owner = text_at(data, "owner");
  const Piece* piece = nullptr;
  const Declared* found = file->find(owner.empty() ? name : owner, &piece);
  if (found && !owner.empty()) {
    for (const Declared& member : found->members) {
      if (member.name == name) return resolver.declared(*file, *piece, member, false);
    }
    return std::nullopt;
  }
  return found ? resolver.declared(*file, *piece, *found) : std::nullopt;
}

}  // namespace

Json data_of(const Symbol& symbol) {
  if (symbol.builtin) return {{"table", symbol.builtin->table}, {"name", symbol.builtin->name}};
  if (symbol.word) return {{"word", int(symbol.word->kind)}, {"name", symbol.word->text}};
  if (!symbol.file) return nullptr;
  const std::string& path = symbol.file->path();
  if (symbol.local) return {{"path", path}, {"name", symbol.name}, {"at", symbol.range.begin}};
  if (!symbol.declared) return nullptr;
  std::string owner;
  bool is_member = symbol.kind == SymbolKind::Field || symbol.kind == SymbolKind::Method;
  std::string key = symbol.key.substr(std::min(symbol.key.size(), path.size() + 1));
  if (is_member) owner = key.substr(0, key.rfind('.'));
  return {{"path", path}, {"name", symbol.declared->name}, {"owner", owner}};
}

Json data_of_argument(const Symbol& callee, const std::string& name) {
  Json data = data_of(callee);
  if (data.is_object()) data["argument"] = name;
  return data;
}

Json resolve_completion(Context& context, const Json& item) {
  Json out = item;
  if (!item.is_object()) return out;
  const Json& data = member(item, "data");
  auto symbol = symbol_of_data(context, data);
  if (!symbol) return out;
  std::string argument = text_at(data, "argument");
  std::string text = argument.empty() ? describe(*symbol) : describe_argument(*symbol, argument);
  std::string of_callee = argument.empty() || text.empty() ? "" : documentation(*symbol);
  if (!of_callee.empty()) text += "\n\n" + of_callee;
  if (symbol->local && argument.empty()) text += describe_values(context, *symbol);
  if (text.empty()) return out;
  out["documentation"] = markup(context.client.markdown_completion, text);
  return out;
}

}  // namespace tessera::lsp
