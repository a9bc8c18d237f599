#pragma once
// The messages of a client that another server needs in order to take over.

#include <memory>
#include <string>
#include <vector>

#include "lsp/protocol/json.h"
#include "lsp/protocol/rpc.h"

namespace tessera::lsp {

class Session {
 public:
  Session();
  ~Session();

  /// A message from the client.
  void note(const Json& message);

  /// The request of that name; null before it.
  const Json& initialize() const;
  bool is_open(const std::string& uri) const;
  /// Nobody knows that text any more.
  void lose(const LostText& lost);
  /// A document that a server failed at: a new one does not get its text before that changes.
  void set_aside(const std::string& uri);
  bool is_set_aside(const std::string& uri) const;
  bool sets_aside() const;
  /// The text has changed: gives the message that opens the document as it is now.
  Json take_back(const std::string& uri);

  /// The messages that bring a new server to the state of the last one: `initialize`, settings,
  /// documents, also that they are lost;
  /// `all` also has those that are set aside.
  std::vector<Json> replay(bool all = false) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The document that a message, or its parameters, are about; empty for none.
std::string uri_in(const Json& message);
std::string uri_in_params(const Json& params);

}  // namespace tessera::lsp
