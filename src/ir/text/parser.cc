#include "ir/text/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "ir/core/common_attributes.h"
#include "ir/text/attribute_text.h"
#include "ir/text/printer.h"
#include "ir/text/text_cursor.h"
#include "ir/text/verifier.h"

namespace tessera {

namespace {

constexpr int max_depth = 100;

std::optional<Level> parse_level(std::string_view text) {
  for (Level level : {Level::Graph, Level::Schedule, Level::Tile, Level::Target}) {
    if (to_string(level) == text) return level;
  }
  return std::nullopt;
}

/// Reads attributes; needs nothing but a context and the cursor.
class AttributeParser {
 public:
  AttributeParser(Context& context, TextCursor& text) : context_(context), text_(text) {}

  /// `{a = 1, b = 2}` with the opening brace taken.
  bool entries(std::vector<NamedAttr>& entries) {
    if (text_.take("}")) return true;
    do {
      Loc loc = text_.loc();
      std::string_view key = text_.word();
      if (key.empty()) return text_.error("expected an attribute name"), false;
      for (const NamedAttr& known : entries) {
        if (known.first == key) {
          return text_.error_at(loc, fmt::format("attribute '{}' is given twice", key)), false;
        }
      }
      if (!text_.expect("=")) return false;
      Attr attr = value();
      if (!attr) return false;
      entries.emplace_back(key, attr);
    } while (text_.take(","));
    return text_.expect("}");
  }

  Attr value() {
    if (++depth_ > max_depth) return text_.error("attributes are nested too deeply"), nullptr;
    Attr attr = value_unchecked();
    if (!attr) text_.error("expected an attribute value");
    --depth_;
    return attr;
  }

 private:
  Attr value_unchecked() {
    if (text_.peek("\"")) {
      std::optional<std::string> string = text_.quoted();
      return string ? context_.string(*string) : nullptr;
    }
    if (text_.peek("<")) {
      std::optional<std::string_view> body = text_.angle_text();
      Dim dim = body ? context_.dims().parse(*body) : nullptr;
      return dim && !dim->overflow ? context_.dim(dim) : nullptr;
    }
    if (text_.take("!")) {
      Type type = context_.parse_type(text_.type_text());
      return type ? context_.type(type) : nullptr;
    }
    if (text_.take("[")) return array();
    if (text_.take("{")) {
      std::vector<NamedAttr> dict;
      return entries(dict) ? context_.dict(std::move(dict)) : nullptr;
    }
    if (std::optional<std::string_view> symbol = text_.sigil_word('@')) return context_.symbol(*symbol);
    return word_or_number();
  }

  Attr array() {
    std::vector<Attr> elements;
    if (text_.take("]")) return context_.array({});
    do {
      Attr element = value();
      if (!element) return nullptr;
      elements.push_back(element);
    } while (text_.take(","));
    return text_.expect("]") ? context_.array(std::move(elements)) : nullptr;
  }

  Attr word_or_number() {
    if (std::optional<int64_t> integer = text_.integer()) return context_.integer(*integer);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (text_.take("-inf")) return context_.number(-infinity);
    std::string_view number = text_.number_text();
    if (!number.empty()) {
      double value = 0;
      auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
      bool whole = error == std::errc() && end == number.data() + number.size();
      return whole ? context_.number(value) : nullptr;
    }
    std::string_view word = text_.word();
    if (word == "true" || word == "false") return context_.boolean(word == "true");
    if (word == "inf") return context_.number(infinity);
    if (word == "nan") return context_.number(std::nan(""));
    if (std::optional<DType> dtype = parse_dtype(word)) return context_.dtype(*dtype);
    return nullptr;
  }

  Context& context_;
  TextCursor& text_;
  int depth_ = 0;
};

class ModuleParser {
 public:
  ModuleParser(Context& context, TextCursor& text, SourceManager& sources)
      : context_(context), text_(text), sources_(sources), attributes_(context, text) {}

  std::unique_ptr<Module> module() {
    if (!text_.expect("module")) return nullptr;
    std::optional<std::string_view> name = text_.sigil_word('@');
    if (!name) return text_.error("expected '@' and the module's name"), nullptr;
    if (!text_.expect("level") || !text_.expect("(")) return nullptr;
    Loc level_loc = text_.loc();
    std::optional<Level> level = parse_level(text_.word());
    if (!level) {
      text_.error_at(level_loc, "expected a level: graph, schedule, tile or target");
      return nullptr;
    }
    if (!text_.expect(")") || !text_.expect("version") || !text_.expect("(")) return nullptr;
    Loc version_loc = text_.loc();
    if (text_.integer() != ir_text_version) {
      text_.error_at(version_loc, fmt::format("this compiler reads version {}", ir_text_version));
      return nullptr;
    }
    if (!text_.expect(")") || !text_.expect("{")) return nullptr;
    module_ = std::make_unique<Module>(context_, sources_, std::string(*name), *level);
    if (next_is_attribute()) {
      std::vector<NamedAttr> entries;
      if (!attributes_.entries(entries) || !text_.expect("{")) return nullptr;
      for (auto& [key, value] : entries) AttributeText::set(*module_, key, value);
    }
    while (!text_.take("}")) {
      values_.clear();
      if (!statement(module_->body())) return nullptr;
    }
    return std::move(module_);
  }

 private:
  /// After an opening brace: does `name =` follow (an attribute), or a statement?
  bool next_is_attribute() {
    size_t position = text_.position();
    bool is_attribute = !text_.word().empty() && text_.peek("=");
    text_.rewind(position);
    return is_attribute;
  }

  Value* value() {
    Loc loc = text_.loc();
    std::optional<std::string_view> name = text_.sigil_word('%');
    if (!name) return text_.error("expected a value (%name)"), nullptr;
    auto it = values_.find(*name);
    if (it != values_.end()) return it->second;
    text_.error_at(loc, fmt::format("value %{} is not defined before this use", *name));
    return nullptr;
  }

  Type type() {
    Loc loc = text_.loc();
    std::string_view spelled = text_.type_text();
    Type parsed = context_.parse_type(spelled);
    if (!parsed) text_.error_at(loc, fmt::format("'{}' is not a type", spelled));
    return parsed;
  }

  struct NewValue {
    Loc loc;
    std::string_view name;
    Type type;
  };

  std::optional<NewValue> new_value() {
    NewValue fresh{text_.loc(), {}, nullptr};
    std::optional<std::string_view> name = text_.sigil_word('%');
    if (!name) return text_.error("expected a value (%name)"), std::nullopt;
    fresh.name = *name;
    if (!text_.expect(":")) return std::nullopt;
    fresh.type = type();
    return fresh.type ? std::optional(fresh) : std::nullopt;
  }

  bool define(const NewValue& fresh, Value* value) {
    if (!values_.emplace(fresh.name, value).second) {
      text_.error_at(fresh.loc, fmt::format("value %{} is defined twice", fresh.name));
      return false;
    }
    bool numbered = fresh.name.find_first_not_of("0123456789") == std::string_view::npos;
    if (!numbered) value->set_name(context_.intern(fresh.name));
    return true;
  }

  bool value_list(std::string_view close, std::vector<Value*>& values) {
    if (text_.take(close)) return true;
    do {
      Value* v = value();
      if (!v) return false;
      values.push_back(v);
    } while (text_.take(","));
    return text_.expect(close);
  }

  bool parameters(Block* block) {
    if (text_.take(")")) return true;
    do {
      std::optional<NewValue> fresh = new_value();
      if (!fresh || !define(*fresh, block->add_arg(fresh->type))) return false;
    } while (text_.take(","));
    return text_.expect(")");
  }

  bool operands(OpState& state) {
    bool first = true;
    for (unsigned s = 0; s < state.info->count(SlotKind::Operand); ++s) {
      if (!first && !text_.expect(",")) return false;
      first = false;
      state.operands.emplace_back();
      if (state.info->slot(SlotKind::Operand, s).arity == Arity::One) {
        Value* v = value();
        if (!v) return false;
        state.operands.back().push_back(v);
      } else if (!text_.expect("[") || !value_list("]", state.operands.back())) {
        return false;
      }
    }
    for (unsigned i = 0; i < state.info->count(SlotKind::Successor); ++i) {
      if (!first && !text_.expect(",")) return false;
      first = false;
      OpState::Target target{block_reference(), {}};
      if (!target.block) return false;
      if (text_.take("(") && !value_list(")", target.arguments)) return false;
      state.successors.push_back(std::move(target));
    }
    return true;
  }

  /// A block by name; one that is named before its label is made here and placed by the label.
  Block* block_reference() {
    std::optional<std::string_view> name = text_.sigil_word('^');
    if (!name || !region_) return text_.error("expected a block (^name)"), nullptr;
    auto [it, inserted] = blocks_.try_emplace(std::string(*name), nullptr);
    if (inserted) it->second = region_->add_block();
    return it->second;
  }

  bool body(Region* region, Block* entry) {
    if (++depth_ > max_depth) return text_.error("regions are nested too deeply"), false;
    Region* outer_region = std::exchange(region_, region);
    std::map<std::string, Block*, std::less<>> outer_blocks = std::exchange(blocks_, {});
    std::vector<Block*> labelled{entry};
    Block* block = entry;
    bool first_label = true;
    while (!text_.take("}")) {
      if (text_.peek("^")) {
        Loc loc = text_.loc();
        std::string_view name = *text_.sigil_word('^');
        bool names_entry = first_label && entry->empty();
        first_label = false;
        auto [it, inserted] = blocks_.try_emplace(std::string(name), nullptr);
        if (inserted) it->second = names_entry ? entry : region->add_block();
        block = it->second;
        bool again = !names_entry && std::count(labelled.begin(), labelled.end(), block);
        if (again) return text_.error_at(loc, fmt::format("block ^{} is defined twice", name)), false;
        labelled.push_back(block);
        if (!names_entry) region->move_to_end(block);
        if (text_.take("(") && !parameters(block)) return false;
        if (!text_.expect(":")) return false;
      } else if (!statement(block)) {
        return false;
      }
    }
    for (const auto& [name, known] : blocks_) {
      if (std::count(labelled.begin(), labelled.end(), known)) continue;
      return text_.error(fmt::format("block ^{} has no definition", name)), false;
    }
    region_ = outer_region;
    blocks_ = std::move(outer_blocks);
    --depth_;
    return true;
  }

  std::optional<uint32_t> position(std::string_view what) {
    std::optional<int64_t> number = text_.integer();
    if (number && *number >= 1 && *number <= INT32_MAX) return uint32_t(*number);
    text_.error(fmt::format("expected a {} number from 1", what));
    return std::nullopt;
  }

  bool location(Loc& loc) {
    if (!text_.take("loc")) return true;
    if (!text_.expect("(")) return false;
    std::optional<std::string> file = text_.quoted();
    if (!file || file->empty()) return text_.error("expected a file name in quotes"), false;
    if (!text_.expect(":")) return false;
    std::optional<uint32_t> line = position("line");
    if (!line || !text_.expect(":")) return false;
    std::optional<uint32_t> column = position("column");
    if (!column) return false;
    loc = Loc{sources_.intern_name(*file), *line, *column, 1};
    return text_.expect(")");
  }

  bool statement(Block* block) {
    OpState state;
    std::vector<NewValue> results;
    if (text_.peek("%")) {
      do {
        std::optional<NewValue> fresh = new_value();
        if (!fresh) return false;
        results.push_back(*fresh);
        state.results.push_back(fresh->type);
      } while (text_.take(","));
      if (!text_.expect("=")) return false;
    }
    Loc name_loc = text_.loc();
    std::string_view name = text_.word();
    if (name.empty()) return text_.error("expected an op"), false;
    state.info = context_.find_op(name);
    if (!state.info) return text_.error_at(name_loc, fmt::format("'{}' is not an op", name)), false;
    state.loc = name_loc;
    bool is_function = state.info->has(Function);
    if (is_function) {
      std::optional<std::string_view> symbol = text_.sigil_word('@');
      if (!symbol) return text_.error("expected '@' and a symbol"), false;
      state.attributes.push_back(common::Function::symbol(context_, *symbol));
      return function(block, state);
    }
    if (!operands(state)) return false;
    if (!attributes(state)) return false;
    Op* op = module_->create(state);
    op->move_to_end(block);
    for (unsigned i = 0; i < op->region_count(); ++i) {
      if (!text_.expect("do")) return false;
      Block* entry = op->region(i)->add_block();
      if (text_.take("(") && !parameters(entry)) return false;
      if (!text_.expect("{") || !body(op->region(i), entry)) return false;
    }
    if (!location(state.loc)) return false;
    op->set_loc(state.loc);
    for (unsigned i = 0; i < results.size(); ++i) {
      if (!define(results[i], op->result(i))) return false;
    }
    return true;
  }

  bool attributes(OpState& state) {
    size_t position = text_.position();
    if (!text_.take("{")) return true;
    if (!next_is_attribute()) {
      text_.rewind(position);
      return true;
    }
    std::vector<NamedAttr> entries;
    if (!attributes_.entries(entries)) return false;
    for (auto& [key, value] : entries)
      state.attributes.push_back(AttributeText::make(context_.intern(key), value));
    return true;
  }

  bool function(Block* block, OpState& state) {
    Op* op = nullptr;
    size_t parameters_at = text_.position();
    // Parameters precede the attributes in the text, but the region they belong to needs the op.
    op = module_->create(state);
    op->move_to_end(block);
    text_.rewind(parameters_at);
    Block* entry = nullptr;
    if (text_.take("(")) {
      entry = op->region()->add_block();
      if (!parameters(entry)) return false;
    }
    OpState with_attributes;
    if (!attributes(with_attributes)) return false;
    for (const OpAttr& a : with_attributes.attributes) op->set(a);
    if (entry && (!text_.expect("{") || !body(op->region(), entry))) return false;
    Loc loc = op->loc();
    if (!location(loc)) return false;
    op->set_loc(loc);
    return true;
  }

  Context& context_;
  TextCursor& text_;
  SourceManager& sources_;
  AttributeParser attributes_;
  std::unique_ptr<Module> module_;
  std::map<std::string, Value*, std::less<>> values_;
  std::map<std::string, Block*, std::less<>> blocks_;
  Region* region_ = nullptr;
  int depth_ = 0;
};

}  // namespace

Result<std::vector<std::unique_ptr<Module>>> parse_modules(Context& context, FileId file,
                                                           DiagnosticEngine& diagnostics) {
  SourceManager& sources = diagnostics.sources();
  TextCursor text(file, sources.file(file), diagnostics);
  std::vector<std::unique_ptr<Module>> modules;
  while (!text.at_end()) {
    std::unique_ptr<Module> module = ModuleParser(context, text, sources).module();
    if (!module || text.failed()) return failure;
    modules.push_back(std::move(module));
  }
  for (const std::unique_ptr<Module>& module : modules) {
    if (verify(*module, diagnostics).failed()) return failure;
  }
  return modules;
}

}  // namespace tessera
