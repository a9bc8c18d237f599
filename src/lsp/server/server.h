#pragma once
// The server without its pipes: messages go in, messages come out, and work() does the background
// work. One thread uses it. docs/editors.md lists its features.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/protocol/json.h"

namespace tessera::lsp {

struct ServerOptions {
  std::string version;
  /// Whether the answer to the request with this id (as one line) is wanted no more.
  std::function<bool(const std::string& id)> is_cancelled;
  /// Whether a newer edit waits, so that background work should end.
  std::function<bool()> has_newer_edit;
  /// Called, by another thread, when work() has something to do again.
  std::function<void()> wake;
  /// Called with the document that is worked on and its text, and with nothing when that is done.
  std::function<void(std::string_view uri, std::string_view text)> working_on;
  /// False: what the compiler would be asked for is refused.
  bool starts_programs = true;
};

class Server {
 public:
  /// `send` gets the body of each message to the client.
  Server(std::function<void(const std::string& body)> send, ServerOptions options);
  ~Server();

  /// One message from the client.
  void receive(std::string_view body);
  /// A message that could not be read, and its first bytes.
  void refuse(const std::string& reason, std::string_view bytes);
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

/// The methods of all requests that are answered, for clients that try them all.
std::vector<std::string> request_methods();

}  // namespace tessera::lsp
