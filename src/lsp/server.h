#pragma once
// The server without its pipes: messages go in, messages come out, and work() does what nobody waits
// for. One thread uses it. docs/editors.md says what it offers.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "lsp/json.h"

namespace tessera::lsp {

struct ServerOptions {
  std::string version;
  /// Whether the answer to the request with this id (as one line) is wanted no more.
  std::function<bool(const std::string& id)> is_cancelled;
  /// Whether a newer edit waits, so that background work should end.
  std::function<bool()> has_newer_edit;
  /// Called, by another thread, when work() has something to do again.
  std::function<void()> wake;
};

class Server {
 public:
  /// `send` gets the body of each message to the client.
  Server(std::function<void(const std::string& body)> send, ServerOptions options);
  ~Server();

  /// One message from the client.
  void receive(std::string_view body);
  /// A message that could not be read.
  void refuse(const std::string& reason);
  /// Background work, a piece of it; false when there is none.
  bool work();
  bool has_work() const;
  /// Another program works on the answer to a request.
  bool has_jobs() const;
  bool has_exited() const;
  /// Of the process: 0 after `shutdown`, 1 without it.
  int exit_code() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::lsp
