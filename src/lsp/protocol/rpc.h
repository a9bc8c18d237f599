#pragma once
// JSON-RPC 2.0, as the protocol uses it.

#include <string>
#include <string_view>

#include "lsp/protocol/json.h"

namespace tessera::lsp {

enum class ErrorCode : int {
  ParseError = -32700,
  InvalidRequest = -32600,
  MethodNotFound = -32601,
  InvalidParams = -32602,
  InternalError = -32603,
  ServerNotInitialized = -32002,
  RequestFailed = -32803,
  ContentModified = -32801,
  RequestCancelled = -32800,
};

/// A response; `id` is the request's, or null where it could not be read.
Json make_response(const Json& id, Json result);
Json make_error(const Json& id, ErrorCode code, const std::string& message);
Json make_notification(const std::string& method, Json params);
/// Null parameters are left out: JSON-RPC has none that are no object or array.
Json make_request(int64_t id, const std::string& method, Json params);

/// Whether a value can be the id of a request: an integer or a text.
bool is_id(const Json& value);

/// Values deeper than this in one another are in no message of the protocol. What copies and writes JSON calls itself
/// for each level.
inline constexpr size_t max_message_depth = 200;

/// Reads a body; null where it is no JSON. `problem` says why the message is not to be worked on, and is empty for
/// others; its id may be known all the same. Bytes that are no UTF-8, and halves of surrogate pairs, come as U+FFFD: an
/// editor counts them as one character each, and an edit that is not taken would leave all that follow at wrong places.
Json read_message(std::string_view body, std::string& problem);

/// Guesses the intent of bytes that are no message: that a document was opened or changed.
struct LostText {
  bool is_lost = false;
  std::string uri;  ///< empty: of any document
};
LostText lost_text(std::string_view bytes);

/// The notification that passes it on: nobody knows the text of that document, and it was not closed. Of any for "".
inline constexpr std::string_view lost_method = "$/tessera/lost";
Json lost_message(const std::string& uri);

/// The id in the body of a `$/cancelRequest`, as one line; empty for any other message.
std::string cancelled_id(std::string_view body);

}  // namespace tessera::lsp
