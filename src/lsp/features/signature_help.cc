// The call around the cursor: its parameters, and which one is being given.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lsp/features/cursor.h"
#include "lsp/features/describe_symbol.h"
#include "lsp/features/features.h"

namespace tessera::lsp {

namespace {

/// The innermost call that the cursor is in, and what it calls.
std::optional<std::pair<OpenBracket, Symbol>> enclosing_call(FileModel& file, const Cursor& cursor,
                                                             Resolver& resolver) {
  for (size_t i = cursor.brackets().size(); i-- > 0;) {
    const OpenBracket& open = cursor.brackets()[i];
    if (open.kind != TokenKind::Lparen || open.before < 0) continue;
    const RawToken& name = *cursor.before()[size_t(open.before)];
    bool defines = open.before > 0 && begins_compound(cursor.before()[size_t(open.before) - 1]->kind);
    const Occurrence* occurrence = cursor.piece()->names.at(name.offset);
    if (defines || !occurrence || occurrence->range.begin != name.offset) continue;
    auto symbol = resolver.resolve({&file, cursor.piece(), occurrence});
    auto callee = symbol ? resolver.callee(*symbol) : std::nullopt;
    if (callee && !signature_of(*callee).label.empty()) return std::pair(open, std::move(*callee));
  }
  return std::nullopt;
}

size_t active_parameter(const Signature& signature, const OpenBracket& open) {
  if (!open.keyword.empty()) {
    auto found = std::find(signature.names.begin(), signature.names.end(), open.keyword);
    return size_t(found - signature.names.begin());
  }
  bool past = open.commas >= signature.positional;
  if (past && signature.rest_positional && signature.positional > 0) return signature.positional - 1;
  return past ? signature.names.size() : open.commas;
}

}  // namespace

Json signature_help(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  if (!file) return nullptr;
  Cursor cursor(*file, offset_of(context, *file, params));
  if (!cursor.piece()) return nullptr;
  Resolver resolver(context.workspace);
  auto call = enclosing_call(*file, cursor, resolver);
  if (!call) return nullptr;
  Signature signature = signature_of(call->second);
  Json parameters = Json::array();
  for (auto [begin, end] : signature.parameters) {
    // Offsets count UTF-16 units; labels are ASCII but for texts in defaults, where the name is enough.
    bool ascii = std::all_of(signature.label.begin(), signature.label.end(), [](char c) { return uint8_t(c) < 0x80; });
    Json label = context.client.label_offsets && ascii ? Json::array({begin, end})
                                                       : Json(signature.label.substr(begin, end - begin));
    parameters.push_back({{"label", std::move(label)}});
  }
  Json information = {{"label", signature.label}, {"parameters", std::move(parameters)}};
  std::string text = documentation(call->second);
  if (!text.empty()) information["documentation"] = markup(context.client.markdown_hover, text);
  return {{"signatures", Json::array({std::move(information)})},
          {"activeSignature", 0},
          {"activeParameter", active_parameter(signature, call->first)}};
}

}  // namespace tessera::lsp
