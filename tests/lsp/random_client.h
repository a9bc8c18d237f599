#pragma once
// A client that does anything: edits that a typist makes and edits that nobody makes, requests at any
// place, and messages with bytes changed.

#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "lsp/server.h"

namespace lsp_test {

class RandomClient {
 public:
  RandomClient(unsigned seed, std::vector<std::string> texts);

  /// An edit of a random document.
  void edit();
  /// A request of a random kind at a random place.
  void request();
  /// A message of the kinds above with some bytes changed, or no message at all. The server's texts may
  /// differ from ours from here on.
  void garble();
  /// Background work, a little or all of it.
  void work(bool all);

  size_t document_count() const { return texts_.size(); }
  const std::string& text(size_t document) const { return texts_[document]; }
  /// Messages that the server sent.
  size_t answers() const { return answers_; }
  size_t errors() const { return errors_; }

  /// What the server says of a document: symbols, colours, folds and diagnostics.
  std::string summary(size_t document);
  /// The same of a server that has seen nothing but the texts as they are now.
  std::string fresh_summary(size_t document) const;

 private:
  nlohmann::json edit_message();
  nlohmann::json request_message();
  nlohmann::json position(const std::string& text, size_t offset) const;
  std::string snippet();
  size_t below(size_t n) { return n == 0 ? 0 : std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  void send(const nlohmann::json& message) { server_->receive(message.dump()); }
  void start();
  void open_all();
  std::string uri(size_t document) const { return "file:///random/doc" + std::to_string(document) + ".tsr"; }
  nlohmann::json answer(const std::string& method, size_t document);

  std::mt19937 random_;
  std::vector<std::string> originals_;
  std::vector<std::string> texts_;
  std::vector<int> versions_;
  std::unique_ptr<tessera::lsp::Server> server_;
  std::vector<nlohmann::json> diagnostics_;
  nlohmann::json last_answer_;
  size_t answers_ = 0;
  size_t errors_ = 0;
  int next_id_ = 1;
};

}  // namespace lsp_test
