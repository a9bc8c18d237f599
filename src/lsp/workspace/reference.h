#pragma once
// The language's own words, and its functions with their specification, which is read from the
// comments of the compiler's tables (src/frontend/values/builtins.def and others, embedded).

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/binding/words.h"
#include "frontend/values/builtins.h"
#include "frontend/values/embedded.h"

namespace tessera::lsp {

using names::WordKind;

struct Word {
  std::string text;
  WordKind kind;
  std::string meaning;
};

/// All words that a program may write, those of other tables (dtypes, keys of schedules) included.
std::span<const Word> words();
/// The word of that kind; null when there is none.
const Word* find_word(std::string_view text, WordKind kind);
/// The same of a member, `with_stages` being `stages`.
const Word* find_member_word(std::string_view text, WordKind kind);

/// The specification of a function of the language.
struct Specification {
  std::string meaning;
  std::vector<std::pair<std::string, std::string>> facts;  ///< "shapes", "dtypes", "numerics", "becomes"
};
const Specification& specification(const frontend::Builtin& builtin);
/// "rmsnorm(x, scale=None, eps=1e-6)"; places of the parameters in it when asked for.
std::string signature_text(const frontend::Builtin& builtin,
                           std::vector<std::pair<uint32_t, uint32_t>>* parameters = nullptr);

/// The function of that name in `ops` or `tile`; null when there is none.
const frontend::Builtin* find_op(std::string_view name);
const frontend::Builtin* find_tile_op(std::string_view name);
std::span<const frontend::Builtin> all_ops();

/// The tables as text (cmake/embed.cmake).
std::span<const frontend::EmbeddedFile> reference_texts();

}  // namespace tessera::lsp
