#pragma once
// A loaded bundle: the code of one target, its kernels, entries and parameters.

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/bind.h"
#include "runtime/core/device.h"
#include "runtime/core/function.h"
#include "runtime/files/file.h"
#include "runtime/format/bundle.h"
#include "runtime/format/reflection.h"
#include "runtime/handles/handles.h"

namespace tessera::runtime {

struct Kernel {
  Kernel(Module* owner, const format::KernelMeta* facts, void* address) : module(owner), meta(facts), code(address) {
    for (const format::KernelBuffer& buffer : meta->buffers) buffer_names.push_back(buffer.name.c_str());
    for (const std::string& dim : meta->dims) dim_names.push_back(dim.c_str());
  }

  Module* module;
  const format::KernelMeta* meta;
  void* code;
  std::atomic<float> cost = 0;  ///< see Launch::cost
  std::vector<const char*> buffer_names, dim_names;
  const Handle<tsr_kernel_t> handle{this};
};

/// A parameter of the bundle and its value.
struct Parameter {
  const format::ManifestTensor* declared = nullptr;
  std::string shape_text;
  bool is_bound = false;
  bool is_updated = false;  ///< an entry writes to it
  Argument value;
};

struct Module {
  Context* context = nullptr;
  std::optional<format::MappedFile> file;  ///< when weights are used where they are
  format::Manifest manifest;
  std::string target;
  uint32_t flags = 0;                              ///< those it was loaded with
  std::vector<format::KernelMeta> metas;           ///< in order of name
  std::unique_ptr<Code> code;
  std::deque<Kernel> kernels;                        ///< beside metas
  std::vector<std::unique_ptr<Function>> functions;  ///< beside manifest.entries
  std::vector<Parameter> parameters;                 ///< beside manifest.params
  std::vector<Memory> parameter_memory;              ///< copies of the bundle's weights

  /// Of code that came without a bundle: kernels are added as they are asked for.
  bool is_bare = false;
  std::mutex bare_mutex;  ///< guards then the next, and `kernels`
  std::deque<format::KernelMeta> bare_metas;

  const Handle<tsr_module_t> handle{this};

  bool has_code() const { return !(flags & TSR_NO_CODE); }
  Kernel* find_kernel(std::string_view name);
  /// The same of bare code.
  Status find_bare_kernel(const std::string& name, Kernel** kernel);
  Parameter* find_parameter(std::string_view name);
};

/// What the interface says about a parameter.
tsr_tensor_info_t describe_parameter(const Parameter& parameter);

/// Loads a bundle. `image` must stay until the module goes when `file` holds it. `flags` are those
/// of tsr_module_options_t.
Status load_module(Context& context, std::string_view image, std::optional<format::MappedFile> file, uint32_t flags,
                   std::unique_ptr<Module>& module);

}  // namespace tessera::runtime
