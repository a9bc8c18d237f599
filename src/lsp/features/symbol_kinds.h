#pragma once
// The protocol's numbers for kinds of symbols and completions, and the words for them.

#include <string_view>

#include "lsp/model/names.h"
#include "lsp/workspace/resolve.h"

namespace tessera::lsp {

/// SymbolKind of the protocol.
int protocol_kind(SymbolKind kind);
/// CompletionItemKind of the protocol.
int completion_kind(const Symbol& symbol);
/// "entry", "parameter": what lists and hovers call it.
std::string_view describe(SymbolKind kind);
/// The letters of the query occur in the name in that order; case does not count.
bool matches(std::string_view query, std::string_view name);

}  // namespace tessera::lsp
