#pragma once
// A loaded bundle: the code of one target, its kernels, entries and parameters.

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/bind.h"
#include "runtime/core/device.h"
#include "runtime/core/function.h"
#include "runtime/files/file.h"
#include "runtime/format/bundle.h"
#include "runtime/format/reflection.h"

struct tsr_context;

struct tsr_kernel {
  tsr_kernel(tsr_module* owner, const tessera::format::KernelMeta* facts, void* address)
      : module(owner), meta(facts), code(address) {}

  tsr_module* module;
  const tessera::format::KernelMeta* meta;
  void* code;
  std::atomic<float> cost = 0;  ///< see Launch::cost
};

namespace tessera::runtime {

/// A parameter of the bundle and its value.
struct Parameter {
  const format::ManifestTensor* declared = nullptr;
  std::string shape_text;
  bool is_bound = false;
  bool is_updated = false;  ///< an entry writes to it
  Argument value;
};

}  // namespace tessera::runtime

struct tsr_module {
  tsr_context* context = nullptr;
  std::optional<tessera::format::MappedFile> file;  ///< when weights are used where they are
  tessera::format::Manifest manifest;
  std::string target;
  uint32_t flags = 0;                              ///< those it was loaded with
  std::vector<tessera::format::KernelMeta> metas;  ///< in order of name
  std::unique_ptr<tessera::runtime::Code> code;
  std::deque<tsr_kernel> kernels;                          ///< beside metas
  std::vector<std::unique_ptr<tsr_function>> functions;    ///< beside manifest.entries
  std::vector<tessera::runtime::Parameter> parameters;     ///< beside manifest.params
  std::vector<tessera::runtime::Memory> parameter_memory;  ///< copies of the bundle's weights

  bool has_code() const { return !(flags & TSR_NO_CODE); }
  tsr_kernel* find_kernel(std::string_view name);
  tessera::runtime::Parameter* find_parameter(std::string_view name);
};

namespace tessera::runtime {

/// What the interface says about a parameter.
tsr_tensor_info_t describe_parameter(const Parameter& parameter);

/// Loads a bundle. `image` must stay until the module goes when `file` holds it. `flags` are those
/// of tsrLoadModuleWith.
Status load_module(tsr_context& context, std::string_view image,
                   std::optional<format::MappedFile> file, uint32_t flags,
                   std::unique_ptr<tsr_module>& module);

}  // namespace tessera::runtime
