// Continues a text with llama: its entry `prefill` reads the text, and `decode` is called once for each further byte.
//
// Usage: llama_generate BUNDLE WEIGHTS PROMPT [--count N] [--temperature T] [--seed S] [--device DEVICE] [--raw]
//
// Both entries give the scores of the next byte and the cache, which `decode` takes; its size is that of the model's
// context, so what a step needs does not grow. Bytes appear as they are made; those that cannot be printed are
// shown as \xNN unless --raw is given.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <random>
#include <string_view>

#include "host/host.h"

namespace {

struct Options {
  std::string bundle, weights, prompt, device = "cpu";
  int count = 128;
  double temperature = 0;
  uint64_t seed = 0;
  bool raw = false;
};

/// The extents of a shape such as "[B, 2, 64]", in which every symbol stands for 1.
tsr::Shape extents(std::string_view text) {
  tsr::Shape shape;
  for (size_t at = 1; at < text.size() && text != "[]"; at = text.find_first_of(",]", at) + 2) {
    shape.push_back(std::isdigit(static_cast<unsigned char>(text[at])) ? std::atoll(&text[at]) : 1);
  }
  return shape;
}

/// A model whose entries hand a cache on: outputs of `prefill` and `decode` that `decode` takes, by name. One that is
/// not written where it lies has two places, which alternate.
class Session {
 public:
  explicit Session(const host::Program& program)
      : context_(program.context()),
        prefill_(program.module().function("prefill")),
        decode_(program.module().function("decode")) {
    for (const tsr::TensorInfo& info : decode_.inputs()) {
      if (info.name == "tokens") continue;
      for (auto* state : {&state_, &next_}) {
        state->emplace(info.name, host::zeros(context_, info.element, extents(info.shape)));
      }
    }
  }

  /// The scores of the byte after a text.
  std::vector<float> read(std::string_view text) { return call(prefill_, text); }
  /// The scores after one more byte.
  std::vector<float> read(char byte) { return call(decode_, {&byte, 1}); }

  size_t cache_bytes() const {
    size_t bytes = 0;
    for (const auto& [name, tensor] : state_) bytes += tensor.bytes();
    return bytes;
  }

 private:
  std::vector<float> call(const tsr::Function& function, std::string_view text) {
    tsr::OwnedTensor tokens(context_, tsr::u8, {1, int64_t(text.size())});
    tokens.write_bytes(text.data(), text.size());
    std::vector<tsr::Input> inputs;
    for (const tsr::TensorInfo& info : function.inputs()) {
      inputs.emplace_back(info.name == "tokens" ? tokens : state_.at(info.name));
    }
    std::vector<tsr::TensorInfo> results = function.outputs();
    std::vector<tsr::Tensor> donated;
    donated.reserve(results.size());
    std::optional<tsr::OwnedTensor> scores;
    std::vector<tsr::Output> outputs;
    for (const tsr::TensorInfo& info : results) {
      if (info.flags & TSR_TENSOR_DONATED) {
        outputs.emplace_back(donated.emplace_back(state_.at(info.alias_of)));
      } else if (auto next = next_.find(info.name); next != next_.end()) {
        outputs.emplace_back(next->second);
      } else {
        if (scores) host::fail("an entry gives more than scores and the cache");
        outputs.emplace_back(scores.emplace(context_, info.element, tsr::Shape{1, 256}));
      }
    }
    if (!scores) host::fail("an entry gives no scores");
    function.call(inputs, outputs);
    for (const tsr::TensorInfo& info : results) {
      if (info.flags & TSR_TENSOR_DONATED) continue;
      if (auto next = next_.find(info.name); next != next_.end()) std::swap(next->second, state_.at(info.name));
    }
    return host::floats(*scores);
  }

  const tsr::Context& context_;
  tsr::Function prefill_, decode_;
  std::map<std::string, tsr::OwnedTensor> state_, next_;
};

/// The byte of the highest score, or one drawn with probability exp(score / temperature).
unsigned char choose(const std::vector<float>& scores, double temperature, std::mt19937_64& random) {
  auto best = std::max_element(scores.begin(), scores.end());
  if (temperature == 0) return static_cast<unsigned char>(best - scores.begin());
  std::vector<double> weights;
  for (float score : scores) weights.push_back(std::exp(double(score - *best) / temperature));
  return static_cast<unsigned char>(std::discrete_distribution<int>(weights.begin(), weights.end())(random));
}

void show(unsigned char byte, bool raw) {
  bool printable = byte >= 0x20 && byte < 0x7f;
  if (raw || printable || byte == '\n') {
    std::putchar(byte);
  } else {
    std::printf("\\x%02x", byte);
  }
  std::fflush(stdout);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void generate(const Options& options) {
  host::Program program(options.device, options.bundle, options.weights);
  Session session(program);
  std::mt19937_64 random(options.seed);
  auto start = std::chrono::steady_clock::now();
  std::vector<float> scores = session.read(options.prompt);
  double reading = seconds_since(start);
  if (!options.raw) std::fputs(options.prompt.c_str(), stdout);
  start = std::chrono::steady_clock::now();
  for (int i = 0; i < options.count; ++i) {
    char byte = static_cast<char>(choose(scores, options.temperature, random));
    show(static_cast<unsigned char>(byte), options.raw);
    if (i + 1 < options.count) scores = session.read(byte);
  }
  double making = seconds_since(start);
  if (!options.raw) std::putchar('\n');
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %zu bytes read in %.1f ms, %d made in %.1f ms (%.0f tokens/s), %.1f MB of cache\n",
               program.module().target().c_str(), options.prompt.size(), reading * 1e3, options.count, making * 1e3,
               (options.count - 1) / making, double(session.cache_bytes()) / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Continues a text with a bundle of llama"};
  Options options;
  app.add_option("bundle", options.bundle, "Bundle with the entries prefill and decode")->required();
  app.add_option("weights", options.weights, "Safetensors file")->required();
  app.add_option("prompt", options.prompt, "Text to continue")->required();
  app.add_option("--count", options.count, "Bytes to make")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_option("--temperature", options.temperature, "0 takes the likeliest byte, more draws more freely")
      ->check(CLI::Range(0.0, 100.0))->capture_default_str();
  app.add_option("--seed", options.seed, "Of what is drawn")->capture_default_str();
  app.add_option("--device", options.device, "cpu or cuda:N")->capture_default_str();
  app.add_flag("--raw", options.raw, "Write bytes as they are");
  CLI11_PARSE(app, argc, argv);
  if (options.prompt.empty()) host::fail("the prompt is empty");
  host::run([&] { generate(options); });
  return 0;
}
