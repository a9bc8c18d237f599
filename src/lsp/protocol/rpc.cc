#include "lsp/protocol/rpc.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "frontend/syntax/utf8.h"

namespace tessera::lsp {

namespace {

bool nests_too_deeply(std::string_view body) {
  size_t depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < body.size(); ++i) {
    char c = body[i];
    if (in_text && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_text = !in_text;
    } else if (!in_text && (c == '[' || c == '{')) {
      if (++depth > max_message_depth) return true;
    } else if (!in_text && (c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

/// The number of a `\uXXXX` at the start of the text; 0 for anything else.
uint32_t escaped_unit(std::string_view text) {
  if (text.size() < 6 || !text.starts_with("\\u")) return 0;
  uint32_t unit = 0;
  auto [stop, error] = std::from_chars(text.data() + 2, text.data() + 6, unit, 16);
  return error == std::errc() && stop == text.data() + 6 ? unit : 0;
}

bool is_high_surrogate(uint32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low_surrogate(uint32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

/// The body with U+FFFD in the place of what is no character.
std::string with_replacements(std::string_view body) {
  constexpr std::string_view replacement = "\xEF\xBF\xBD";
  std::string out;
  while (!body.empty()) {
    size_t length = uint8_t(body[0]) < 0x80 ? 1 : utf8_sequence_length(body);
    std::string_view put = body.substr(0, length);
    if (length == 0) {
      put = replacement;
      length = 1;
    } else if (body[0] == '\\') {
      uint32_t unit = escaped_unit(body), next = unit == 0 ? 0 : escaped_unit(body.substr(6));
      bool is_pair = is_high_surrogate(unit) && is_low_surrogate(next);
      bool is_half = !is_pair && (is_high_surrogate(unit) || is_low_surrogate(unit));
      length = is_pair ? 12 : unit != 0 ? 6 : std::min<size_t>(2, body.size());
      put = is_half ? replacement : body.substr(0, length);
    }
    out += put;
    body.remove_prefix(length);
  }
  return out;
}

}  // namespace

Json read_message(std::string_view body, std::string& problem) {
  problem.clear();
  Json message = Json::parse(body, nullptr, false);
  if (message.is_discarded()) message = Json::parse(with_replacements(body), nullptr, false);
  if (message.is_discarded()) {
    problem = "the message is not JSON";
    return nullptr;
  }
  if (nests_too_deeply(body)) problem = fmt::format("the message nests values more than {} deep", max_message_depth);
  return message;
}

LostText lost_text(std::string_view bytes) {
  // A text has these with backslashes before their quotes.
  auto has = [&](std::string_view method) { return bytes.find(method) != std::string_view::npos; };
  LostText lost;
  lost.is_lost = has("\"textDocument/didChange\"") || has("\"textDocument/didOpen\"");
  constexpr std::string_view key = "\"uri\"", blanks = " \t\r\n";
  size_t at = lost.is_lost ? bytes.find(key) : std::string_view::npos;
  size_t colon = at == std::string_view::npos ? at : bytes.find_first_not_of(blanks, at + key.size());
  size_t begin = colon == std::string_view::npos || bytes[colon] != ':' ? std::string_view::npos
                                                                        : bytes.find_first_not_of(blanks, colon + 1);
  if (begin == std::string_view::npos || bytes[begin] != '"') return lost;
  size_t end = begin + 1;
  while (end < bytes.size() && bytes[end] != '"') end += bytes[end] == '\\' ? 2 : 1;
  Json uri = Json::parse(bytes.substr(begin, end + 1 - begin), nullptr, false);
  if (uri.is_string()) lost.uri = uri.get<std::string>();
  return lost;
}

Json lost_message(const std::string& uri) {
  return make_notification(std::string(lost_method), {{"textDocument", {{"uri", uri}}}});
}

Json make_response(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json make_error(const Json& id, ErrorCode code, const std::string& message) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", int(code)}, {"message", message}}}};
}

Json make_notification(const std::string& method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

Json make_request(int64_t id, const std::string& method, Json params) {
  Json made = {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}};
  if (!params.is_null()) made["params"] = std::move(params);
  return made;
}

bool is_id(const Json& value) { return value.is_number_integer() || value.is_string(); }

std::string cancelled_id(std::string_view body) {
  constexpr std::string_view method = "$/cancelRequest";
  // Most messages are long and none of this; they are read later.
  constexpr size_t longest = 1000;
  if (body.size() > longest || body.find(method) == std::string_view::npos) return "";
  Json message = Json::parse(body, nullptr, false);
  if (message.is_discarded() || text_at(message, "method") != method) return "";
  const Json& id = member(member(message, "params"), "id");
  return is_id(id) ? to_line(id) : "";
}

}  // namespace tessera::lsp
