#include "host/host.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/files/safetensors.h"

namespace host {

using tessera::format::MappedFile;
using tessera::format::SafetensorsView;

void fail(const std::string& what) {
  std::fprintf(stderr, "\nerror: %s\n", what.c_str());
  std::exit(1);
}

void check(tsr_status_t status) {
  if (status != TSR_SUCCESS) fail(tsrGetLastError());
}

Tensor::Tensor(const Program& program, tsr_dtype_t dtype, std::vector<int64_t> shape)
    : context_(program.context()), shape_(std::move(shape)) {
  raw_ = {nullptr, program.device(), int32_t(shape_.size()), dtype, shape_.data(), nullptr, 0};
  check(tsrAlloc(context_, bytes(), TSR_DEVICE, &raw_.data));
  std::string zeros(bytes(), '\0');
  write(zeros.data());
}

Tensor::Tensor(Tensor&& other) noexcept
    : context_(other.context_), shape_(std::move(other.shape_)), raw_(other.raw_) {
  raw_.shape = shape_.data();
  other.raw_.data = nullptr;
}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(raw_, other.raw_);
  shape_.swap(other.shape_);  // the extents stay where they are
  return *this;
}

Tensor::~Tensor() { tsrFree(context_, raw_.data); }

size_t Tensor::bytes() const {
  size_t elements = 1;
  for (int64_t extent : shape_) elements *= size_t(extent);
  return elements * raw_.dtype.bits / 8;
}

void Tensor::write(const void* data) { check(tsrCopy(context_, nullptr, raw_.data, data, bytes())); }

std::vector<float> Tensor::floats() const {
  std::vector<char> data(bytes());
  check(tsrCopy(context_, nullptr, data.data(), raw_.data, bytes()));
  check(tsrSynchronize(context_, TSR_FOREVER));
  std::vector<float> values(data.size() * 8 / raw_.dtype.bits);
  if (raw_.dtype.bits == 32) {
    std::memcpy(values.data(), data.data(), data.size());
  } else {
    for (size_t i = 0; i < values.size(); ++i) {
      uint16_t half;
      std::memcpy(&half, &data[2 * i], 2);
      uint32_t word = uint32_t(half) << 16;
      std::memcpy(&values[i], &word, 4);
    }
  }
  return values;
}

namespace {

MappedFile open_or_fail(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) fail(file.error().text);
  return std::move(*file);
}

}  // namespace

Program::Program(const std::string& device, const std::string& bundle, const std::string& weights)
    : weights_(open_or_fail(weights)) {
  check(tsrCreateContextFor(device.c_str(), &context_));
  if (device.rfind("cuda:", 0) == 0) device_ = {2, std::atoi(device.c_str() + 5)};
  check(tsrLoadModuleFileWith(context_, bundle.c_str(), TSR_ALLOW_JIT, &module_));
  bind(weights);
}

Program::~Program() {
  copies_.clear();
  tsrDestroyContext(context_);
}

void Program::bind(const std::string& path) {
  auto file = SafetensorsView::open(weights_.bytes());
  if (!file) fail(path + ": " + file.error().text);
  size_t count = 0;
  check(tsrGetParameterCount(module_, &count));
  copies_.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    tsr_tensor_info_t info;
    check(tsrGetParameterInfo(module_, i, &info));
    const auto* found = file->find(info.name);
    if (!found) fail(path + " has no tensor '" + info.name + "'");
    std::vector<int64_t> shape = found->shape;
    tsr_tensor_t tensor = {const_cast<char*>(found->bytes.data()), {1, 0}, int32_t(shape.size()), info.element,
                           shape.data(), nullptr, 0};
    const tsr_tensor_t* pointer = &tensor;
    if (device_.device_type != 1) {
      copies_.emplace_back(*this, info.element, shape);
      if (copies_.back().bytes() != found->bytes.size()) fail(path + ": '" + info.name + "' has another size or dtype");
      copies_.back().write(found->bytes.data());
      pointer = copies_.back().raw();
    }
    check(tsrBindParameters(module_, 1, &info.name, &pointer));
  }
}

tsr_function_t Program::function(const char* name) const {
  tsr_function_t function;
  check(tsrGetFunction(module_, name, &function));
  return function;
}

std::string Program::target() const {
  const char* text;
  check(tsrGetModuleTarget(module_, &text));
  return text;
}

void show_progress(int64_t done, int64_t all) {
  if (!isatty(STDERR_FILENO)) return;
  constexpr int width = 40;
  int filled = int(done * width / all);
  std::fprintf(stderr, "\r[%-*s] %3d %%", width, std::string(size_t(filled), '#').c_str(), int(done * 100 / all));
  if (done == all) std::fprintf(stderr, "\r%*s\r", width + 8, "");
}

}  // namespace host
