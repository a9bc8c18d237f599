// Runs gpt's entry `loss` over a text and prints the mean loss and the speed.
//
// Usage: gpt_evaluate BUNDLE WEIGHTS TEXT [WINDOW [BATCH [DEVICE]]]
//
// The text is cut into windows of WINDOW bytes (256), of which BATCH (8) are run at a time; each byte but the first of a
// window is predicted from those before it there. DEVICE is cpu or cuda:N. A progress bar is shown when
// standard error is a terminal.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "host/host.h"

namespace {

/// The loss of `count` windows that begin at `text`.
float loss_of(const host::Program& program, tsr_function_t function, const char* text, int64_t count, int64_t window) {
  host::Tensor input(program, {1, 8, 1}, {count, window}), output(program, {2, 32, 1}, {});
  input.write(text);
  const tsr_tensor_t* inputs[] = {input.raw()};
  tsr_tensor_t* outputs[] = {output.raw()};
  host::check(tsrCall(function, nullptr, inputs, 1, outputs, 1));
  return output.floats()[0];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc > 7) {
    std::fprintf(stderr, "usage: gpt_evaluate BUNDLE WEIGHTS TEXT [WINDOW [BATCH [DEVICE]]]\n");
    return 1;
  }
  int64_t window = argc > 4 ? std::atoll(argv[4]) : 256, batch = argc > 5 ? std::atoll(argv[5]) : 8;
  if (window < 2) host::fail("WINDOW must be at least 2");
  if (batch < 1) host::fail("BATCH must be at least 1");
  auto text = tessera::format::MappedFile::open(argv[3]);
  if (!text) host::fail(text.error().text);
  int64_t windows = int64_t(text->bytes().size()) / window;
  if (windows == 0) host::fail("the text is shorter than a window");
  host::Program program(argc > 6 ? argv[6] : "cpu", argv[1], argv[2]);
  tsr_function_t function = program.function("loss");

  double sum = 0;
  auto start = std::chrono::steady_clock::now();
  for (int64_t first = 0; first < windows; first += batch) {
    int64_t count = std::min(batch, windows - first);
    sum += double(loss_of(program, function, text->bytes().data() + first * window, count, window)) * double(count);
    host::show_progress(first + count, windows);
  }
  std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("text      %s, %lld windows of %lld bytes\n", argv[3], static_cast<long long>(windows),
              static_cast<long long>(window));
  std::printf("target    %s\n", program.target().c_str());
  std::printf("loss      %.6f (ln 256 = %.6f)\n", sum / double(windows), std::log(256.0));
  std::printf("speed     %.0f tokens/s\n", double(windows * window) / elapsed.count());
  return 0;
}
