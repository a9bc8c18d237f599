// Takes bundles, changes them with all hashes mended, and has the library and the tsr command look at
// the results: nothing crashes, hangs, or touches memory that it has no business with.

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>

#include "hostile/mutate.h"
#include "hostile/trial.h"
#include "runtime/files/file.h"
#include "runtime/files/npy.h"
#include "runtime/files/safetensors.h"
#include "runtime/files/text.h"

using namespace tessera;
using format::cat;
using hostile::Random;
using hostile::Verdict;

namespace {

constexpr unsigned patience = 60;  // seconds, of what takes well below one

struct Options {
  size_t count = 300;
  uint64_t seed = 1;
  std::string tsr;
  std::string folder = ".";
  std::vector<std::string> bundles;
};

/// A bundle to change, and how tsr runs an entry of it.
struct Subject {
  std::string path;
  hostile::Contents contents;
  std::vector<std::string> run;  ///< what follows the bundle
};

void write(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A tensor of zeros of the shape in which every size is 2.
bool zeros(const format::ManifestTensor& tensor, const std::vector<std::string>& dims, format::NpyView& view,
           std::string& storage) {
  std::vector<int64_t> sizes(dims.size(), 2);
  view.dtype = tensor.dtype;
  for (const std::string& text : tensor.shape) {
    auto expr = format::parse_expr(text, dims);
    int64_t& extent = view.shape.emplace_back(0);
    if (!expr || format::evaluate(*expr, sizes, extent) != format::EvalStatus::Ok) return false;
  }
  auto count = format::element_count(view.shape);
  auto bytes = count ? format::bytes_of(view.dtype, *count) : std::nullopt;
  if (!bytes) return false;
  storage.assign(size_t(*bytes), '\0');
  view.bytes = storage;
  return true;
}

/// Writes arguments for the first entry.
void prepare_run(Subject& subject, const std::string& folder, size_t number) {
  const format::Manifest& manifest = subject.contents.manifest;
  if (manifest.entries.empty()) return;
  const format::ManifestEntry& entry = manifest.entries[0];
  subject.run = {entry.name};
  for (const format::ManifestTensor& input : entry.inputs) {
    format::NpyView view;
    std::string storage;
    if (input.seed || !zeros(input, entry.dims, view, storage)) continue;
    auto bytes = format::write_npy(view);
    if (!bytes) continue;
    std::string path = cat(folder, "/", number, ".", input.name, ".npy");
    write(path, *bytes);
    subject.run.insert(subject.run.end(), {"--input", cat(input.name, "=", path)});
  }
  std::vector<std::string> storages(manifest.params.size());
  std::vector<format::TensorView> params;
  for (size_t i = 0; i < manifest.params.size(); ++i) {
    format::NpyView view;
    if (!zeros(manifest.params[i], entry.dims, view, storages[i])) continue;
    params.push_back({manifest.params[i].name, view.dtype, view.shape, storages[i]});
  }
  auto bytes = format::write_safetensors(params);
  if (!bytes || params.empty()) return;
  std::string path = cat(folder, "/", number, ".safetensors");
  write(path, *bytes);
  subject.run.insert(subject.run.end(), {"--params", path});
}

Subject read_subject(const std::string& path, const Options& options, size_t number) {
  auto file = format::MappedFile::open(path);
  auto view = file ? format::BundleView::open(file->bytes()) : format::Result<format::BundleView>(file.error());
  if (!view) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), view.error().text.c_str());
    std::exit(1);
  }
  Subject subject{path, {view->manifest(), {}, {}}, {}};
  for (const format::BundleEntry& entry : view->entries()) {
    if (entry.name != format::manifest_name) subject.contents.entries[entry.name] = std::string(entry.bytes);
  }
  prepare_run(subject, options.folder, number);
  return subject;
}

/// The status of a child that runs `body`, as waitpid gives it.
template <typename Body>
int in_child(Body body) {
  std::fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    alarm(patience);
    body();
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

class Run {
 public:
  explicit Run(const Options& options) : options_(options) {
    for (const std::string& path : options.bundles) {
      subjects_.push_back(read_subject(path, options, subjects_.size()));
    }
  }

  int execute() {
    for (size_t i = 0; i < options_.count && failures_ < 20; ++i) {
      one(i);
      if (i % 1000 == 999) std::fprintf(stderr, "%zu of %zu\n", i + 1, options_.count);
    }
    std::printf(
        "%zu bundles: %zu unwritten, %zu refused, %zu loaded, %zu called; tsr: %zu right, %zu refused; %zu wrong\n",
        options_.count, unwritten_, verdicts_[0], verdicts_[1], verdicts_[2], commands_[0], commands_[1], failures_);
    return failures_ != 0;
  }

 private:
  void one(size_t number) {
    Random random(options_.seed * 1000003 + number);
    const Subject& subject = subjects_[random.pick(subjects_.size())];
    std::string changes;
    std::string bytes = hostile::mutate(subject.contents, random, changes);
    if (bytes.empty()) {
      ++unwritten_;
      return;
    }
    what_ = cat("bundle ", number, " of seed ", options_.seed, " (", subject.path, ": ", changes, ")");
    bytes_ = &bytes;
    look(in_child([&] {
           std::string why;
           Verdict verdict = hostile::try_bundle(bytes, random, why);
           if (verdict == Verdict::Wrong) std::fprintf(stderr, "%s\n", why.c_str());
           _exit(int(verdict));
         }),
         verdicts_, "the library");
    if (!options_.tsr.empty()) run_commands(subject, bytes);
  }

  void run_commands(const Subject& subject, const std::string& bytes) {
    std::string path = cat(options_.folder, "/hostile.bundle");
    write(path, bytes);
    run_command({"verify", path});
    run_command({"inspect", path});
    run_command({"inspect", path, "--ir", "plan"});
    if (subject.run.empty()) return;
    std::vector<std::string> words{"run", path};
    words.insert(words.end(), subject.run.begin(), subject.run.end());
    words.insert(words.end(), {"--interpret", "exact", "--timeout", "5", "--max-memory", "64mb"});
    run_command(words);
  }

  void run_command(std::vector<std::string> words) {
    words.insert(words.begin(), options_.tsr);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    look(in_child([&] {
           int null = open("/dev/null", O_RDWR);
           dup2(null, 1);
           dup2(null, 2);
           execv(arguments[0], arguments.data());
         }),
         commands_, cat("tsr ", words[1]));
  }

  /// Counts an exit status, and keeps the bundle of one that is none.
  template <size_t size>
  void look(int status, std::array<size_t, size>& counts, const std::string& who) {
    size_t code = WIFEXITED(status) ? size_t(WEXITSTATUS(status)) : size;
    if (code < size) {
      ++counts[code];
      return;
    }
    std::string kept = cat(options_.folder, "/wrong-", failures_++, ".bundle");
    write(kept, *bytes_);
    std::printf("%s: %s %s %d; see %s\n", what_.c_str(), who.c_str(),
                WIFSIGNALED(status) ? "ended by signal" : "gave the status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), kept.c_str());
  }

  const Options& options_;
  std::vector<Subject> subjects_;
  std::array<size_t, 3> verdicts_{};  ///< refused, loaded, called
  std::array<size_t, 2> commands_{};  ///< by exit status
  size_t unwritten_ = 0;
  size_t failures_ = 0;
  std::string what_;
  const std::string* bytes_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Changes bundles, mends their hashes, and looks at what is made of them.");
  app.add_option("BUNDLE", options.bundles, "bundles to change")->required();
  app.add_option("--count", options.count, "how many to make");
  app.add_option("--seed", options.seed, "another seed gives other bundles");
  app.add_option("--tsr", options.tsr, "the tsr program, to be run on each, too");
  app.add_option("--folder", options.folder, "where files go, and bundles that something is wrong with");
  CLI11_PARSE(app, argc, argv);
  return Run(options).execute();
}
