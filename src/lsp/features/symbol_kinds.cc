#include "lsp/features/symbol_kinds.h"
#include "lsp/protocol/numbers.h"

namespace tessera::lsp {

using number::Item;

int protocol_kind(SymbolKind kind) {
  switch (kind) {
    case SymbolKind::Function:
    case SymbolKind::Entry:
    case SymbolKind::Kernel:
    case SymbolKind::Builtin: return number::Symbol::function;
    case SymbolKind::Method: return number::Symbol::method;
    case SymbolKind::Module: return number::Symbol::class_;
    case SymbolKind::Field: return number::Symbol::field;
    case SymbolKind::Constant: return number::Symbol::constant;
    case SymbolKind::Size:
    case SymbolKind::Dim: return number::Symbol::type_parameter;
    case SymbolKind::File:
    case SymbolKind::Namespace: return number::Symbol::module;
    case SymbolKind::Self:
    case SymbolKind::Word: return number::Symbol::property;
    case SymbolKind::Parameter:
    case SymbolKind::Variable:
    case SymbolKind::Import:
    case SymbolKind::Param: return number::Symbol::variable;
  }
  return number::Symbol::variable;
}

int completion_kind(const Symbol& symbol) {
  switch (symbol.kind) {
    case SymbolKind::Function:
    case SymbolKind::Entry:
    case SymbolKind::Kernel:
    case SymbolKind::Builtin: return Item::function;
    case SymbolKind::Method: return Item::method;
    case SymbolKind::Module: return Item::class_;
    case SymbolKind::Field: return Item::field;
    case SymbolKind::Constant: return Item::constant;
    case SymbolKind::Size:
    case SymbolKind::Dim: return Item::type_parameter;
    case SymbolKind::File: return Item::file;
    case SymbolKind::Namespace: return Item::module;
    case SymbolKind::Self: return Item::keyword;
    case SymbolKind::Parameter:
    case SymbolKind::Variable:
    case SymbolKind::Import:
    case SymbolKind::Param: return Item::variable;
    case SymbolKind::Word: break;
  }
  switch (symbol.word->kind) {
    case WordKind::Type:
    case WordKind::DType:
    case WordKind::Layout: return Item::struct_;
    case WordKind::Constant:
    case WordKind::Device: return Item::constant;
    case WordKind::Namespace: return Item::module;
    case WordKind::TensorMember:
    case WordKind::CacheMember:
    case WordKind::OptimizerMember:
    case WordKind::ScheduleMember: return Item::property;
    case WordKind::StateMember:
    case WordKind::KernelMember: return Item::method;
    default: return Item::keyword;
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
