#pragma once
// Describes symbols as text: for hovers, completions and signatures.

#include <string>
#include <utility>
#include <vector>

#include "lsp/features/cursor.h"
#include "lsp/workspace/resolve.h"

namespace tessera::lsp {

/// A callable as one line, and where its parameters are in it.
struct Signature {
  std::string label;
  std::vector<std::pair<uint32_t, uint32_t>> parameters;
  std::vector<std::string> names;
  bool rest_positional = false;  ///< the last positional parameter takes all others
  size_t positional = 0;         ///< how many can be given by position
};

/// Whether the bracket of a call already has the parameter with that number, by its place or by its name.
bool is_given(const Signature& signature, const OpenBracket& call, size_t parameter);

/// Of a function, method, kernel, module or function of the language; an empty label for anything else.
Signature signature_of(const Symbol& symbol);
/// An argument that a call gives by name, in Markdown; empty where it takes none of that name.
std::string describe_argument(const Symbol& callee, std::string_view name);
/// The comment above a declaration, or its docstring.
std::string documentation(const Symbol& symbol);
/// The source line that declares it, without its body.
std::string declaration_text(const Symbol& symbol);
/// Everything about it, in Markdown.
std::string describe(const Symbol& symbol);

}  // namespace tessera::lsp
