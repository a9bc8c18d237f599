#pragma once
// What the host programs of the examples share: a bundle with its weights on a device, and a progress bar.

#include <cstdint>
#include <string>
#include <tessera.hpp>
#include <vector>

#include "runtime/files/file.h"

namespace host {

/// Ends the program with a sentence on standard error.
[[noreturn]] void fail(const std::string& what);

/// Runs the program's work; what the library throws ends the program as fail does.
template <class Work>
void run(const Work& work) {
  try {
    work();
  } catch (const tsr::Error& error) {
    fail(error.what());
  }
}

/// A tensor with zeros in it.
tsr::OwnedTensor zeros(const tsr::Context& context, tsr_dtype_t dtype, const tsr::Shape& shape);
/// The elements as floats; f32 and bf16.
std::vector<float> floats(const tsr::OwnedTensor& tensor);

/// A bundle on a device ("cpu", "cuda:0"), with the parameters of a safetensors file. On a CPU they stay in the mapped
/// file; a GPU gets a copy.
class Program {
 public:
  Program(const std::string& device, const std::string& bundle, const std::string& weights);

  const tsr::Context& context() const { return context_; }
  const tsr::Module& module() const { return module_; }

 private:
  void bind(const std::string& path);

  tessera::format::MappedFile weights_;
  tsr::Context context_;
  tsr::Module module_;
  std::vector<tsr::OwnedTensor> copies_;
};

/// Shows how much is done where standard error is a terminal, and removes the bar at the end.
void show_progress(int64_t done, int64_t all);

}  // namespace host
