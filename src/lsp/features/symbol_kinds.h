#pragma once
// The protocol's numbers for kinds of symbols and completions, and the words for them.

#include <string_view>

#include "lsp/names.h"
#include "lsp/resolve.h"

namespace tessera::lsp {

/// SymbolKind of the protocol.
int protocol_kind(DeclaredKind kind);
int protocol_kind(SymbolKind kind);
/// CompletionItemKind of the protocol.
int completion_kind(const Symbol& symbol);
/// "entry", "kernel": what a list of symbols says beside the name.
std::string_view detail_of(DeclaredKind kind);
/// "entry", "parameter": what a hover calls it.
std::string_view describe(SymbolKind kind);

}  // namespace tessera::lsp
