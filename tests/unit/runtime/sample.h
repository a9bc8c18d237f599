#pragma once
// Bundles made by hand for the runtime's tests.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/format/bundle.h"
#include "runtime/format/plan.h"
#include "runtime/format/reflection.h"
#include "runtime/include/tessera.h"

namespace tessera::test {

using format::BufferKind;
using format::Dtype;

inline const std::string sample_target = "cpu:x86-64-v3";

/// Metadata of the kernels in kernels.c.
std::vector<format::KernelMeta> sample_kernels();

/// The one of that name.
format::KernelMeta sample_kernel(const std::string& name);

/// The object with the kernels of kernels.c.
std::string sample_object();

/// "N + 1 + 1 …", with so many ones.
std::string long_sum(size_t ones);

/// Builds a plan with expressions in text form.
class PlanBuilder {
 public:
  explicit PlanBuilder(std::string entry);

  uint32_t dim(const std::string& name);
  uint32_t scalar_dim(const std::string& name, uint32_t input);
  uint32_t loop_dim(const std::string& name);
  uint32_t input(const std::string& name, std::vector<std::string> shape, Dtype dtype = Dtype::F32);
  uint32_t param(const std::string& name, std::vector<std::string> shape);
  uint32_t output(const std::string& name, std::vector<std::string> shape,
                  Dtype dtype = Dtype::F32);
  /// A temp that lives through steps [first, last].
  uint32_t temp(std::vector<std::string> shape, uint32_t first, uint32_t last,
                Dtype dtype = Dtype::F32);
  uint32_t constant(const std::vector<float>& values);
  void guard(const std::string& condition, const std::string& message);
  void launch(const std::string& kernel, std::vector<uint32_t> buffers,
              std::vector<std::string> dims);
  void step(format::PlanStep step);
  uint32_t expr(const std::string& text);

  format::Plan plan;

 private:
  uint32_t buffer(BufferKind kind, const std::string& name, std::vector<std::string> shape,
                  Dtype dtype);
};

/// What else the manifest says about an entry.
struct EntryFacts {
  std::vector<std::string> seeds;              ///< inputs that are seeds
  std::map<std::string, std::string> donated;  ///< output -> input
};

/// A manifest that fits the plans, entries in order of name.
format::Manifest manifest_for(const std::vector<format::Plan>& plans,
                              const std::map<std::string, EntryFacts>& facts = {});

/// A bundle with these plans and all sample kernels; aborts the test when it cannot be written.
std::string make_bundle(const std::vector<format::Plan>& plans,
                        const std::map<std::string, EntryFacts>& facts = {},
                        const std::map<std::string, std::string>& more = {});

/// The bundle with other contents: `change` gets them by name, without the manifest.
std::string changed_bundle(
    const std::string& bundle,
    const std::function<void(format::Manifest&, std::map<std::string, std::string>&)>& change);

/// tsrCreateContextWith and tsrLoadModuleWith with these options.
tsr_status_t create_on(const char* device, tsr_context_t* context, uint32_t checks = 0);
tsr_status_t load_with(tsr_context_t context, const std::string& bundle, uint32_t flags, tsr_module_t* module);

/// A struct with its size, which the library is to fill or to read.
template <typename Struct>
Struct sized() {
  Struct made{};
  made.size = sizeof made;
  return made;
}

/// A context with a loaded bundle.
class Loaded {
 public:
  /// `checks` are TSR_CHECK_….
  explicit Loaded(const std::string& bundle, uint32_t checks = 0);
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() { tsrDestroyContext(context); }
  tsr_function_t function(const char* name) const;

  tsr_context_t context = nullptr;
  tsr_module_t module = nullptr;
};

/// A tensor of the caller with memory at a multiple of 64.
class HostTensor {
 public:
  HostTensor(std::vector<int64_t> shape, Dtype dtype = Dtype::F32);
  HostTensor(std::vector<int64_t> shape, const std::vector<float>& values);
  HostTensor(const HostTensor&) = delete;
  HostTensor& operator=(const HostTensor&) = delete;

  float* floats() { return static_cast<float*>(tensor.data); }
  std::vector<float> values();

  std::vector<int64_t> shape;
  tsr_tensor_t tensor{};

 private:
  std::vector<char> storage_;
  int64_t count_ = 0;
};

/// Calls and returns the status.
tsr_status_t call(tsr_function_t function, std::vector<const tsr_tensor_t*> inputs,
                  std::vector<tsr_tensor_t*> outputs, tsr_stream_t stream = nullptr);

/// A file that goes with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();
  const std::string path;
};

/// The text of the last failure.
inline std::string last_error() {
  return tsrGetLastError();
}

}  // namespace tessera::test
