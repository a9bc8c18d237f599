#include "lsp/server/jobs.h"

#include <nlohmann/json.hpp>

namespace tessera::lsp {

struct Jobs::Job {
  uint64_t number = 0;
  std::atomic<bool> stop = false;
  std::atomic<bool> ended = false;
  Done done;
  Json result;
  std::string error;
  std::thread thread;
};

Jobs::Jobs(std::function<void()> wake, size_t most) : wake_(std::move(wake)), most_(most) {}

Jobs::~Jobs() {
  for (const std::unique_ptr<Job>& job : jobs_) job->stop = true;
  for (const std::unique_ptr<Job>& job : jobs_) job->thread.join();
}

uint64_t Jobs::start(Work work, Done done, Stop is_cancelled) {
  if (jobs_.size() >= most_) return 0;
  Job& made = *jobs_.emplace_back(std::make_unique<Job>());
  made.number = ++started_;
  made.done = std::move(done);
  made.thread = std::thread([this, &made, work = std::move(work), is_cancelled = std::move(is_cancelled)] {
    made.result = work([&] { return made.stop || (is_cancelled && is_cancelled()); }, made.error);
    ++answers_;
    made.ended = true;
    if (wake_) wake_();
  });
  return made.number;
}

void Jobs::stop(uint64_t number) {
  for (const std::unique_ptr<Job>& job : jobs_) {
    if (job->number == number) job->stop = true;
  }
}

void Jobs::collect() {
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    if (!(*at)->ended) {
      ++at;
      continue;
    }
    std::unique_ptr<Job> job = std::move(*at);
    at = jobs_.erase(at);
    job->thread.join();
    --answers_;
    job->done(std::move(job->result), job->error);
  }
}

}  // namespace tessera::lsp
