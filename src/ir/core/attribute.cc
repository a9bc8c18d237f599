#include "ir/core/attribute.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/core/context.h"
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

}  // namespace tessera
