#pragma once
// Requests that other programs answer, beside the server's own work.

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "lsp/lower.h"

namespace tessera::lsp {

class Jobs {
 public:
  /// `wake` is called, by another thread, when an answer is there.
  explicit Jobs(std::function<void()> wake);
  /// Ends all programs and waits for that.
  ~Jobs();
  Jobs(const Jobs&) = delete;

  /// Starts a job for the request with that id (as one line); false where too many run already.
  bool start(std::string id, LowerJob job, std::function<bool()> is_cancelled);
  /// Hands over the answers that are there: (id, result, error).
  void collect(const std::function<void(const std::string&, Json, const std::string&)>& answer);
  bool has_answers() const { return answers_ != 0; }
  bool any() const { return !jobs_.empty(); }

 private:
  struct Job;
  std::function<void()> wake_;
  std::list<std::unique_ptr<Job>> jobs_;
  std::atomic<int> answers_ = 0;
};

}  // namespace tessera::lsp
