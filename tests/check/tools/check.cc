// tessera-check: random programs, computed in every way, each result beside the bounds that docs/numerics.md gives it.
//
//   tessera-check --count 300                        seeds 1 to 300, all that is asked for by the tests
//   tessera-check --count 20000 --shard 3/40 --resume log.3 --thorough
//   tessera-check --seed 1234 --show                 the program of one seed
//   tessera-check --names --count 5000               only the names of each: by their text, and by their evaluation
//   tessera-check --names examples/gpt/gpt.tsr       those of files
//   tessera-check --summary log.*                    the totals of some logs
//
// A log has a line of JSON for each program; seeds that it has are not run again.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "check/checker.h"
#include "check/generate.h"
#include "check/isolate.h"
#include "check/names.h"
#include "check/random_files.h"
#include "check/reduce.h"
#include "support/file.h"
#include "tools/command_line/values.h"
#include "tools/driver/start.h"

namespace tessera::check {

namespace {

using Json = nlohmann::json;

/// Of `of` parts of the seeds, that number, from 1.
struct Shard {
  uint64_t index = 1, of = 1;
};

/// Reads "3/40"; CLI11 calls it for options of this type, and refuses what gives false.
bool lexical_cast(const std::string& text, Shard& shard) {
  const char* end = text.data() + text.size();
  auto index = std::from_chars(text.data(), end, shard.index);
  if (index.ec != std::errc() || index.ptr == end || *index.ptr != '/') return false;
  auto of = std::from_chars(index.ptr + 1, end, shard.of);
  return of.ec == std::errc() && of.ptr == end && shard.index >= 1 && shard.index <= shard.of;
}

struct Options {
  uint64_t seed = 1, count = 1;
  Shard shard;
  std::string resume, json, failures;
  std::vector<std::string> summary, files;
  bool thorough = false, show = false, keep = false, names = false;
  int timeout = 120, seconds = 0;
};

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::Passed: return "passed";
    case Verdict::Refused: return "refused";
    case Verdict::Skipped: return "skipped";
    case Verdict::Failed: break;
  }
  return "failed";
}

Json describe(uint64_t seed, const Outcome& outcome, double seconds) {
  Json line{{"seed", seed},           {"status", to_string(outcome.verdict)}, {"seconds", seconds},
            {"elements", outcome.elements}, {"exact", outcome.exact},   {"unbounded", outcome.unbounded},
            {"ways", outcome.ways}};
  if (!outcome.refused.empty()) line["refused"] = outcome.refused;
  if (outcome.skipped) line["skipped_samples"] = outcome.skipped;
  if (!outcome.way.empty()) line["way"] = outcome.way;
  if (!outcome.message.empty()) line["message"] = outcome.message;
  return line;
}

Outcome check_seed(uint64_t seed, bool thorough) {
  return check(random_program(seed), options_for(seed, thorough));
}

/// All that is compiled of a program.
std::string text_of(const Program& program) {
  std::string text = source_of(program);
  for (size_t i = 0; program.kernel && i < program.kernel->schedules.size(); ++i) {
    text += "\n# as a kernel\n" + kernel_source_of(program, i);
  }
  return text;
}

/// What became of a program that is checked in a process of its own: "passed", "failed <way>", "crashed".
std::string fate(const Program& program, const CheckOptions& options, int timeout) {
  std::string found = "crashed";
  Ending ending = run_isolated(
      [&](const auto& send) {
        Outcome outcome = check(program, options);
        send(std::string(to_string(outcome.verdict)) + " " + outcome.way);
      },
      [&](const std::string& line) { found = line; }, timeout);
  return ending == Ending::TimedOut ? "timed out" : found;
}

/// Total numbers of programs.
class Summary {
 public:
  void add(const Json& line) {
    ++programs_;
    std::string status = line["status"];
    ++statuses_[status];
    elements_ += line.value("elements", int64_t(0));
    exact_ += line.value("exact", int64_t(0));
    unbounded_ += line.value("unbounded", int64_t(0));
    seconds_ += line.value("seconds", 0.0);
    Json ways = line.value("ways", Json::object()), refused = line.value("refused", Json::object());
    for (const auto& [way, count] : ways.items()) ways_[way] += count.get<int64_t>();
    for (const auto& [way, count] : refused.items()) refused_[way] += count.get<int64_t>();
    skipped_ += line.value("skipped_samples", int64_t(0));
    if (status == "failed" || status == "crashed" || status == "timed out") failed_.push_back(line);
  }

  bool has_failures() const { return !failed_.empty(); }
  const std::vector<Json>& failures() const { return failed_; }

  Json json() const {
    return {{"programs", programs_},   {"statuses", statuses_},       {"elements", elements_},
            {"exact", exact_},         {"unbounded", unbounded_},     {"seconds", seconds_},
            {"samples_by_way", ways_}, {"samples_skipped", skipped_}, {"refused_by_way", refused_},
            {"failures", failed_}};
  }

  std::string text() const {
    std::string out = fmt::format("{} programs", programs_);
    for (const auto& [status, count] : statuses_) out += fmt::format(", {} {}", count, status);
    if (skipped_) out += fmt::format(", {} samples skipped", skipped_);
    double all = double(std::max<int64_t>(elements_, 1));
    out += fmt::format("; {} results compared, {:.0f} % exactly, {:.1f} % without a bound; {:.0f} s\n", elements_,
                       100 * double(exact_) / all, 100 * double(unbounded_) / all, seconds_);
    for (const auto& [way, count] : ways_) {
      auto refusals = refused_.find(way);
      out += fmt::format("  {:<20} {} samples, {} programs refused\n", way, count,
                         refusals == refused_.end() ? 0 : refusals->second);
    }
    return out;
  }

 private:
  int64_t programs_ = 0, skipped_ = 0, elements_ = 0, exact_ = 0, unbounded_ = 0;
  double seconds_ = 0;
  std::map<std::string, int64_t> statuses_, ways_, refused_;
  std::vector<Json> failed_;
};

class Run {
 public:
  explicit Run(const Options& options) : options_(options) {}

  int run() {
    if (!read_log() || !open(json_, options_.json, std::ios::trunc) || !make_folder(options_.failures)) return 2;
    std::vector<uint64_t> seeds = seeds_to_run();
    total_ = seeds.size();
    for (size_t next = 0; next < seeds.size() && !is_over();) next = run_batch(seeds, next);
    for (const Json& failure : summary_.failures()) report(failure);
    std::cout << summary_.text();
    if (json_.is_open()) json_ << summary_.json().dump(1) << "\n";
    return summary_.has_failures() ? 1 : 0;
  }

 private:
  static bool make_folder(const std::string& path) {
    std::error_code error;
    if (!path.empty()) std::filesystem::create_directories(path, error);
    if (error) std::cerr << fmt::format("tessera-check: cannot make the folder '{}': {}\n", path, error.message());
    return !error;
  }

  /// Opens a file that was asked for; false, with a message, when it cannot be written.
  static bool open(std::ofstream& file, const std::string& path, std::ios::openmode mode) {
    if (path.empty()) return true;
    file.open(path, std::ios::out | mode);
    if (!file) std::cerr << fmt::format("tessera-check: cannot write '{}': {}\n", path, std::strerror(errno));
    return bool(file);
  }

  bool read_log() {
    std::ifstream file(options_.resume);
    for (std::string line; std::getline(file, line);) {
      Json parsed = Json::parse(line, nullptr, false);
      if (parsed.is_discarded()) continue;  // cut off when a run was killed
      if (done_.insert(parsed["seed"].get<uint64_t>()).second) summary_.add(parsed);
    }
    return open(log_, options_.resume, std::ios::app);
  }

  std::vector<uint64_t> seeds_to_run() const {
    std::vector<uint64_t> seeds;
    for (uint64_t i = 0; i < options_.count; ++i) {
      uint64_t seed = options_.seed + i;
      if (i % options_.shard.of + 1 == options_.shard.index && !done_.contains(seed)) seeds.push_back(seed);
    }
    return seeds;
  }

  bool is_over() const {
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin_;
    return options_.seconds && taken.count() > options_.seconds;
  }

  /// Checks seeds in one process until one of them ends it; gives the next one's place.
  size_t run_batch(const std::vector<uint64_t>& seeds, size_t next) {
    constexpr size_t batch = 100;
    size_t end = std::min(seeds.size(), next + batch);
    Ending ending = run_isolated(
        [&](const auto& send) {
          for (size_t i = next; i < end && !is_over(); ++i) {
            auto begin = std::chrono::steady_clock::now();
            Outcome outcome = check_seed(seeds[i], options_.thorough);
            std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
            send(describe(seeds[i], outcome, took.count()).dump(-1, ' ', true, Json::error_handler_t::replace));
          }
        },
        [&](const std::string& line) {
          record(Json::parse(line));
          ++next;
        },
        options_.timeout);
    if (next < end && ending != Ending::Done) {
      record({{"seed", seeds[next]}, {"status", ending == Ending::TimedOut ? "timed out" : "crashed"}});
      ++next;
    }
    return next;
  }

  void record(const Json& line) {
    summary_.add(line);
    if (log_.is_open()) log_ << line.dump() << std::endl;
    ++recorded_;
    if (recorded_ % 100 == 0 && recorded_ < total_) std::cerr << fmt::format("{} of {}\n", recorded_, total_);
  }

  /// Tells of a failure, with the smallest program that fails in that way.
  void report(const Json& failure) {
    uint64_t seed = failure["seed"];
    Program program = random_program(seed);
    CheckOptions options = options_for(seed, options_.thorough);
    std::string message = failure.value("message", failure["status"].get<std::string>());
    if (!options_.keep) {
      std::string wanted = fate(program, options, options_.timeout);
      if (wanted != "passed " && wanted != "refused " && wanted != "skipped ") {
        program = reduced(program, [&](const Program& p) { return fate(p, options, options_.timeout) == wanted; }, 400);
        run_isolated([&](const auto& send) { send(Json(check(program, options).message).dump()); },
                     [&](const std::string& line) { message = Json::parse(line); }, options_.timeout);
      }
    }
    std::string text = fmt::format("# seed {}: {} {}\n", seed, failure["status"].get<std::string>(),
                                   failure.value("way", ""));
    for (size_t at = 0; at < message.size();) {
      size_t end = std::min(message.find('\n', at), message.size());
      text += "# " + message.substr(at, end - at) + "\n";
      at = end + 1;
    }
    for (const auto& [name, extent] : program.samples[0]) text += fmt::format("# {} = {}\n", name, extent);
    text += text_of(program);
    std::cout << text << std::endl;
    if (!options_.failures.empty()) {
      std::ofstream(fmt::format("{}/{}.tsr", options_.failures, seed)) << text;
    }
  }

  const Options& options_;
  std::set<uint64_t> done_;
  std::ofstream log_, json_;
  Summary summary_;
  size_t recorded_ = 0, total_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

int summarise(const std::vector<std::string>& files) {
  Summary summary;
  for (const std::string& path : files) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      Json parsed = Json::parse(line, nullptr, false);
      if (!parsed.is_discarded()) summary.add(parsed);
    }
  }
  std::cout << summary.text();
  return summary.has_failures() ? 1 : 0;
}

void show(const RandomFiles& program) {
  for (const auto& [path, text] : program.texts) std::cout << fmt::format("# {}\n{}\n", path, text);
}

/// Names of programs: what their text says of them, and what their evaluation found.
class NameCheck {
 public:
  /// Of the file of a program that is compiled.
  void compare_file(const std::string& path) {
    SourceManager sources;
    std::string text, error;
    if (!read_file(path, text, error)) {
      ++differing_;
      std::cout << fmt::format("# {}\n", error);
      return;
    }
    add(path, compare_names(sources, {.file = sources.add(path, text), .kernels_for = "cpu:x86-64-v3"}));
  }

  void compare_seed(uint64_t seed) {
    compare(seed, {{{"main.tsr", random_scopes(seed)}}, {}});
    compare(seed, {{{"main.tsr", source_of(random_program(seed))}}, {}});
    compare(seed, random_files(seed));
  }

  int finish() const {
    std::cout << fmt::format("{} programs, {} names looked up, {} of them decided by the evaluation alone, {} links "
                             "followed; {} programs differ\n",
                             programs_, lookups_, uncertain_, links_, differing_);
    return differing_ || !lookups_ ? 1 : 0;
  }

 private:
  void compare(uint64_t seed, const RandomFiles& program) {
    SourceManager sources;
    FileId main = sources.add("main.tsr", program.texts.at("main.tsr"));
    auto found = compare_names(sources, {.file = main, .texts = &program.texts, .values = &program.values});
    if (!add(fmt::format("seed {}", seed), found)) show(program);
  }

  /// Reports differences; true if there are none.
  bool add(std::string_view of, const NameComparison& found) {
    ++programs_;
    lookups_ += found.lookups;
    uncertain_ += found.uncertain;
    links_ += found.links;
    if (found.differences.empty()) return true;
    ++differing_;
    std::cout << fmt::format("# {}\n# {}\n", of, fmt::join(found.differences, "\n# "));
    return false;
  }

  size_t programs_ = 0, lookups_ = 0, uncertain_ = 0, links_ = 0, differing_ = 0;
};

int check_names(const Options& options) {
  NameCheck check;
  for (const std::string& path : options.files) check.compare_file(path);
  for (uint64_t i = 0; options.files.empty() && i < options.count; ++i) {
    if (i % options.shard.of + 1 == options.shard.index) check.compare_seed(options.seed + i);
  }
  return check.finish();
}

}  // namespace

}  // namespace tessera::check

int main(int argc, char** argv) {
  using namespace tessera::check;
  Options options;
  CLI::App app{"Checks random programs in every way that they can be computed.", "tessera-check"};
  app.add_option("--seed", options.seed, "the first seed")->type_name("N")->capture_default_str();
  CLI::Option* count = app.add_option("--count", options.count, "how many seeds");
  tessera::command_line::take_count(*count->type_name("N")->capture_default_str(), 1, uint64_t(1) << 32);
  app.add_option("--shard", options.shard, "i/n: every n-th of them, beginning with the i-th")->type_name("I/N");
  app.add_option("--resume", options.resume, "a log of what was checked, read and continued")->type_name("FILE");
  app.add_option("--json", options.json, "a file for the summary")->type_name("FILE");
  app.add_option("--failures", options.failures, "a folder for the programs that fail, made small")
      ->type_name("DIR");
  CLI::Option* summary = app.add_option("--summary", options.summary, "only sum up these logs");
  tessera::command_line::take_existing(*summary->type_name("FILE"), "file");
  app.add_option("--timeout", options.timeout, "seconds for a program")->type_name("N")->capture_default_str();
  app.add_option("--seconds", options.seconds, "start no program after so many seconds; 0: check all")
      ->type_name("N")
      ->capture_default_str();
  app.add_flag("--thorough", options.thorough, "each program on every CPU and GPU");
  app.add_flag("--show", options.show, "only show the program");
  app.add_flag("--names", options.names, "compare what names are by their text with what their evaluation finds");
  CLI::Option* files = app.add_option("files", options.files, "with --names: files of programs, not random ones");
  tessera::command_line::take_existing(*files->type_name("FILE"), "file");
  app.add_flag("--as-is", options.keep, "do not make failures smaller");
  app.footer(
      "A program's seed is all that it depends on. Each is interpreted and compiled with several options and for all\n"
      "targets that the machine runs, and every result is compared with the bounds that docs/numerics.md gives.\n"
      "\n"
      "Examples:\n"
      "  tessera-check --count 300                  what the tests ask for\n"
      "  tessera-check --count 20000 --shard 3/40 --resume log.3 --thorough\n"
      "  tessera-check --seed 1234 --show           the program of one seed\n"
      "  tessera-check --names --count 5000         only the names of each: by their text, and by their evaluation\n"
      "  tessera-check --names stdlib/nn.tsr        those of files\n"
      "  tessera-check --summary log.*              the totals of some logs\n"
      "\n"
      "Exit status:\n"
      "  0  all programs passed or were refused with a reason\n"
      "  1  one failed, or the command line has mistakes");
  tessera::driver::finish_options(app);
  if (std::optional<int> status = tessera::driver::read_command_line(app, argc, argv)) return *status;
  setenv("TSR_POISON", "1", 1);
  if (!options.summary.empty()) return summarise(options.summary);
  if (options.show && options.names) {
    show(random_files(options.seed));
    return 0;
  }
  if (options.names) return check_names(options);
  if (!options.files.empty()) {
    std::cerr << "tessera-check: files are checked with --names\n";
    return 2;
  }
  if (options.show) {
    std::cout << text_of(random_program(options.seed));
    return 0;
  }
  return Run(options).run();
}
