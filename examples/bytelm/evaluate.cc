// Runs bytelm's entry `loss` over all windows of a text and prints the mean loss and the speed.
//
// Usage: bytelm_evaluate BUNDLE PARAMETERS TEXT [BATCH]
//
// A window is 16 bytes of context and the byte after them; a text of n bytes has n - 16. A progress bar
// is shown when standard error is a terminal.

#include <tessera.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/format/file.h"
#include "runtime/format/safetensors.h"

namespace {

using tessera::format::MappedFile;
using tessera::format::SafetensorsView;

constexpr int64_t window = 17;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "\nerror: %s\n", what.c_str());
  std::exit(1);
}

void check(tsr_status_t status) {
  if (status != TSR_SUCCESS) fail(tsrGetLastError());
}

MappedFile open_or_fail(const char* path) {
  auto file = MappedFile::open(path);
  if (!file) fail(file.error().text);
  return std::move(*file);
}

/// The parameters stay in the mapped file; the library reads them there.
void bind_parameters(tsr_module_t module, const SafetensorsView& file) {
  size_t count = 0;
  check(tsrGetParameterCount(module, &count));
  std::vector<tsr_tensor_t> tensors(count);
  std::vector<std::vector<int64_t>> shapes(count);
  std::vector<const tsr_tensor_t*> pointers;
  std::vector<const char*> names;
  for (size_t i = 0; i < count; ++i) {
    tsr_tensor_info_t info;
    check(tsrGetParameterInfo(module, i, &info));
    const auto* tensor = file.find(info.name);
    if (!tensor) fail("the parameter file has no tensor '" + std::string(info.name) + "'");
    shapes[i] = tensor->shape;
    tensors[i] = {const_cast<char*>(tensor->bytes.data()), {1, 0}, int32_t(shapes[i].size()), info.element,
                  shapes[i].data(), nullptr, 0};
    pointers.push_back(&tensors[i]);
    names.push_back(info.name);
  }
  check(tsrBindParameters(module, count, names.data(), pointers.data()));
}

/// The loss of windows first .. first + count - 1 of the text.
float loss_of(tsr_function_t function, std::string_view text, int64_t first, int64_t count, char* tokens) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(tokens + i * window, text.data() + first + i, window);
  int64_t shape[] = {count, window};
  tsr_tensor_t input{tokens, {1, 0}, 2, {1, 8, 1}, shape, nullptr, 0};
  alignas(64) float loss = NAN;
  tsr_tensor_t output{&loss, {1, 0}, 0, {2, 32, 1}, nullptr, nullptr, 0};
  const tsr_tensor_t* inputs[] = {&input};
  tsr_tensor_t* outputs[] = {&output};
  check(tsrCall(function, nullptr, inputs, 1, outputs, 1));
  return loss;
}

void show_progress(int64_t done, int64_t all) {
  if (!isatty(STDERR_FILENO)) return;
  constexpr int width = 40;
  int filled = int(done * width / all);
  std::fprintf(stderr, "\r[%-*s] %3d %%", width, std::string(size_t(filled), '#').c_str(), int(done * 100 / all));
  if (done == all) std::fprintf(stderr, "\r%*s\r", width + 8, "");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc > 5) {
    std::fprintf(stderr, "usage: bytelm_evaluate BUNDLE PARAMETERS TEXT [BATCH]\n");
    return 1;
  }
  int64_t batch = argc == 5 ? std::atoll(argv[4]) : 1024;
  if (batch < 1) fail("BATCH must be at least 1");
  MappedFile parameters = open_or_fail(argv[2]);
  MappedFile text_file = open_or_fail(argv[3]);
  std::string_view text = text_file.bytes();
  if (int64_t(text.size()) < window) fail("the text has no window of 17 bytes");
  auto view = SafetensorsView::open(parameters.bytes());
  if (!view) fail(std::string(argv[2]) + ": " + view.error().text);

  tsr_context_t context;
  tsr_module_t module;
  tsr_function_t function;
  void* tokens;
  check(tsrCreateContext(&context));
  check(tsrLoadModuleFile(context, argv[1], &module));
  bind_parameters(module, *view);
  check(tsrGetFunction(module, "loss", &function));
  check(tsrAlloc(context, size_t(batch * window), TSR_HOST, &tokens));

  int64_t windows = int64_t(text.size()) - window + 1;
  double sum = 0;
  auto start = std::chrono::steady_clock::now();
  for (int64_t first = 0; first < windows; first += batch) {
    int64_t count = std::min(batch, windows - first);
    sum += double(loss_of(function, text, first, count, static_cast<char*>(tokens))) * double(count);
    show_progress(first + count, windows);
  }
  std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const char* target;
  check(tsrGetModuleTarget(module, &target));
  std::printf("text      %s, %lld windows\n", argv[3], static_cast<long long>(windows));
  std::printf("target    %s\n", target);
  std::printf("loss      %.6f (ln 256 = %.6f)\n", sum / double(windows), std::log(256.0));
  std::printf("speed     %.0f tokens/s\n", double(windows) / elapsed.count());
  check(tsrDestroyContext(context));
  return 0;
}
