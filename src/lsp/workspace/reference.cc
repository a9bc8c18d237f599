#include "lsp/workspace/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "frontend/values/check_numerics.h"
#include "frontend/values/tile_builtins.h"
#include "ir/numbers/dtype.h"
#include "ir/schedule/schedule_keys.h"

namespace tessera::lsp {

namespace {

std::string describe_dtype(DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  switch (info.cls) {
    case DTypeClass::Float: return fmt::format("`{}`: a float of {} bits.", info.text, info.bits);
    case DTypeClass::Signed:
      return fmt::format("`{}`: an integer of {} bits with sign; it wraps.", info.text, info.bits);
    case DTypeClass::Unsigned:
      return fmt::format("`{}`: an integer of {} bits without sign; it wraps.", info.text, info.bits);
    case DTypeClass::Bool: return "`bool`: a truth value, stored in a byte.";
  }
  return "";
}

std::vector<Word> make_words() {
  std::vector<Word> list;
  for (const names::WordRow& row : names::word_rows()) {
    if (!row.meaning.empty()) list.push_back({std::string(row.text), row.kind, std::string(row.meaning)});
  }
  for (std::string_view name : frontend::dtype_names()) {
    list.push_back({std::string(name), WordKind::DType, describe_dtype(*frontend::dtype_by_name(name))});
  }
  for (const schedule::ScheduleKey& key : schedule::schedule_keys()) {
    std::string meaning = fmt::format("`{}`, {}: {}.", key.name, schedule::expected_value(key), key.summary);
    list.push_back({std::string(key.name), WordKind::ScheduleMember, std::move(meaning)});
  }
  return list;
}

std::string_view reference_text(std::string_view path) {
  for (const frontend::EmbeddedFile& file : reference_texts()) {
    if (file.path == path) return file.text;
  }
  return {};
}

/// Reads a table of functions: comments above rows say what a row means, indented lines in them state
/// facts, which rows without facts share with the row before.
class TableReader {
 public:
  using Table = std::map<std::string, Specification, std::less<>>;

  explicit TableReader(bool by_id) : by_id_(by_id) {}

  Table read(std::string_view text) {
    while (!text.empty()) {
      size_t end = text.find('\n');
      line(text.substr(0, end));
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    return std::move(table_);
  }

 private:
  void line(std::string_view text) {
    if (text.starts_with("//")) return comment(text.substr(2));
    for (std::string_view start : {"BUILTIN", "#include ", "ELEMENTWISE(", "FUNCTION(", "MATH("}) {
      if (text.starts_with(start)) return row(text);
    }
    if (text.empty()) next_ = {};
    in_comment_ = false;
  }

  void comment(std::string_view text) {
    if (!in_comment_) next_.meaning.clear();
    if (!in_comment_) fresh_facts_.clear();
    in_comment_ = true;
    size_t colon = text.find(": ");
    bool is_fact = text.starts_with("   ") && colon != std::string_view::npos &&
                   text.substr(3, colon - 3).find(' ') == std::string_view::npos;
    if (is_fact) {
      fresh_facts_.emplace_back(text.substr(3, colon - 3), text.substr(colon + 2));
      return;
    }
    while (text.starts_with(' ')) text.remove_prefix(1);
    if (!next_.meaning.empty()) next_.meaning += ' ';
    next_.meaning += text;
  }

  void row(std::string_view text) {
    if (!fresh_facts_.empty()) next_.facts = std::exchange(fresh_facts_, {});
    in_comment_ = false;
    std::string_view inside = text.substr(text.find_first_of("( ") + 1);
    std::string_view name = inside.substr(0, inside.find(','));
    if (!by_id_) {
      size_t quote = inside.find('"');
      if (quote == std::string_view::npos) return;
      name = inside.substr(quote + 1, inside.find('"', quote + 1) - quote - 1);
    }
    table_.emplace(name, next_);
  }

  bool by_id_;
  bool in_comment_ = false;
  Specification next_;
  std::vector<std::pair<std::string, std::string>> fresh_facts_;
  Table table_;
};

/// The meaning of an op on single elements, which names operands a, b and c, in the names of a
/// signature.
std::string with_names(const std::string& meaning, const frontend::Builtin& builtin) {
  auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::string out;
  for (size_t i = 0; i < meaning.size(); ++i) {
    size_t operand = size_t(meaning[i] - 'a');
    bool alone = (i == 0 || !is_word(meaning[i - 1])) && (i + 1 == meaning.size() || !is_word(meaning[i + 1]));
    bool is_operand = alone && operand < builtin.parameters.size() && operand < 3;
    out += is_operand ? builtin.parameters[operand].name : std::string(1, meaning[i]);
  }
  return out;
}

Specification make_specification(const frontend::Builtin& builtin) {
  static const auto ops = TableReader(false).read(reference_text("frontend/values/builtins.def"));
  static const auto tile = TableReader(false).read(reference_text("frontend/values/tile_builtins.def"));
  static const auto elements = TableReader(true).read(reference_text("ir/numbers/elementwise.def"));
  Specification made;
  const auto& table = builtin.table == "ops" ? ops : tile;
  bool is_element = builtin.elementwise != ElementwiseKind::None;
  auto found = table.find(is_element ? "frontend/values/elementwise_builtins.inc" : builtin.name);
  if (found != table.end()) made = found->second;
  if (!is_element) return made;
  auto element = elements.find(elementwise_info(builtin.elementwise).name);
  if (element != elements.end()) made.meaning = with_names(element->second.meaning, builtin);
  return made;
}

const frontend::Builtin* find_in(std::span<const frontend::Builtin> table, std::string_view name) {
  auto found = std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

std::span<const Word> words() {
  static const std::vector<Word> list = make_words();
  return list;
}

const Word* find_word(std::string_view text, WordKind kind) {
  for (const Word& word : words()) {
    if (word.kind == kind && word.text == text) return &word;
  }
  return nullptr;
}

const Specification& specification(const frontend::Builtin& builtin) {
  static std::map<const frontend::Builtin*, Specification> known;
  auto found = known.find(&builtin);
  if (found == known.end()) found = known.emplace(&builtin, make_specification(builtin)).first;
  return found->second;
}

std::string signature_text(const frontend::Builtin& builtin, std::vector<std::pair<uint32_t, uint32_t>>* parameters) {
  std::string out = builtin.name + "(";
  bool keywords = false;
  for (size_t i = 0; i < builtin.parameters.size(); ++i) {
    const frontend::BuiltinParameter& parameter = builtin.parameters[i];
    if (i > 0) out += ", ";
    bool rest = parameter.kind == frontend::BuiltinParameterKind::Rest;
    bool others = parameter.kind == frontend::BuiltinParameterKind::Keywords;
    if (parameter.keyword_only && !keywords && !others && !rest) out += "*, ";
    keywords = keywords || parameter.keyword_only || rest;
    uint32_t begin = uint32_t(out.size());
    out += (rest ? "*" : others ? "**" : "") + parameter.name;
    if (!parameter.default_text.empty()) out += "=" + parameter.default_text;
    if (parameters) parameters->emplace_back(begin, uint32_t(out.size()));
  }
  return out + ")";
}

const Word* find_member_word(std::string_view text, WordKind kind) {
  bool with = kind == WordKind::ScheduleMember && text.starts_with("with_");
  return find_word(with ? text.substr(5) : text, kind);
}

const frontend::Builtin* find_op(std::string_view name) {
  return find_in(frontend::common_builtins(), names::function_of(name));
}

const frontend::Builtin* find_tile_op(std::string_view name) { return find_in(frontend::tile_builtins(), name); }

std::span<const frontend::Builtin> all_ops() { return frontend::common_builtins(); }

}  // namespace tessera::lsp
