#pragma once
// Attributes: compile-time data on operations, uniqued in a Context.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/core/type.h"

namespace tessera {

enum class AttrKind : uint8_t {
#define ATTRIBUTE(Name) Name,
#include "ir/core/attributes.def"
#undef ATTRIBUTE
};
std::string_view to_string(AttrKind kind);

struct AttrNode;
using Attr = const AttrNode*;
using NamedAttr = std::pair<std::string, Attr>;

struct AttrNode {
  AttrKind kind;
  bool boolean = false;
  int64_t integer = 0;
  double number = 0;  ///< Float; also set for Int, so that a number reads either
  std::string string;  ///< String, Symbol (without the @)
  DType dtype = DType::F32;
  Dim dim = nullptr;  ///< Dim; also set for Int, so that a size reads either
  Type type = nullptr;
  std::vector<Attr> elements;      ///< Array
  std::vector<NamedAttr> entries;  ///< Dict, sorted by key
  std::string text;

  bool is(AttrKind k) const { return kind == k; }
  /// Entry of a Dict, or null.
  Attr get(std::string_view key) const;
};

/// A string as IR text writes it, in quotes and with escapes.
std::string quote(std::string_view value);

}  // namespace tessera
