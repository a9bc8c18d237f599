#pragma once
// What the host programs of the examples share: a bundle with its weights on a device, tensors there, and a
// progress bar. Every failure ends the program with a sentence on standard error.

#include <tessera.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/files/file.h"

namespace host {

[[noreturn]] void fail(const std::string& what);
/// Fails with the library's text unless the call succeeded.
void check(tsr_status_t status);

class Program;

/// A dense tensor in memory of a program's device, which it gives back.
class Tensor {
 public:
  /// With zeros in it.
  Tensor(const Program& program, tsr_dtype_t dtype, std::vector<int64_t> shape);
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor();

  void write(const void* data);
  /// The elements as floats; f32 and bf16.
  std::vector<float> floats() const;
  size_t bytes() const;
  tsr_tensor_t* raw() { return &raw_; }
  const tsr_tensor_t* raw() const { return &raw_; }

 private:
  tsr_context_t context_;
  std::vector<int64_t> shape_;
  tsr_tensor_t raw_;
};

/// A bundle on a device ("cpu", "cuda:0"), with the parameters of a safetensors file. On a CPU they stay in the mapped
/// file; a GPU gets a copy.
class Program {
 public:
  Program(const std::string& device, const std::string& bundle, const std::string& weights);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  tsr_function_t function(const char* name) const;
  tsr_context_t context() const { return context_; }
  /// Where its tensors are.
  tsr_device_t device() const { return device_; }
  /// The target whose code runs.
  std::string target() const;

 private:
  void bind(const std::string& path);

  tsr_context_t context_ = nullptr;
  tsr_module_t module_ = nullptr;
  tsr_device_t device_ = {1, 0};
  tessera::format::MappedFile weights_;
  std::vector<Tensor> copies_;
};

/// Shows how much is done where standard error is a terminal, and removes the bar at the end.
void show_progress(int64_t done, int64_t all);

}  // namespace host
