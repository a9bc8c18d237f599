#include "ir/core/attribute.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/core/common_attributes.h"
#include "ir/core/context.h"
#include "ir/core/dim_facts.h"
#include "support/spending.h"

namespace tessera {

namespace {

constexpr std::string_view kind_names[] = {
#define ATTRIBUTE(Name) #Name,
#include "ir/core/attributes.def"
#undef ATTRIBUTE
};

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string text_of(const AttrNode& node) {
  switch (node.kind) {
    case AttrKind::Bool: return node.boolean ? "true" : "false";
    case AttrKind::Int: return fmt::format("{}", node.integer);
    case AttrKind::Float: return number_text(node.number);
    case AttrKind::String: return quote(node.string);
    case AttrKind::DType: return std::string(to_string(node.dtype));
    case AttrKind::Dim: return "<" + node.dim->text + ">";
    case AttrKind::Type: return "!" + node.type->text;
    case AttrKind::Symbol: return "@" + node.string;
    case AttrKind::Array: {
      std::string text = "[";
      for (Attr element : node.elements) text += (text.size() > 1 ? ", " : "") + element->text;
      return text + "]";
    }
    case AttrKind::Dict: {
      std::string text = "{";
      for (const auto& [key, value] : node.entries) {
        text += (text.size() > 1 ? ", " : "") + key + " = " + value->text;
      }
      return text + "}";
    }
  }
  return {};
}

struct TypeRow {
  AttrType element;
  std::string_view phrase;
};

constexpr TypeRow type_rows[] = {
#define ATTRIBUTE_TYPE(Name, element, phrase) {AttrType::element, phrase},
#include "ir/core/attribute_types.def"
#undef ATTRIBUTE_TYPE
};

template <typename T, typename Make>
Attr array_of(Context& context, const std::vector<T>& values, Make make) {
  std::vector<Attr> elements;
  for (const T& value : values) elements.push_back(make(value));
  return context.array(std::move(elements));
}

}  // namespace

std::string quote(std::string_view value) {
  std::string text = "\"";
  for (unsigned char c : value) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += char(c);
    } else if (c == '\n') {
      text += "\\n";
    } else if (c < 0x20 || c == 0x7f) {
      text += fmt::format("\\x{:02x}", c);
    } else {
      text += char(c);
    }
  }
  return text + "\"";
}

std::string_view to_string(AttrKind kind) { return kind_names[size_t(kind)]; }

Attr AttrNode::get(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name == key) return value;
  }
  return nullptr;
}

Attr Context::make(AttrNode node) {
  node.text = text_of(node);
  auto& slot = attributes_[node.text];
  if (slot) return slot.get();
  spending().bytes += int64_t(sizeof node + 2 * node.text.size());
  slot = std::make_unique<AttrNode>(std::move(node));
  return slot.get();
}

Attr Context::boolean(bool value) { return make({.kind = AttrKind::Bool, .boolean = value}); }

Attr Context::integer(int64_t value) {
  return make({.kind = AttrKind::Int, .integer = value, .number = double(value), .dim = dims_.constant(value)});
}

Attr Context::number(double value) { return make({.kind = AttrKind::Float, .number = value}); }

Attr Context::string(std::string_view value) {
  return make({.kind = AttrKind::String, .string = std::string(value)});
}

Attr Context::dtype(DType value) { return make({.kind = AttrKind::DType, .dtype = value}); }

Attr Context::dim(Dim value) {
  if (std::optional<int64_t> constant = value->constant()) return integer(*constant);
  return make({.kind = AttrKind::Dim, .dim = value});
}

Attr Context::type(Type value) { return make({.kind = AttrKind::Type, .type = value}); }

Attr Context::symbol(std::string_view name) {
  return make({.kind = AttrKind::Symbol, .string = std::string(name)});
}

Attr Context::array(std::vector<Attr> elements) {
  return make({.kind = AttrKind::Array, .elements = std::move(elements)});
}

Attr Context::dims_array(const std::vector<Dim>& dims) {
  std::vector<Attr> elements;
  for (Dim d : dims) elements.push_back(dim(d));
  return array(std::move(elements));
}

Attr Context::integers(const std::vector<int64_t>& values) {
  std::vector<Attr> elements;
  for (int64_t value : values) elements.push_back(integer(value));
  return array(std::move(elements));
}

Attr Context::dict(std::vector<NamedAttr> entries) {
  std::sort(entries.begin(), entries.end(),
            [](const NamedAttr& a, const NamedAttr& b) { return a.first < b.first; });
  return make({.kind = AttrKind::Dict, .entries = std::move(entries)});
}

std::string_view to_string(AttrType type) { return type_rows[size_t(type)].phrase; }
AttrType element_type(AttrType type) { return type_rows[size_t(type)].element; }

bool fits(Attr attr, AttrType type) {
  if (element_type(type) != type) {
    auto element_fits = [&](Attr element) { return fits(element, element_type(type)); };
    return attr->is(AttrKind::Array) && std::ranges::all_of(attr->elements, element_fits);
  }
  bool is_number = attr->is(AttrKind::Int) || attr->is(AttrKind::Float);
  switch (type) {
    case AttrType::Bool: return attr->is(AttrKind::Bool);
    case AttrType::Int: return attr->is(AttrKind::Int);
    case AttrType::Float:
    case AttrType::Number: return is_number;
    case AttrType::Element: return is_number || attr->is(AttrKind::Bool);
    case AttrType::String: return attr->is(AttrKind::String);
    case AttrType::DType: return attr->is(AttrKind::DType);
    case AttrType::Dim: return attr->is(AttrKind::Dim) || attr->is(AttrKind::Int);
    case AttrType::Type: return attr->is(AttrKind::Type);
    case AttrType::Symbol: return attr->is(AttrKind::Symbol);
    case AttrType::Dict: return attr->is(AttrKind::Dict);
    case AttrType::Fact: return read_fact(attr).has_value();
    case AttrType::Ints:
    case AttrType::Elements:
    case AttrType::Strings:
    case AttrType::Dims:
    case AttrType::Types:
    case AttrType::Symbols:
    case AttrType::Dicts:
    case AttrType::Facts: break;
  }
  return false;
}

Attr AttrAccess<AttrType::Bool>::make(Context& context, bool value) { return context.boolean(value); }
Attr AttrAccess<AttrType::Int>::make(Context& context, int64_t value) { return context.integer(value); }
Attr AttrAccess<AttrType::Float>::make(Context& context, double value) { return context.number(value); }
Attr AttrAccess<AttrType::String>::make(Context& context, std::string_view value) { return context.string(value); }
Attr AttrAccess<AttrType::Symbol>::make(Context& context, std::string_view value) { return context.symbol(value); }
Attr AttrAccess<AttrType::DType>::make(Context& context, DType value) { return context.dtype(value); }
Attr AttrAccess<AttrType::Dim>::make(Context& context, Dim value) { return context.dim(value); }
Attr AttrAccess<AttrType::Type>::make(Context& context, Type value) { return context.type(value); }
Attr AttrAccess<AttrType::Number>::make(Context& context, int64_t value) { return context.integer(value); }
Attr AttrAccess<AttrType::Number>::make(Context& context, double value) { return context.number(value); }
Attr AttrAccess<AttrType::Dict>::make(Context& context, std::vector<NamedAttr> entries) {
  return context.dict(std::move(entries));
}
Attr AttrAccess<AttrType::Ints>::make(Context& context, const std::vector<int64_t>& values) {
  return context.integers(values);
}
Attr AttrAccess<AttrType::Dims>::make(Context& context, const std::vector<Dim>& values) {
  return context.dims_array(values);
}
Attr AttrAccess<AttrType::Types>::make(Context& context, const std::vector<Type>& values) {
  return array_of(context, values, [&](Type type) { return context.type(type); });
}
Attr AttrAccess<AttrType::Strings>::make(Context& context, const std::vector<std::string>& values) {
  return array_of(context, values, [&](const std::string& value) { return context.string(value); });
}
Attr AttrAccess<AttrType::Symbols>::make(Context& context, const std::vector<std::string>& values) {
  return array_of(context, values, [&](const std::string& value) { return context.symbol(value); });
}

const std::vector<Attr>& AttrNodesAccess::read(Attr attr) {
  static const std::vector<Attr> none;
  return attr ? attr->elements : none;
}
Attr AttrNodesAccess::make(Context& context, std::vector<Attr> values) { return context.array(std::move(values)); }

}  // namespace tessera

namespace tessera::common {

namespace {

#define ATTR(name, type) Row{{}, #name, AttrType::type},
#define ATTR_OPT(name, type) ATTR(name, type)

/// Each group's rows without its name, which the macros of a row do not know.
std::vector<Row> named(std::string_view group, std::vector<Row> group_rows) {
  for (Row& row : group_rows) row.group = group;
  return group_rows;
}

std::vector<Row> all_rows() {
  std::vector<Row> all;
#define COMMON(Group, attributes) \
  for (const Row& row : named(#Group, {attributes})) all.push_back(row);
#include "ir/core/common_attributes.def"
#undef COMMON
#undef ATTR
#undef ATTR_OPT
  return all;
}

}  // namespace

std::span<const Row> rows() {
  static const std::vector<Row> all = all_rows();
  return all;
}

}  // namespace tessera::common
