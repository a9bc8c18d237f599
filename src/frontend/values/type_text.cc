#include "frontend/values/type_text.h"

#include <fmt/format.h>

namespace tessera::frontend {

std::string type_text(Type type) {
  bool is_array = type->is(TypeKind::Tensor) || type->is(TypeKind::Tile);
  if (!is_array) return type->text;
  std::string_view kind = type->is(TypeKind::Tensor) ? "tensor" : "tile";
  return fmt::format("{} {} of {}", kind, to_text(type->dims), to_string(type->dtype));
}

std::string with_article(Type type) {
  std::string text = type_text(type);
  bool has_vowel = text[0] == 'i' || text[0] == 'f';  // as their letters are said
  return fmt::format("{} {}", has_vowel ? "an" : "a", text);
}

}  // namespace tessera::frontend
