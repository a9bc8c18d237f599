// Completion at the cursor, best first: keyword arguments of the call, names of the function and
// the file, then those of the language. The client filters by the typed prefix. A list that is too
// long is cut to the matching items, and the client asks again when more is typed.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "frontend/binding/import_place.h"
#include "frontend/values/check_numerics.h"
#include "frontend/values/language_names.h"
#include "lsp/features/completion_data.h"
#include "lsp/features/cursor.h"
#include "lsp/features/describe_symbol.h"
#include "lsp/features/features.h"
#include "lsp/features/symbol_kinds.h"
#include "lsp/protocol/numbers.h"

namespace tessera::lsp {

namespace {

using number::Item;

constexpr size_t most_items = 2000;

class Completer {
 public:
  /// `filtered`: only what matches the part of a name that is there.
  Completer(Context& context, FileModel& file, uint32_t offset, bool filtered)
      : context_(context),
        file_(file),
        offset_(offset),
        cursor_(file, offset),
        query_(filtered ? cursor_.prefix() : std::string_view()),
        resolver_(context.workspace) {}

  Json run();
  /// There was more than a client is given.
  bool is_cut() const { return is_cut_; }

 private:
  // The offered items, by place.
  void members();
  bool context_members(const Symbol& variable);
  void members_of(const Symbol& module);
  void declared_in(FileModel& file, char order, bool in_type = false);
  void decorators();
  void imports();
  void imported_names();
  void arguments(const OpenBracket& call);
  void types();
  void dimensions();
  void words(WordKind kind, char order);
  void statement_words();
  void expression_words();
  void names(char order, bool with_language = true);
  void library_names(char order);
  void directives();

  bool at_top_level() const;
  bool in_type() const;
  bool may_be_in_type(const Symbol& symbol);
  Meaning object_before(int32_t index);
  /// Whether there is another item of this label.
  bool takes(const std::string& label);
  void add(const Symbol& symbol, char order);
  void add_plain(const std::string& label, int kind, const std::string& detail, char order,
                 const std::string& insert = "");
  void add_word(const Word& word, char order, Range replaced);

  Context& context_;
  FileModel& file_;
  uint32_t offset_;
  Cursor cursor_;
  std::string_view query_;
  Resolver resolver_;
  Json items_ = Json::array();
  std::set<std::string> labels_;
  bool is_cut_ = false;
};

bool Completer::takes(const std::string& label) {
  if (!matches(query_, label) || !labels_.insert(label).second) return false;
  is_cut_ = items_.size() >= most_items;
  return !is_cut_;
}

void Completer::add(const Symbol& symbol, char order) {
  if (!takes(symbol.name)) return;
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
  if (!takes(label)) return;
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
    // A dtype has one name that the compiler itself uses.
    auto dtype = kind == WordKind::DType ? frontend::dtype_by_name(word.text) : std::nullopt;
    if (dtype && to_string(*dtype) != word.text) continue;
    if (word.kind == kind) add_word(word, order, cursor_.piece()->in_document(cursor_.prefix_range()));
  }
}

/// The kind of the expression that ends with a token.
Meaning Completer::object_before(int32_t index) {
  if (index < 0) return {};
  const RawToken& token = *cursor_.before()[size_t(index)];
  if (is_closing(token.kind)) {
    Meaning object = object_before(cursor_.before_bracket(size_t(index)));
    if (token.kind == TokenKind::Rparen) return resolver_.result_of(object);
    return object.sort == ValueSort::Name ? Meaning{} : object;
  }
  const Occurrence* occurrence = cursor_.piece()->names.beginning_at(token.offset);
  auto symbol = occurrence ? resolver_.resolve({&file_, cursor_.piece(), occurrence}) : std::nullopt;
  return symbol ? resolver_.meaning_of(*symbol) : Meaning{};
}

void Completer::declared_in(FileModel& file, char order, bool in_type) {
  for (FileModel* part : context_.workspace.with_included(file)) {
    for (const auto& [name, where] : part->declared()) {
      auto symbol = resolver_.declared(*part, *where.second, *where.first);
      if (!symbol || (in_type && !may_be_in_type(*symbol))) continue;
      symbol->name = name;
      add(*symbol, order);
    }
  }
}

void Completer::members_of(const Symbol& module) {
  std::vector<std::string> names;
  for (const Declared& member : module.declared->members) names.push_back(member.name);
  std::vector<std::string> parameters = signature_of(module).names;
  names.insert(names.end(), parameters.begin(), parameters.end());
  for (const std::string& name : names) {
    auto symbol = resolver_.member({ValueSort::Instance, module}, name);
    if (symbol) add(*symbol, symbol->local ? 'b' : 'a');
  }
}

/// The members of `t = tile.context(m=M)`; false where the variable is something else.
bool Completer::context_members(const Symbol& variable) {
  const auto* call = ast::as<ast::Call>(variable.local ? variable.local->origin : nullptr);
  const auto* callee = ast::as<ast::Attribute>(call ? call->callee : nullptr);
  if (!callee || callee->name.text != "context") return false;
  for (const char* index : {"i", "j", "h"}) add_plain(index, Item::field, "index of this program's tile", 'a');
  for (const ast::Argument& axis : call->arguments) {
    if (!axis.name.text.empty()) add_plain(std::string(axis.name.text), Item::field, "extent of its tile", 'b');
  }
  return true;
}

void Completer::members() {
  Meaning object = object_before(int32_t(cursor_.before().size()) - 2);
  if (object.sort == ValueSort::Instance && object.symbol) return members_of(*object.symbol);
  if (object.sort == ValueSort::Unknown && object.symbol && context_members(*object.symbol)) return;
  if (object.sort == ValueSort::Schedule) {
    for (const Word& word : lsp::words()) {
      if (word.kind == WordKind::ScheduleMember) add_plain("with_" + word.text, Item::method, word.meaning, 'a');
    }
    return;
  }
  for (WordKind kind : member_words(object.sort)) words(kind, 'a');
  if (object.sort != ValueSort::Name) return;
  const Symbol& symbol = *object.symbol;
  if (symbol.kind == SymbolKind::Kernel) return words(WordKind::KernelMember, 'a');
  for (const Symbol& member : resolver_.names_of(symbol)) add(member, 'a');
}

/// After `@`, or after a part of a decorator's name.
void Completer::decorators() {
  Range replaced = cursor_.piece()->in_document(cursor_.prefix_range());
  std::string path;
  for (size_t i = cursor_.line_begin() + 1; i < cursor_.before().size(); ++i) {
    path += cursor_.piece()->text(*cursor_.before()[i]);
  }
  if (path.starts_with("tessera.")) path.erase(0, 8);
  for (const Word& word : lsp::words()) {
    if (word.kind != WordKind::Decorator || !word.text.starts_with(path)) continue;
    if (path.empty()) {
      add_word(word, 'a', replaced);
    } else {
      add_plain(word.text.substr(path.size()), Item::method, word.meaning, 'a');
    }
  }
}

/// Modules of the library, and the files beside this one and in the folders given.
void Completer::imports() {
  namespace fs = std::filesystem;
  for (const std::string& module : frontend::library_modules()) {
    add_plain(fmt::format("tessera.{}", module), Item::file, "standard library", 'b');
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
      if (other) add_plain(at->path().stem().string(), Item::file, "file", 'a');
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
  auto module = resolver_.module(file_, path);
  if (!module) return;
  for (const Symbol& name : resolver_.names_of(*module)) add(name, 'a');
}

void Completer::arguments(const OpenBracket& call) {
  if (!call.keyword.empty()) return;
  auto callee = resolver_.callee(object_before(call.before));
  if (!callee) return;
  if (callee->builtin && callee->name == "Schedule") {
    for (const Word& word : lsp::words()) {
      if (word.kind == WordKind::ScheduleMember) add_plain(word.text + "=", Item::field, word.meaning, '0');
    }
    return;
  }
  Signature signature = signature_of(*callee);
  for (size_t i = 0; i < signature.names.size(); ++i) {
    if (is_given(signature, call, i)) continue;
    auto [begin, end] = signature.parameters[i];
    std::string detail = signature.label.substr(begin, end - begin);
    if (detail.starts_with("*")) continue;
    size_t before = items_.size();
    add_plain(signature.names[i] + "=", Item::field, detail, '0', signature.names[i] + "=");
    if (items_.size() > before) items_.back()["data"] = data_of_argument(*callee, signature.names[i]);
  }
}

void Completer::types() {
  words(WordKind::Type, 'a');
  words(WordKind::DType, 'b');
  names('c', false);
}

/// Inside the brackets of a type.
void Completer::dimensions() {
  const OpenBracket& open = cursor_.brackets().back();
  if (cursor_.piece()->text(*cursor_.before()[size_t(open.before)]) == "Region") return words(WordKind::Privilege, 'a');
  names('a', false);
  words(WordKind::DType, 'b');
}

/// A statement of the file begins at the cursor.
bool Completer::at_top_level() const {
  uint32_t begin = cursor_.prefix_range().begin;
  std::string_view above = cursor_.piece()->text().substr(0, begin);
  bool first_line = above.find('\n') == std::string_view::npos;
  return cursor_.at_line_start() && (first_line || above.back() == '\n');
}

void Completer::statement_words() {
  bool top_level = at_top_level();
  for (const char* word : {"def", "module", "const", "param", "dim", "import", "from"}) {
    if (top_level) add_plain(word, Item::keyword, "", 'd');
  }
  for (const char* word : {"return", "if", "elif", "else", "for", "while", "with", "on", "pass"}) {
    if (!top_level) add_plain(word, Item::keyword, "", 'd');
  }
  if (!top_level) add_plain("def", Item::keyword, "", 'd');
}

void Completer::expression_words() {
  for (const char* word : {"and", "or", "not", "in", "is", "if", "else", "for", "lambda", "None", "True", "False"}) {
    add_plain(word, Item::keyword, "", 'f');
  }
}

/// Whether a type may have the name in it: a size, a dtype, or what holds one.
bool Completer::may_be_in_type(const Symbol& symbol) {
  switch (symbol.kind) {
    case SymbolKind::Size:
    case SymbolKind::Dim:
    case SymbolKind::File:
    case SymbolKind::Namespace:
    case SymbolKind::Import: return true;
    case SymbolKind::Parameter:
    case SymbolKind::Variable:
    case SymbolKind::Constant: return resolver_.meaning_of(symbol).sort == ValueSort::Unknown;
    default: return false;
  }
}

/// Names of the function, of the file and, where values are computed, of the language, in this order.
void Completer::names(char order, bool with_language) {
  bool top_level = at_top_level();  // where the function above has ended
  for (const Local& local : cursor_.piece()->names.locals) {
    bool visible = !top_level && local.scope.touches(cursor_.offset()) && !local.range.touches(cursor_.offset());
    // A variable is there from where it gets its value.
    bool later = local.kind == SymbolKind::Variable && local.range.begin > cursor_.offset();
    auto symbol = visible && !later ? resolver_.resolve_name(file_, local.name, offset_) : std::nullopt;
    // A name in a signature may be one of the language.
    if (symbol && !symbol->word && (with_language || may_be_in_type(*symbol))) add(*symbol, order);
  }
  declared_in(file_, char(order + 1), !with_language);
  if (!with_language) return;
  for (const frontend::Builtin& op : all_ops()) add(builtin_symbol(op), char(order + 2));
  words(WordKind::Namespace, char(order + 2));
  words(WordKind::Constant, char(order + 2));
  words(WordKind::Device, char(order + 2));
  library_names(char(order + 3));
}

/// Names of the standard library that the file does not import yet; taking one adds the import.
void Completer::library_names(char order) {
  constexpr const char* module = "tessera.nn";
  std::string path = file_.is_library() ? "" : context_.workspace.resolve_import(module, file_.path());
  FileModel* library = path.empty() ? nullptr : context_.workspace.model(path);
  ImportPlace import(module);
  const Piece* of_statement = nullptr;
  for (const auto& piece : file_.pieces()) {
    for (const ast::Declaration& declaration : piece->declarations) {
      const ast::Stmt* before = import.statement();
      if (declaration.stmt->loc.file == piece->file) import.visit(*declaration.stmt);
      if (import.statement() != before) of_statement = piece.get();
    }
  }
  if (!library || !of_statement) return;
  Loc place = import.place(*of_statement->sources);
  Json at = range_json(context_, file_, of_statement->in_document(of_statement->range(place)));
  for (const auto& [name, where] : library->declared()) {
    auto symbol = resolver_.declared(*library, *where.second, *where.first);
    if (!symbol || file_.find(name)) continue;
    symbol->name = name;
    size_t before = items_.size();
    add(*symbol, order);
    if (items_.size() == before) continue;
    items_.back()["detail"] = fmt::format("from {}", module);
    items_.back()["additionalTextEdits"] = Json::array({{{"range", at}, {"newText", import.text(name)}}});
  }
}

void Completer::directives() {
  for (const Word& word : lsp::words()) {
    if (word.kind == WordKind::Directive) add_plain(word.text, Item::keyword, "", 'a');
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
  bool in_def = cursor_.line_kind() == TokenKind::Def || cursor_.line_kind() == TokenKind::Module;
  bool in_parameters = has_bracket && cursor_.brackets().back().declares;
  if (in_parameters && (last == TokenKind::Lparen || last == TokenKind::Comma)) return items_;  // a new name
  bool annotates = last == TokenKind::Colon && cursor_.before().size() > cursor_.line_begin() + 1 && !in_def;
  bool decorates = cursor_.line_kind() == TokenKind::At && !has_bracket &&
                   (last == TokenKind::Dot || cursor_.before().size() == cursor_.line_begin() + 1);
  if (cursor_.in_directive() || last == TokenKind::Percent) {
    directives();
  } else if (cursor_.line_kind() == TokenKind::From || cursor_.line_kind() == TokenKind::Import) {
    bool names = false;
    for (size_t i = cursor_.line_begin(); i < cursor_.before().size(); ++i) {
      names = names || (i > cursor_.line_begin() && cursor_.before()[i]->kind == TokenKind::Import);
    }
    names ? imported_names() : imports();
  } else if (decorates) {
    decorators();
  } else if (last == TokenKind::Dot) {
    members();
  } else if (last == TokenKind::At && (in_type() || in_def || has_bracket)) {
    words(WordKind::Policy, 'a');
    if (!in_def) names('b');
  } else if (last == TokenKind::Lbrace && cursor_.last(1) == TokenKind::Bang) {
    words(WordKind::Effect, 'a');
  } else if (in_type()) {
    dimensions();
  } else if (in_parameters && cursor_.brackets().back().has_colon) {
    types();
  } else if (last == TokenKind::Arrow || annotates) {
    types();
  } else if (!(last == TokenKind::Def || last == TokenKind::Module || last == TokenKind::As)) {
    bool in_call = has_bracket && !in_parameters && cursor_.brackets().back().kind == TokenKind::Lparen;
    if (in_call) arguments(cursor_.brackets().back());
    names('a');
    cursor_.at_line_start() ? statement_words() : expression_words();
    words(WordKind::Type, 'e');
    words(WordKind::DType, 'e');
  }
  return std::move(items_);
}

}  // namespace

Json completion(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  if (!file) return {{"isIncomplete", false}, {"items", Json::array()}};
  uint32_t offset = offset_of(context, *file, params);
  Completer all(context, *file, offset, false);
  Json items = all.run();
  if (all.is_cut()) items = Completer(context, *file, offset, true).run();
  return {{"isIncomplete", all.is_cut()}, {"items", std::move(items)}};
}

}  // namespace tessera::lsp
