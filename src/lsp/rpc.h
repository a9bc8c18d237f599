#pragma once
// JSON-RPC 2.0, as the protocol uses it.

#include <string>
#include <string_view>

#include "lsp/json.h"

namespace tessera::lsp {

enum class ErrorCode : int {
  ParseError = -32700,
  InvalidRequest = -32600,
  MethodNotFound = -32601,
  InvalidParams = -32602,
  InternalError = -32603,
  ServerNotInitialized = -32002,
  RequestFailed = -32803,
  RequestCancelled = -32800,
};

/// A response; `id` is the request's, or null where it could not be read.
Json make_response(const Json& id, Json result);
Json make_error(const Json& id, ErrorCode code, const std::string& message);
Json make_notification(const std::string& method, Json params);
Json make_request(int64_t id, const std::string& method, Json params);

/// Whether a value can be the id of a request: an integer or a text.
bool is_id(const Json& value);

/// The id in the body of a `$/cancelRequest`, as one line; empty for any other message.
std::string cancelled_id(std::string_view body);

}  // namespace tessera::lsp
