#pragma once
// The fake driver in the test's process, and bundles with code for it.

#include "unit/runtime/cuda/fake_driver.h"
#include "unit/runtime/sample.h"

namespace tessera::test {

inline const std::string cuda_target = "cuda:sm_90a";

/// Metadata of the fake driver's kernels.
std::vector<format::KernelMeta> cuda_kernels();

/// What a bundle for GPUs is made of.
struct CudaBundle {
  std::vector<format::Plan> plans;  ///< of any target: they get the bundle's
  std::vector<std::string> targets = {cuda_target};
  bool has_cubin = true;
  bool has_ptx = true;
  bool has_parts = false;                   ///< the cubin has an object for each kernel
  std::string ptx_head = ".version 8.0\n";  ///< before the fake driver's list of kernels
  std::string ptx;                          ///< the whole text, for a real GPU
  std::string cubin_target = ".target sm_90\n";
  std::vector<format::KernelMeta> kernels = cuda_kernels();
  std::map<std::string, EntryFacts> facts;

  std::string bytes() const;
};

/// Starts from a machine with these properties and ends by checking that nothing is left in it.
class FakeGpu {
 public:
  explicit FakeGpu(const FakeKnobs& knobs = {});
  FakeGpu(const FakeGpu&) = delete;
  FakeGpu& operator=(const FakeGpu&) = delete;
  ~FakeGpu();

  FakeCounts counts() const;
  std::vector<FakeLaunch> launches() const;
  FakeTensorMap last_map() const;
  /// A stream that another library makes in that context of the driver.
  void* create_stream(intptr_t context) const;
  void destroy_stream(void* stream) const;
  /// The call of that function after `skip` more fails.
  void fail(const char* symbol, int result, int skip = 0) const;

 private:
  void* library_;
};

/// A context on the fake GPU with a loaded bundle.
class CudaLoaded {
 public:
  explicit CudaLoaded(const std::string& bundle, uint32_t flags = 0);
  CudaLoaded(const CudaLoaded&) = delete;
  CudaLoaded& operator=(const CudaLoaded&) = delete;
  ~CudaLoaded() { tsrDestroyContext(context); }
  tsr_function_t function(const char* name) const;

  tsr_context_t context = nullptr;
  tsr_module_t module = nullptr;
};

/// A tensor in memory of the GPU.
class CudaTensor {
 public:
  CudaTensor(tsr_context_t context, std::vector<int64_t> extents, Dtype dtype = Dtype::F32);
  CudaTensor(tsr_context_t context, std::vector<int64_t> extents, const std::vector<float>& values);
  CudaTensor(const CudaTensor&) = delete;
  CudaTensor& operator=(const CudaTensor&) = delete;
  ~CudaTensor() { tsrFree(context_, memory_); }

  /// Waits for the default stream and fetches the elements.
  std::vector<float> values();
  void read(void* to);

  std::vector<int64_t> shape;
  tsr_tensor_t tensor{};

 private:
  tsr_context_t context_;
  void* memory_ = nullptr;
  size_t bytes_ = 0;
};

/// y[N] = x[N] + 1.
format::Plan add_one_plan();
/// y = x + 2, by two launches.
format::Plan twice_plan();

}  // namespace tessera::test
