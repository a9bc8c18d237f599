// What may stand at the cursor, best first: keyword arguments of the call, what the function and the
// file have, then what the language has. The client filters by what is typed.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "lsp/features/cursor.h"
#include "lsp/features/describe_symbol.h"
#include "lsp/features/features.h"
#include "lsp/features/symbol_kinds.h"
#include "frontend/embedded.h"

namespace tessera::lsp {

namespace {

constexpr int item_keyword = 14;
constexpr int item_file = 17;
constexpr int item_argument = 5;
constexpr size_t most_items = 2000;

class Completer {
 public:
  Completer(Context& context, FileModel& file, uint32_t offset)
      : context_(context), file_(file), offset_(offset), cursor_(file, offset), resolver_(context.workspace) {}

  Json run();

 private:
  // What is offered, by place.
  void members();
  void decorators();
  void imports();
  void imported_names();
  void arguments(const OpenBracket& call);
  void types();
  void dimensions();
  void words(WordKind kind, char order);
  void statement_words();
  void expression_words();
  void names(char order);
  void directives();

  bool in_type() const;
  std::optional<Symbol> name_before(int32_t index);
  void add(const Symbol& symbol, char order);
  void add_plain(const std::string& label, int kind, const std::string& detail, char order,
                 const std::string& insert = "");
  void add_word(const Word& word, char order, Range replaced);

  Context& context_;
  FileModel& file_;
  uint32_t offset_;
  Cursor cursor_;
  Resolver resolver_;
  Json items_ = Json::array();
  std::set<std::string> labels_;
};

/// What resolve_completion finds the symbol by.
Json data_of(const Symbol& symbol) {
  if (symbol.builtin) return {{"table", symbol.builtin->table}, {"name", symbol.builtin->name}};
  if (symbol.word) return {{"word", int(symbol.word->kind)}, {"name", symbol.word->text}};
  if (!symbol.declared || !symbol.file) return nullptr;
  std::string owner;
  bool is_member = symbol.kind == SymbolKind::Field || symbol.kind == SymbolKind::Method;
  std::string key = symbol.key.substr(std::min(symbol.key.size(), symbol.file->path().size() + 1));
  if (is_member) owner = key.substr(0, key.rfind('.'));
  return {{"path", symbol.file->path()}, {"name", symbol.declared->name}, {"owner", owner}};
}

void Completer::add(const Symbol& symbol, char order) {
  if (items_.size() >= most_items || !labels_.insert(symbol.name).second) return;
  Json item = {{"label", symbol.name},
               {"kind", completion_kind(symbol)},
               {"sortText", fmt::format("{}{}", order, symbol.name)}};
  std::string detail = symbol.word ? "" : std::string(describe(symbol.kind));
  if (!detail.empty()) item["detail"] = detail;
  Json data = data_of(symbol);
  if (!data.is_null()) item["data"] = std::move(data);
  items_.push_back(std::move(item));
}

void Completer::add_plain(const std::string& label, int kind, const std::string& detail, char order,
                          const std::string& insert) {
  if (items_.size() >= most_items || !labels_.insert(label).second) return;
  Json item = {{"label", label}, {"kind", kind}, {"sortText", fmt::format("{}{}", order, label)}};
  if (!detail.empty()) item["detail"] = detail;
  if (!insert.empty()) item["insertText"] = insert;
  items_.push_back(std::move(item));
}

void Completer::add_word(const Word& word, char order, Range replaced) {
  Symbol symbol = word_symbol(word);
  size_t before = items_.size();
  add(symbol, order);
  // A name with a dot in it replaces all of what is typed.
  if (items_.size() == before || word.text.find('.') == std::string::npos) return;
  items_.back()["textEdit"] = {{"range", range_json(context_, file_, replaced)}, {"newText", word.text}};
}

void Completer::words(WordKind kind, char order) {
  for (const Word& word : lsp::words()) {
    if (word.kind == kind) add_word(word, order, cursor_.piece()->in_document(cursor_.prefix_range()));
  }
}

std::optional<Symbol> Completer::name_before(int32_t index) {
  if (index < 0) return std::nullopt;
  const RawToken& token = *cursor_.before()[size_t(index)];
  const Occurrence* occurrence = cursor_.piece()->names.at(token.offset);
  bool exact = occurrence && occurrence->range.begin == token.offset;
  return exact ? resolver_.resolve({&file_, cursor_.piece(), occurrence}) : std::nullopt;
}

void Completer::members() {
  auto object = name_before(int32_t(cursor_.before().size()) - 2);
  if (!object) return words(WordKind::TensorMember, 'b');
  bool space = object->word && object->word->kind == WordKind::Namespace;
  if (space && object->prefix == "tile") {
    for (const frontend::Builtin& op : all_tile_ops()) add(builtin_symbol(op), 'a');
    return;
  }
  if (space || (object->kind == SymbolKind::Namespace && object->prefix == "tessera")) {
    for (const frontend::Builtin& op : all_ops()) add(builtin_symbol(op), 'b');
    return;
  }
  if (object->kind == SymbolKind::File) {
    for (const auto& [name, where] : object->file->declared()) {
      auto symbol = resolver_.declared(*object->file, *where.second, *where.first);
      if (!symbol) continue;
      symbol->name = name;
      add(*symbol, 'a');
    }
    return;
  }
  auto module = resolver_.module_of(*object);
  if (module && object->kind != SymbolKind::Module) {
    for (const Declared& member : module->declared->members) {
      auto symbol = resolver_.member(*object, member.name);
      if (symbol) add(*symbol, 'a');
    }
    for (const std::string& name : signature_of(*module).names) {
      auto symbol = resolver_.parameter(*module, name);
      if (symbol) add(*symbol, 'b');
    }
    return;
  }
  if (object->kind == SymbolKind::Kernel) {
    add_plain("with_schedule", item_argument, "the kernel under another schedule", 'a');
  }
  words(WordKind::TensorMember, 'b');
  words(WordKind::CacheMember, 'c');
}

void Completer::decorators() {
  Range replaced = cursor_.piece()->in_document(cursor_.prefix_range());
  for (const Word& word : lsp::words()) {
    if (word.kind == WordKind::Decorator) add_word(word, 'a', replaced);
  }
}

/// Modules of the library, and the files beside this one and in the folders given.
void Completer::imports() {
  namespace fs = std::filesystem;
  for (const frontend::EmbeddedFile& file : frontend::embedded_files()) {
    if (!file.path.ends_with(".tsr") || file.path.find('/') != std::string_view::npos) continue;
    std::string name = fmt::format("tessera.{}", file.path.substr(0, file.path.size() - 4));
    add_plain(name, item_file, "standard library", 'b');
  }
  std::vector<std::string> folders = {fs::path(file_.path()).parent_path().string()};
  const auto& given = context_.workspace.options.include_paths;
  folders.insert(folders.end(), given.begin(), given.end());
  for (const std::string& folder : folders) {
    std::error_code error;
    fs::directory_iterator at(folder, error), end;
    constexpr size_t most_entries = 1000;
    for (size_t seen = 0; !error && at != end && seen < most_entries; at.increment(error), ++seen) {
      bool other = at->path().extension() == ".tsr" && at->path().string() != file_.path();
      if (other) add_plain(at->path().stem().string(), item_file, "file", 'a');
    }
  }
}

void Completer::imported_names() {
  std::string path;
  for (size_t i = cursor_.line_begin() + 1; i < cursor_.before().size(); ++i) {
    const RawToken& token = *cursor_.before()[i];
    if (token.kind == TokenKind::Import) break;
    path += cursor_.piece()->text(token);
  }
  std::string file = context_.workspace.resolve_import(path, file_.path());
  FileModel* target = file.empty() ? nullptr : context_.workspace.model(file);
  if (!target) {
    if (path != "tessera" && path != "tessera.ops") return;
    for (const frontend::Builtin& op : all_ops()) add(builtin_symbol(op), 'a');
    return;
  }
  for (const auto& [name, where] : target->declared()) {
    auto symbol = resolver_.declared(*target, *where.second, *where.first);
    if (!symbol) continue;
    symbol->name = name;
    add(*symbol, 'a');
  }
}

void Completer::arguments(const OpenBracket& call) {
  if (!call.keyword.empty()) return;
  auto symbol = name_before(call.before);
  auto callee = symbol ? resolver_.callee(*symbol) : std::nullopt;
  if (!callee) return;
  Signature signature = signature_of(*callee);
  // Those that are given already, by name, are not offered again.
  std::set<std::string_view> given;
  for (size_t i = size_t(call.before) + 1; i + 1 < cursor_.before().size(); ++i) {
    if (cursor_.before()[i + 1]->kind == TokenKind::Assign) given.insert(cursor_.piece()->text(*cursor_.before()[i]));
  }
  for (size_t i = 0; i < signature.names.size(); ++i) {
    bool by_place = i < call.commas && i < signature.positional;
    if (by_place || given.count(signature.names[i])) continue;
    auto [begin, end] = signature.parameters[i];
    std::string detail = signature.label.substr(begin, end - begin);
    if (detail.starts_with("*")) continue;
    add_plain(signature.names[i] + "=", item_argument, detail, '0', signature.names[i] + "=");
  }
}

void Completer::types() {
  words(WordKind::Type, 'a');
  words(WordKind::DType, 'b');
  for (const char* name : {"int", "float", "bool", "dim", "Schedule"}) add_plain(name, item_keyword, "type", 'b');
  names('c');
}

/// Inside the brackets of a type.
void Completer::dimensions() {
  names('a');
  words(WordKind::DType, 'b');
}

void Completer::statement_words() {
  bool top_level = cursor_.piece()->text().substr(0, cursor_.offset()).rfind('\n') == std::string_view::npos ||
                   cursor_.prefix_range().begin == 0 ||
                   cursor_.piece()->text()[cursor_.prefix_range().begin - 1] == '\n';
  for (const char* word : {"def", "module", "const", "param", "dim", "import", "from"}) {
    if (top_level) add_plain(word, item_keyword, "", 'd');
  }
  for (const char* word : {"return", "if", "elif", "else", "for", "while", "with", "on", "pass"}) {
    if (!top_level) add_plain(word, item_keyword, "", 'd');
  }
  if (!top_level) add_plain("def", item_keyword, "", 'd');
}

void Completer::expression_words() {
  for (const char* word : {"and", "or", "not", "in", "is", "if", "else", "for", "lambda", "None", "True", "False"}) {
    add_plain(word, item_keyword, "", 'f');
  }
}

/// Names of the function, of the file and of the language, in this order.
void Completer::names(char order) {
  const std::vector<Local>& locals = cursor_.piece()->names.locals;
  for (const Local& local : locals) {
    if (!local.scope.touches(cursor_.offset()) || local.range.touches(cursor_.offset())) continue;
    auto symbol = resolver_.resolve_name(file_, local.name, offset_);
    if (symbol) add(*symbol, order);
  }
  for (const auto& [name, where] : file_.declared()) {
    auto symbol = resolver_.declared(file_, *where.second, *where.first);
    if (!symbol) continue;
    symbol->name = name;
    add(*symbol, char(order + 1));
  }
  for (const frontend::Builtin& op : all_ops()) add(builtin_symbol(op), char(order + 2));
  words(WordKind::Namespace, char(order + 2));
  words(WordKind::Constant, char(order + 2));
}

void Completer::directives() {
  for (const Word& word : lsp::words()) {
    if (word.kind == WordKind::Directive) add_plain(word.text, item_keyword, "", 'a');
  }
}

/// In the brackets of `Tensor[…]` and its kin.
bool Completer::in_type() const {
  if (cursor_.brackets().empty()) return false;
  const OpenBracket& open = cursor_.brackets().back();
  if (open.kind != TokenKind::Lbracket || open.before < 0) return false;
  return find_word(cursor_.piece()->text(*cursor_.before()[size_t(open.before)]), WordKind::Type) != nullptr;
}

Json Completer::run() {
  if (!cursor_.piece() || cursor_.in_text()) return items_;
  TokenKind last = cursor_.last();
  bool has_bracket = !cursor_.brackets().empty();
  bool in_def = cursor_.line_kind() == TokenKind::Def;
  bool annotates = last == TokenKind::Colon && cursor_.before().size() > cursor_.line_begin() + 1 && !in_def;
  if (cursor_.in_directive() || last == TokenKind::Percent) {
    directives();
  } else if (cursor_.line_kind() == TokenKind::From || cursor_.line_kind() == TokenKind::Import) {
    bool names = false;
    for (size_t i = cursor_.line_begin(); i < cursor_.before().size(); ++i) {
      names = names || (i > cursor_.line_begin() && cursor_.before()[i]->kind == TokenKind::Import);
    }
    names ? imported_names() : imports();
  } else if (last == TokenKind::Dot) {
    members();
  } else if (last == TokenKind::At && cursor_.before().size() == cursor_.line_begin() + 1) {
    decorators();
  } else if (last == TokenKind::At && (in_type() || in_def || has_bracket)) {
    words(WordKind::Policy, 'a');
    names('b');
  } else if (last == TokenKind::Lbrace && cursor_.last(1) == TokenKind::Bang) {
    words(WordKind::Effect, 'a');
  } else if (in_type()) {
    dimensions();
  } else if (in_def && has_bracket && cursor_.brackets().size() == 1 && cursor_.brackets()[0].has_colon) {
    types();
  } else if (last == TokenKind::Arrow || annotates) {
    types();
  } else if (!(last == TokenKind::Def || last == TokenKind::Module || last == TokenKind::As)) {
    if (has_bracket && cursor_.brackets().back().kind == TokenKind::Lparen) arguments(cursor_.brackets().back());
    names('a');
    cursor_.at_line_start() ? statement_words() : expression_words();
    words(WordKind::Type, 'e');
    words(WordKind::DType, 'e');
  }
  return std::move(items_);
}

std::optional<Symbol> symbol_of(Context& context, const Json& data) {
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

Json completion(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  Json items = Json::array();
  if (file) items = Completer(context, *file, offset_of(context, *file, params)).run();
  return {{"isIncomplete", false}, {"items", std::move(items)}};
}

Json resolve_completion(Context& context, const Json& item) {
  Json out = item;
  if (!item.is_object()) return out;
  auto symbol = symbol_of(context, member(item, "data"));
  if (!symbol) return out;
  out["documentation"] = markup(context.client.markdown_completion, describe(*symbol));
  return out;
}

}  // namespace tessera::lsp
