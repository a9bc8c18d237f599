// Runs a fuzz target without libFuzzer: over files and the files of folders, in the order of their
// names, then over random changes of them.
//
//   fuzz_NAME [--count N] [--seconds N] [--seed S] [--save FILE] INPUT...
//
// It stops after a count of changes or after some seconds, whichever is first; with neither, before the first change.
// The inputs of a seed are the same in every run; --save keeps the last one in a file, for a crash.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

constexpr size_t most_bytes = 4096;

struct Options {
  std::optional<double> seconds;
  std::optional<size_t> count;
  uint64_t seed = std::random_device()();
  fs::path save;
  std::vector<fs::path> inputs;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (i + 1 < argc && word == "--seconds") {
      options.seconds = std::stod(argv[++i]);
    } else if (i + 1 < argc && word == "--count") {
      options.count = std::stoull(argv[++i]);
    } else if (i + 1 < argc && word == "--seed") {
      options.seed = std::stoull(argv[++i]);
    } else if (i + 1 < argc && word == "--save") {
      options.save = argv[++i];
    } else if (!fs::is_directory(word)) {
      options.inputs.push_back(word);
    } else {
      for (const fs::directory_entry& entry : fs::recursive_directory_iterator(word)) {
        if (entry.is_regular_file()) options.inputs.push_back(entry.path());
      }
    }
  }
  std::sort(options.inputs.begin(), options.inputs.end());
  return options;
}

void run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

class Mutator {
 public:
  /// Characters that mean something in most inputs.
  static constexpr std::string_view telling = "0919aZ_-+*/%()[]{}<>,.:;\"'\n \t@#\\";

  Mutator(const std::vector<std::string>& corpus, uint64_t seed) : corpus_(corpus), random_(seed) {}

  std::string next() {
    std::string bytes = any();
    for (size_t n = 1 + below(4); n > 0; --n) change(bytes);
    if (bytes.size() > most_bytes) bytes.resize(most_bytes);
    return bytes;
  }

 private:
  size_t below(size_t limit) { return limit ? size_t(random_()) % limit : 0; }
  const std::string& any() { return corpus_[below(corpus_.size())]; }

  void change(std::string& bytes) {
    size_t at = below(bytes.size() + 1), count = std::min(below(64), bytes.size() - at);
    const std::string& other = any();
    size_t from = below(other.size() + 1);
    switch (below(6)) {
      case 0: bytes.erase(at, count); break;
      case 1: bytes.insert(at, bytes.substr(at, count)); break;
      case 2: bytes.insert(at, other.substr(from, below(64))); break;
      case 3: bytes = bytes.substr(0, at) + other.substr(from); break;
      case 4:
        if (at < bytes.size()) bytes[at] = char(bytes[at] ^ (1 << below(8)));
        break;
      default:
        if (at < bytes.size()) bytes[at] = telling[below(telling.size())];
    }
  }

  const std::vector<std::string>& corpus_;
  std::mt19937_64 random_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options = parse(argc, argv);
  std::vector<std::string> corpus;
  for (const fs::path& input : options.inputs) {
    std::ifstream file(input, std::ios::binary);
    corpus.emplace_back((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", input.c_str());
      return 1;
    }
    std::fprintf(stderr, "%s\n", input.c_str());
    run(corpus.back());
  }
  std::fprintf(stderr, "%zu inputs\n", corpus.size());
  if (corpus.empty()) return 1;

  std::fprintf(stderr, "--seed %llu\n", static_cast<unsigned long long>(options.seed));
  Mutator mutator(corpus, options.seed);
  using Clock = std::chrono::steady_clock;
  auto begin = Clock::now();
  auto in_time = [&] {
    return !options.seconds || Clock::now() - begin < std::chrono::duration<double>(*options.seconds);
  };
  size_t most = options.count.value_or(options.seconds ? std::numeric_limits<size_t>::max() : 0);
  size_t count = 0;
  for (; count < most && in_time(); ++count) {
    std::string bytes = mutator.next();
    if (!options.save.empty()) std::ofstream(options.save, std::ios::binary) << bytes;
    run(bytes);
  }
  std::fprintf(stderr, "%zu changed inputs\n", count);
  return 0;
}
