#include "lsp/rpc.h"

#include <nlohmann/json.hpp>

namespace tessera::lsp {

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
  return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}};
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
