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
    if (open.kind != TokenKind::Lparen || open.before < 0 || open.declares) continue;
    const RawToken& name = *cursor.before()[size_t(open.before)];
    const Occurrence* occurrence = cursor.piece()->names.at(name.offset);
    if (!occurrence || occurrence->range.begin != name.offset) continue;
    auto symbol = resolver.resolve({&file, cursor.piece(), occurrence});
    auto callee = symbol ? resolver.callee(*symbol) : std::nullopt;
    if (callee && !signature_of(*callee).label.empty()) return std::pair(open, std::move(*callee));
  }
  return std::nullopt;
}

/// The parameter that is given at the cursor. Where the text does not say which, the first is meant that is not given
/// yet and goes on as what is typed does, or else the first that is not given: a number that no parameter has would
/// count as that of the first one.
size_t active_parameter(const Signature& signature, const OpenBracket& open, std::string_view typed) {
  const std::vector<std::string>& names = signature.names;
  auto named = std::find(names.begin(), names.end(), open.keyword);
  if (!open.keyword.empty() && named != names.end()) return size_t(named - names.begin());
  if (open.given.empty() && open.commas < signature.positional) return open.commas;
  if (open.given.empty() && signature.rest_positional && signature.positional > 0) return signature.positional - 1;
  std::optional<size_t> first, like;
  for (size_t i = 0; i < names.size(); ++i) {
    if (is_given(signature, open, i)) continue;
    first = first.value_or(i);
    if (names[i].starts_with(typed)) like = like.value_or(i);
  }
  return like.value_or(first.value_or(names.empty() ? 0 : names.size() - 1));
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
          {"activeParameter", active_parameter(signature, call->first, cursor.prefix())}};
}

}  // namespace tessera::lsp
