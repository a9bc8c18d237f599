#include "ir/text/entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "ir/core/context.h"

namespace tessera::entry {

namespace {

struct EntryRow {
  std::string_view name;
  AttrType type;
  bool is_needed;
};

std::span<const EntryRow> rows_of(Dict row) {
  switch (row) {
#define ENTRY(name, type) EntryRow{#name, AttrType::type, true},
#define ENTRY_OPT(name, type) EntryRow{#name, AttrType::type, false},
#define DICT(Name, entries)                       \
  case Dict::Name: {                       \
    static constexpr EntryRow rows[] = {entries}; \
    return rows;                                  \
  }
#include "ir/text/entries.def"
#undef DICT
#undef ENTRY
#undef ENTRY_OPT
  }
  return {};
}

const std::string& string_of(Attr value) {
  static const std::string none;
  return value ? value->string : none;
}

}  // namespace

const std::string& text_of(Attr dict, AttrKey<AttrType::String, Arity::One> key) { return string_of(node(dict, key)); }
const std::string& text_of(Attr dict, AttrKey<AttrType::String, Arity::Optional> key) {
  return string_of(node(dict, key));
}

Attr make_dict(Context& context, std::initializer_list<OpAttr> entries) {
  std::vector<NamedAttr> all;
  for (const OpAttr& entry : entries) {
    if (entry.value) all.emplace_back(entry.name, entry.value);
  }
  return context.dict(std::move(all));
}

std::string problem_of(Attr dict, Dict row) {
  if (!dict->is(AttrKind::Dict)) return fmt::format("{} is not a dictionary", dict->text);
  std::span<const EntryRow> rows = rows_of(row);
  for (const EntryRow& known : rows) {
    Attr value = dict->get(known.name);
    if (!value && known.is_needed) return fmt::format("'{}' is missing in {}", known.name, dict->text);
    if (value && !fits(value, known.type)) {
      return fmt::format("'{}' must be {}, not {}", known.name, to_string(known.type), value->text);
    }
  }
  for (const auto& [name, value] : dict->entries) {
    if (std::ranges::find(rows, name, &EntryRow::name) == rows.end()) return fmt::format("'{}' is not known", name);
  }
  return {};
}

}  // namespace tessera::entry
