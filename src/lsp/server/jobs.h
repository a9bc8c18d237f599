#pragma once
// Runs other programs beside the server.

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "lsp/protocol/json.h"

namespace tessera::lsp {

class Jobs {
 public:
  using Stop = std::function<bool()>;
  /// Done on a thread of its own, until `stop` says that nobody waits; null with a reason on failure.
  using Work = std::function<Json(const Stop& stop, std::string& error)>;
  /// Called by collect() with what came of it.
  using Done = std::function<void(Json result, const std::string& error)>;

  /// `wake` is called, by another thread, when an answer is there.
  /// At most `most` run at once.
  Jobs(std::function<void()> wake, size_t most);
  /// Ends all work and waits for that.
  ~Jobs();
  Jobs(const Jobs&) = delete;

  /// Starts a job and gives its number; 0 where too many run already. `is_cancelled` is asked by its thread.
  uint64_t start(Work work, Done done, Stop is_cancelled = {});
  /// Nobody waits for the job with that number any more; it is done all the same, with a reason.
  void stop(uint64_t number);
  /// Hands over the answers that are there.
  void collect();
  bool has_answers() const { return answers_ != 0; }
  bool any() const { return !jobs_.empty(); }

 private:
  struct Job;
  std::function<void()> wake_;
  size_t most_;
  std::list<std::unique_ptr<Job>> jobs_;
  std::atomic<int> answers_ = 0;
  uint64_t started_ = 0;
};

}  // namespace tessera::lsp
