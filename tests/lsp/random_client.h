#pragma once
// A client that does anything: realistic and absurd edits, all requests that the server answers at
// any place, documents that are closed and opened, files that appear and disappear, and malformed
// messages.

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "lsp/server/server.h"

namespace lsp_test {

class RandomClient {
 public:
  RandomClient(unsigned seed, std::vector<std::string> texts);
  ~RandomClient();
  RandomClient(const RandomClient&) = delete;

  /// An edit of a random document.
  void edit();
  /// A request of a random kind at a random place.
  void request();
  /// What changes more than a text: a document is closed and opened again, settings change, a file on disk is written
  /// or removed.
  void disturb();
  /// A message with some bytes changed, with a value of another kind somewhere, or with one that is nested without end.
  /// The server's texts may differ from ours from here on.
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
  RandomClient(unsigned seed, std::vector<std::string> texts, std::filesystem::path folder, nlohmann::json settings);
  static nlohmann::json notification(const std::string& method, nlohmann::json params);
  nlohmann::json edit_message();
  nlohmann::json request_message();
  nlohmann::json open_message(size_t document);
  nlohmann::json settings_message();
  nlohmann::json any_message();
  nlohmann::json& value_in(nlohmann::json& message);
  std::string garbled();
  void keep_answer(const nlohmann::json& message);
  bool gives_up();
  void reopen();
  void change_disk();
  void change_settings();
  nlohmann::json position(const std::string& text, size_t offset) const;
  std::string snippet();
  size_t below(size_t n) { return n == 0 ? 0 : std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  void send(const nlohmann::json& message) { server_->receive(message.dump()); }
  void start();
  std::string uri(size_t document) const {
    return "file://" + (folder_ / ("doc" + std::to_string(document) + ".tsr")).string();
  }
  nlohmann::json answer(const std::string& method, size_t document);

  std::mt19937 random_;
  std::filesystem::path folder_;
  bool owns_folder_ = false;
  std::vector<std::string> originals_;
  std::vector<std::string> texts_;
  std::vector<int> versions_;
  std::unique_ptr<tessera::lsp::Server> server_;
  std::vector<nlohmann::json> diagnostics_;
  nlohmann::json settings_;
  std::vector<std::string> methods_;
  nlohmann::json last_answer_;
  nlohmann::json completion_item_;
  nlohmann::json call_item_;
  bool impatient_ = false;  ///< cancels now and then what is in flight
  size_t answers_ = 0;
  size_t errors_ = 0;
  int next_id_ = 1;
};

}  // namespace lsp_test
