// Runs bytelm's entry `loss` over all windows of a text and prints the mean loss and the speed.
//
// Usage: bytelm_evaluate BUNDLE PARAMETERS TEXT [BATCH]
//
// A window is 16 bytes of context and the byte after them; a text of n bytes has n - 16. A progress bar
// is shown when standard error is a terminal.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "host/host.h"

namespace {

constexpr int64_t window = 17;

/// The loss of windows first .. first + count - 1 of the text.
float loss_of(const host::Program& program, tsr_function_t function, std::string_view text, int64_t first, int64_t count) {
  std::string tokens;
  for (int64_t i = 0; i < count; ++i) tokens += text.substr(size_t(first + i), window);
  host::Tensor input(program, {1, 8, 1}, {count, window}), output(program, {2, 32, 1}, {});
  input.write(tokens.data());
  const tsr_tensor_t* inputs[] = {input.raw()};
  tsr_tensor_t* outputs[] = {output.raw()};
  host::check(tsrCall(function, nullptr, inputs, 1, outputs, 1));
  return output.floats()[0];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc > 5) {
    std::fprintf(stderr, "usage: bytelm_evaluate BUNDLE PARAMETERS TEXT [BATCH]\n");
    return 1;
  }
  int64_t batch = argc == 5 ? std::atoll(argv[4]) : 1024;
  if (batch < 1) host::fail("BATCH must be at least 1");
  auto file = tessera::format::MappedFile::open(argv[3]);
  if (!file) host::fail(file.error().text);
  std::string_view text = file->bytes();
  if (int64_t(text.size()) < window) host::fail("the text has no window of 17 bytes");
  host::Program program("cpu", argv[1], argv[2]);
  tsr_function_t function = program.function("loss");

  int64_t windows = int64_t(text.size()) - window + 1;
  double sum = 0;
  auto start = std::chrono::steady_clock::now();
  for (int64_t first = 0; first < windows; first += batch) {
    int64_t count = std::min(batch, windows - first);
    sum += double(loss_of(program, function, text, first, count)) * double(count);
    host::show_progress(first + count, windows);
  }
  std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("text      %s, %lld windows\n", argv[3], static_cast<long long>(windows));
  std::printf("target    %s\n", program.target().c_str());
  std::printf("loss      %.6f (ln 256 = %.6f)\n", sum / double(windows), std::log(256.0));
  std::printf("speed     %.0f tokens/s\n", double(windows) / elapsed.count());
  return 0;
}
