#include "lsp/features/symbol_kinds.h"

namespace tessera::lsp {

namespace {

// SymbolKind.
constexpr int symbol_module = 2;
constexpr int symbol_class = 5;
constexpr int symbol_method = 6;
constexpr int symbol_property = 7;
constexpr int symbol_field = 8;
constexpr int symbol_function = 12;
constexpr int symbol_variable = 13;
constexpr int symbol_constant = 14;
constexpr int symbol_type_parameter = 26;

// CompletionItemKind.
constexpr int item_method = 2;
constexpr int item_function = 3;
constexpr int item_field = 5;
constexpr int item_variable = 6;
constexpr int item_class = 7;
constexpr int item_module = 9;
constexpr int item_property = 10;
constexpr int item_keyword = 14;
constexpr int item_file = 17;
constexpr int item_constant = 21;
constexpr int item_struct = 22;
constexpr int item_type_parameter = 25;

}  // namespace

int protocol_kind(SymbolKind kind) {
  switch (kind) {
    case SymbolKind::Function:
    case SymbolKind::Entry:
    case SymbolKind::Kernel:
    case SymbolKind::Builtin: return symbol_function;
    case SymbolKind::Method: return symbol_method;
    case SymbolKind::Module: return symbol_class;
    case SymbolKind::Field: return symbol_field;
    case SymbolKind::Constant: return symbol_constant;
    case SymbolKind::Size:
    case SymbolKind::Dim: return symbol_type_parameter;
    case SymbolKind::File:
    case SymbolKind::Namespace: return symbol_module;
    case SymbolKind::Self:
    case SymbolKind::Word: return symbol_property;
    case SymbolKind::Parameter:
    case SymbolKind::Variable:
    case SymbolKind::Import:
    case SymbolKind::Param: return symbol_variable;
  }
  return symbol_variable;
}

int completion_kind(const Symbol& symbol) {
  switch (symbol.kind) {
    case SymbolKind::Function:
    case SymbolKind::Entry:
    case SymbolKind::Kernel:
    case SymbolKind::Builtin: return item_function;
    case SymbolKind::Method: return item_method;
    case SymbolKind::Module: return item_class;
    case SymbolKind::Field: return item_field;
    case SymbolKind::Constant: return item_constant;
    case SymbolKind::Size:
    case SymbolKind::Dim: return item_type_parameter;
    case SymbolKind::File: return item_file;
    case SymbolKind::Namespace: return item_module;
    case SymbolKind::Self: return item_keyword;
    case SymbolKind::Parameter:
    case SymbolKind::Variable:
    case SymbolKind::Import:
    case SymbolKind::Param: return item_variable;
    case SymbolKind::Word: break;
  }
  switch (symbol.word->kind) {
    case WordKind::Type:
    case WordKind::DType:
    case WordKind::Layout: return item_struct;
    case WordKind::Constant:
    case WordKind::Device: return item_constant;
    case WordKind::Namespace: return item_module;
    case WordKind::TensorMember:
    case WordKind::CacheMember:
    case WordKind::OptimizerMember:
    case WordKind::ScheduleMember: return item_property;
    case WordKind::StateMember:
    case WordKind::KernelMember: return item_method;
    default: return item_keyword;
  }
}

std::string_view describe(SymbolKind kind) {
  switch (kind) {
    case SymbolKind::Parameter: return "parameter";
    case SymbolKind::Self: return "instance";
    case SymbolKind::Variable: return "variable";
    case SymbolKind::Size: return "size or dtype of the signature";
    case SymbolKind::Function: return "function";
    case SymbolKind::Entry: return "entry";
    case SymbolKind::Kernel: return "kernel";
    case SymbolKind::Module: return "module";
    case SymbolKind::Constant: return "constant";
    case SymbolKind::Param: return "param";
    case SymbolKind::Dim: return "dim";
    case SymbolKind::Field: return "field";
    case SymbolKind::Method: return "method";
    case SymbolKind::Import: return "import";
    case SymbolKind::File: return "file";
    case SymbolKind::Namespace: return "namespace";
    case SymbolKind::Builtin: return "function of the language";
    case SymbolKind::Word: return "word of the language";
  }
  return "";
}

bool matches(std::string_view query, std::string_view name) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; };
  size_t at = 0;
  for (char c : name) {
    if (at < query.size() && lower(c) == lower(query[at])) ++at;
  }
  return at == query.size();
}

}  // namespace tessera::lsp
