// Runs the entry `loss` of a byte-level model over a text and prints the mean loss and the speed.
//
// The text is cut into windows, each a row of the entry's only input, `u8` tokens [batch, window]. The entry gives the
// mean loss of the bytes it predicts. A progress bar is shown when standard error is a terminal.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "host/host.h"

namespace {

struct Options {
  std::string bundle, weights, text, device = "cpu";
  int64_t window = 256, stride = 0, batch = 8;
};

/// The loss of `count` windows that begin with the one at `text`.
float loss_of(const tsr::Context& context, const tsr::Function& function, const char* text, int64_t count,
              const Options& options) {
  std::string tokens;
  for (int64_t i = 0; i < count; ++i) tokens.append(text + i * options.stride, size_t(options.window));
  tsr::OwnedTensor input(context, tsr::u8, {count, options.window});
  input.write_bytes(tokens.data(), tokens.size());
  return function({input})[0].read<float>()[0];
}

void evaluate(const Options& options) {
  auto file = tessera::format::MappedFile::open(options.text);
  if (!file) host::fail(file.error().text);
  int64_t size = int64_t(file->bytes().size());
  if (size < options.window) host::fail("the text is shorter than a window");
  int64_t windows = (size - options.window) / options.stride + 1;
  host::Program program(options.device, options.bundle, options.weights);
  tsr::Function function = program.module().function("loss");
  double sum = 0;
  auto start = std::chrono::steady_clock::now();
  for (int64_t first = 0; first < windows; first += options.batch) {
    int64_t count = std::min(options.batch, windows - first);
    const char* text = file->bytes().data() + first * options.stride;
    sum += double(loss_of(program.context(), function, text, count, options)) * double(count);
    host::show_progress(first + count, windows);
  }
  std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("text      %s, %lld windows of %lld bytes\n", options.text.c_str(), static_cast<long long>(windows),
              static_cast<long long>(options.window));
  std::printf("target    %s\n", program.module().target().c_str());
  std::printf("loss      %.6f (ln 256 = %.6f)\n", sum / double(windows), std::log(256.0));
  std::printf("speed     %.0f bytes/s\n", double(windows * options.stride) / elapsed.count());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Runs the entry `loss` of a byte-level model over a text and prints the mean loss and the speed.");
  app.add_option("bundle", options.bundle, "the compiled model")->required();
  app.add_option("weights", options.weights, "its parameters, a safetensors file")->required();
  app.add_option("text", options.text, "a file of bytes")->required();
  app.add_option("--window", options.window, "bytes of a window")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--stride", options.stride, "bytes from one window to the next; a window's if not given")
      ->check(CLI::PositiveNumber);
  app.add_option("--batch", options.batch, "windows of a call")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--device", options.device, "cpu, or cuda:N")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (options.stride == 0) options.stride = options.window;
  host::run([&] { evaluate(options); });
  return 0;
}
