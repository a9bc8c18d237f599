#pragma once
// The numbers that the protocol has for kinds of things; errors are in rpc.h.

namespace tessera::lsp::number {

/// SymbolKind.
struct Symbol {
  static constexpr int module = 2;
  static constexpr int class_ = 5;
  static constexpr int method = 6;
  static constexpr int property = 7;
  static constexpr int field = 8;
  static constexpr int function = 12;
  static constexpr int variable = 13;
  static constexpr int constant = 14;
  static constexpr int type_parameter = 26;
};

/// CompletionItemKind.
struct Item {
  static constexpr int method = 2;
  static constexpr int function = 3;
  static constexpr int field = 5;
  static constexpr int variable = 6;
  static constexpr int class_ = 7;
  static constexpr int module = 9;
  static constexpr int property = 10;
  static constexpr int keyword = 14;
  static constexpr int file = 17;
  static constexpr int constant = 21;
  static constexpr int struct_ = 22;
  static constexpr int type_parameter = 25;
};

/// DiagnosticSeverity, and MessageType.
struct Severity {
  static constexpr int error = 1;
  static constexpr int warning = 2;
  static constexpr int information = 3;
};

/// DiagnosticTag.
struct Tag {
  static constexpr int unnecessary = 1;
};

/// DocumentHighlightKind.
struct Highlight {
  static constexpr int read = 2;
  static constexpr int write = 3;
};

/// InlayHintKind.
struct Hint {
  static constexpr int type = 1;
  static constexpr int parameter = 2;
};

/// TextDocumentSyncKind.
struct Sync {
  static constexpr int incremental = 2;
};

}  // namespace tessera::lsp::number
