#include "lsp/jobs.h"

#include <nlohmann/json.hpp>

namespace tessera::lsp {

namespace {

constexpr size_t most_jobs = 4;

}  // namespace

struct Jobs::Job {
  std::string id;
  std::atomic<bool> stop = false;
  std::atomic<bool> done = false;
  Json result;
  std::string error;
  std::thread thread;
};

Jobs::Jobs(std::function<void()> wake) : wake_(std::move(wake)) {}

Jobs::~Jobs() {
  for (const std::unique_ptr<Job>& job : jobs_) job->stop = true;
  for (const std::unique_ptr<Job>& job : jobs_) job->thread.join();
}

bool Jobs::start(std::string id, LowerJob job, std::function<bool()> is_cancelled) {
  if (jobs_.size() >= most_jobs) return false;
  Job& made = *jobs_.emplace_back(std::make_unique<Job>());
  made.id = std::move(id);
  made.thread = std::thread([this, &made, job = std::move(job), is_cancelled = std::move(is_cancelled)] {
    auto stop = [&] { return made.stop || (is_cancelled && is_cancelled()); };
    made.result = run_lower_job(job, stop, made.error);
    ++answers_;
    made.done = true;
    if (wake_) wake_();
  });
  return true;
}

void Jobs::collect(const std::function<void(const std::string&, Json, const std::string&)>& answer) {
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    Job& job = **at;
    if (!job.done) {
      ++at;
      continue;
    }
    job.thread.join();
    --answers_;
    answer(job.id, std::move(job.result), job.error);
    at = jobs_.erase(at);
  }
}

}  // namespace tessera::lsp
