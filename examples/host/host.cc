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

tsr::OwnedTensor zeros(const tsr::Context& context, tsr_dtype_t dtype, const tsr::Shape& shape) {
  tsr::OwnedTensor tensor(context, dtype, shape);
  std::string bytes(tensor.bytes(), '\0');
  tensor.write_bytes(bytes.data(), bytes.size());
  return tensor;
}

std::vector<float> floats(const tsr::OwnedTensor& tensor) {
  if (tensor.dtype().bits == 32) return tensor.read<float>();
  std::vector<uint16_t> halves(tensor.bytes() / 2);
  tensor.read_bytes(halves.data(), tensor.bytes());
  std::vector<float> values(halves.size());
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t word = uint32_t(halves[i]) << 16;
    std::memcpy(&values[i], &word, 4);
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
    : weights_(open_or_fail(weights)),
      context_(device),
      module_(tsr::Module::from_file(context_, bundle, TSR_ALLOW_JIT)) {
  bind(weights);
}

void Program::bind(const std::string& path) {
  auto file = SafetensorsView::open(weights_.bytes());
  if (!file) fail(path + ": " + file.error().text);
  std::vector<tsr::Parameter> parameters;
  for (const tsr::TensorInfo& info : module_.parameters()) {
    const auto* found = file->find(info.name);
    if (!found) fail(path + " has no tensor '" + info.name + "'");
    tsr::Tensor tensor(const_cast<char*>(found->bytes.data()), info.element, found->shape);
    if (context_.device().device_type != tsr::cpu.device_type) {
      copies_.emplace_back(context_, info.element, found->shape);
      if (tensor.bytes() != found->bytes.size()) fail(path + ": '" + info.name + "' has another size or dtype");
      copies_.back().write_bytes(found->bytes.data(), found->bytes.size());
      tensor = copies_.back();
    }
    parameters.push_back({info.name, tensor});
  }
  module_.bind(parameters);
}

void show_progress(int64_t done, int64_t all) {
  if (!isatty(STDERR_FILENO)) return;
  constexpr int width = 40;
  int filled = int(done * width / all);
  std::fprintf(stderr, "\r[%-*s] %3d %%", width, std::string(size_t(filled), '#').c_str(), int(done * 100 / all));
  if (done == all) std::fprintf(stderr, "\r%*s\r", width + 8, "");
}

}  // namespace host
