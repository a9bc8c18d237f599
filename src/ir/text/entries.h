#pragma once
// Entries of the dictionaries in attributes, by keys as attributes have them: read(axis, entry::Axis::extent) is a Dim.

#include <initializer_list>
#include <string>

#include "ir/core/attribute_key.h"

namespace tessera::entry {

#define ENTRY(name, type) static constexpr AttrKey<AttrType::type, Arity::One> name{#name};
#define ENTRY_OPT(name, type) static constexpr AttrKey<AttrType::type, Arity::Optional> name{#name};
#define DICT(Name, entries) \
  struct Name {             \
    entries                 \
  };
#include "ir/text/entries.def"
#undef DICT
#undef ENTRY
#undef ENTRY_OPT

enum class Dict : uint8_t {
#define DICT(Name, entries) Name,
#include "ir/text/entries.def"
#undef DICT
};

/// An entry as it is; null where there is none, or no dictionary.
template <AttrType type, Arity arity>
Attr node(Attr dict, AttrKey<type, arity> key) {
  return dict && dict->is(AttrKind::Dict) ? dict->get(key.name) : nullptr;
}

/// An entry of a dictionary that was verified.
template <AttrType type, Arity arity>
typename AttrKey<type, arity>::Read read(Attr dict, AttrKey<type, arity> key) {
  return key.read(dict->get(key.name));
}

/// The text of an entry; empty where there is none.
const std::string& text_of(Attr dict, AttrKey<AttrType::String, Arity::One> key);
const std::string& text_of(Attr dict, AttrKey<AttrType::String, Arity::Optional> key);

/// A dictionary of the entries that are not null.
Attr make_dict(Context& context, std::initializer_list<OpAttr> entries);

/// How a dictionary is none of the row's: "'grid' must be true or false, not 1"; empty where it is one.
std::string problem_of(Attr dict, Dict row);

}  // namespace tessera::entry
