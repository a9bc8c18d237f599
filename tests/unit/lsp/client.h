#pragma once
// A client in the process of the test.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lsp/server/server.h"

namespace lsp_test {

using Json = nlohmann::json;

class Client {
 public:
  /// With all that the server makes use of; `encoding` is "utf-8" or "utf-16".
  explicit Client(const std::string& encoding = "utf-16", Json capabilities = {}, Json options = {});

  /// The result of a request; a failure of the test where it is an error.
  Json request(const std::string& method, Json params);
  /// The error of a request that fails.
  Json failure(const std::string& method, Json params);
  void notify(const std::string& method, Json params);
  void raw(const std::string& body) { server_->receive(body); }

  void open(const std::string& uri, const std::string& text, int version = 1);
  /// Replaces the first occurrence of a text in an open document, as an edit of its range.
  void replace(const std::string& uri, const std::string& old_text, const std::string& new_text);
  void close(const std::string& uri);
  const std::string& text(const std::string& uri) const { return texts_.at(uri); }

  /// All background work.
  void wait_until_idle();
  /// The diagnostics that were published last for a document; null when none were.
  Json diagnostics(const std::string& uri) const;
  /// Their tags.
  std::vector<std::string> tags(const std::string& uri) const;

  /// A document and the place of the n-th occurrence of a text in it, `into` bytes further.
  Json at(const std::string& uri, const std::string& text, size_t into = 0, size_t n = 0) const;
  /// The text of a range.
  std::string in_range(const std::string& uri, const Json& range) const;

  const Json& initialized() const { return initialized_; }
  const std::vector<Json>& messages() const { return messages_; }
  tessera::lsp::Server& server() { return *server_; }

 private:
  Json position(const std::string& text, size_t offset) const;
  size_t offset(const std::string& text, const Json& position) const;
  Json answer(int id);

  std::unique_ptr<tessera::lsp::Server> server_;
  std::vector<Json> messages_;
  std::map<std::string, std::string> texts_;
  std::map<std::string, int> versions_;
  Json initialized_;
  bool utf8_;
  int next_id_ = 1;
};

}  // namespace lsp_test
