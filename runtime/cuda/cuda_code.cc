// A cubin is code for one architecture and loads as it is. PTX is compiled by the driver, which
// takes time and gives code that nobody has tested: only with leave. With leave it also stands in
// for a cubin of another architecture.

#include "runtime/cuda/cuda_code.h"

#include <cstring>
#include <map>

#include "runtime/format/cuda_image.h"

namespace tessera::runtime::cuda {

namespace {

using format::cat;

/// Modules, each with some of the kernels.
class CudaCode : public Code {
 public:
  explicit CudaCode(const Gpu& gpu) : gpu_(gpu) {}
  CudaCode(const CudaCode&) = delete;
  CudaCode& operator=(const CudaCode&) = delete;
  ~CudaCode() override { clear(); }

  void add(ModuleHandle module, const std::vector<std::string_view>& functions = {}) {
    modules_.push_back(module);
    for (std::string_view function : functions) module_of_.emplace(function, module);
  }
  void clear() {
    for (ModuleHandle module : modules_) gpu_.result(gpu_.driver().module_unload, module);
    modules_.clear();
    module_of_.clear();
  }

  /// A kernel of no module that is known to have it is looked for in the first one, and the driver says what is wrong.
  Status find(const format::KernelMeta& meta, void** kernel) override {
    CudaKernel& made = kernels_.emplace_back(gpu_, meta);
    *kernel = &made;
    auto known = module_of_.find(format::cuda_symbol(meta.code_name()));
    return made.prepare(known == module_of_.end() ? modules_.front() : known->second);
  }

  Status find_bare(const std::string& name, void** kernel) override {
    FunctionHandle function = nullptr;
    auto known = module_of_.find(name);
    ModuleHandle module = known == module_of_.end() ? modules_.front() : known->second;
    Status status = gpu_.run(gpu_.driver().module_function, &function, module, name.c_str());
    if (status.failed()) {
      return fail(status.code == TSR_EIMAGE ? TSR_ENOTFOUND : status.code, "the image has no kernel ",
                  format::in_quotes(name), ": ", status.text);
    }
    *kernel = &bare_kernels_.emplace_back(gpu_, name, function);
    return ok();
  }

 private:
  const Gpu& gpu_;
  std::vector<ModuleHandle> modules_;
  std::map<std::string, ModuleHandle, std::less<>> module_of_;  ///< by the kernel's symbol
  std::deque<CudaKernel> kernels_;
  std::deque<BareCudaKernel> bare_kernels_;
};

/// `title` names it; `is_other`: the cubin is sound, and for another architecture.
Status load_cubin(const Gpu& gpu, const std::string& title, std::string_view file, CudaCode& code, bool& is_other) {
  format::Result<std::vector<format::CubinPart>> parts = format::cubin_parts(file);
  if (!parts) return fail(TSR_EIMAGE, title, " is not a cubin");
  for (const format::CubinPart& part : *parts) {
    ModuleHandle module = nullptr;
    int result = gpu.result(gpu.driver().module_load, &module, static_cast<const void*>(part.object.data()), 0u,
                            static_cast<int*>(nullptr), static_cast<void**>(nullptr));
    if (result == success) {
      code.add(module, part.functions);
      continue;
    }
    Status status = gpu.driver().error(gpu.driver().module_load.symbol, result);
    is_other = result == error_no_binary_for_gpu;
    bool is_image = result == error_invalid_image || is_other;
    return fail(status.code, title, ": ", status.text,
                is_image ? cat("; ", gpu.name(), " has compute capability ", gpu.capability_text()) : "",
                is_other ? ": compile for it with tesserac --target, or let the driver compile the bundle's "
                           "PTX with tsr --allow-jit (the load flag TSR_ALLOW_JIT)"
                         : "");
  }
  return ok();
}

Status load_ptx(const Gpu& gpu, const std::string& title, std::string_view text, CudaCode& code) {
  ModuleHandle module = nullptr;
  std::string image(text);  // the driver reads up to a zero byte
  std::string log(8192, '\0');
  int options[] = {jit_error_log_buffer, jit_error_log_bytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  Status status = gpu.run(gpu.driver().module_load, &module,
                          static_cast<const void*>(image.c_str()), 2u, options, values);
  if (!status.failed()) {
    code.add(module);
    return status;
  }
  log.resize(std::strlen(log.c_str()));
  while (log.ends_with('\n')) log.pop_back();
  return fail(status.code, title, ": ", status.text, log.empty() ? "" : ": ", log);
}

}  // namespace

Status BareCudaKernel::check_count(size_t nargs) const {
  const auto& info = gpu_.driver().param_info;
  if (!info.function) return ok();
  size_t count = 0, offset = 0, bytes = 0;
  while (gpu_.result(info, function_, count, &offset, &bytes) == success) ++count;
  if (count == nargs) return ok();
  return invalid("kernel ", format::in_quotes(name_), ": expected ", count, " arguments, got ", nargs);
}

Status BareCudaKernel::launch(const tsr_launch_t& launch, void** args, size_t nargs, StreamHandle stream) const {
  constexpr unsigned without_asking = 48 << 10;
  if (Status status = check_count(nargs); status.failed()) return status;
  const Driver& driver = gpu_.driver();
  Status status;
  if (launch.smem_bytes > without_asking) {
    status = gpu_.run(driver.set_function_attribute, function_, function_max_dynamic_shared_bytes,
                      int(launch.smem_bytes));
  }
  void** no_extra = nullptr;
  if (!status.failed()) {
    status = gpu_.run(driver.launch, function_, launch.grid_x, launch.grid_y, launch.grid_z, launch.block_x,
                      launch.block_y, launch.block_z, launch.smem_bytes, stream, args, no_extra);
  }
  return status.failed() ? fail(status.code, "kernel ", format::in_quotes(name_), ": ", status.text) : status;
}

Status load_bare_cuda_code(const Gpu& gpu, std::string_view image, uint32_t flags, std::unique_ptr<Code>& code) {
  auto loaded = std::make_unique<CudaCode>(gpu);
  bool is_cubin = image.starts_with('\x7f'), is_other = false;
  if (!is_cubin && !(flags & TSR_ALLOW_JIT)) {
    return fail(TSR_EUNSUPPORTED,
                "the image is PTX, which the driver would have to compile; the load flag TSR_ALLOW_JIT lets it");
  }
  Status status = is_cubin ? load_cubin(gpu, "the image", image, *loaded, is_other)
                           : load_ptx(gpu, "the image", image, *loaded);
  if (!status.failed()) code = std::move(loaded);
  return status;
}

Status load_cuda_code(const Gpu& gpu, const format::BundleView& bundle, std::string_view target,
                      uint32_t flags, std::unique_ptr<Code>& code) {
  std::string cubin_path = format::kernels_path(target, "cubin");
  std::string ptx_path = format::kernels_path(target, "ptx");
  const format::BundleEntry* cubin = bundle.find(cubin_path);
  const format::BundleEntry* ptx = bundle.find(ptx_path);
  auto loaded = std::make_unique<CudaCode>(gpu);
  Status status;
  if (cubin) {
    bool is_other = false;
    status = load_cubin(gpu, cat("the bundle's ", cubin_path), cubin->bytes, *loaded, is_other);
    bool compiles = is_other && ptx && (flags & TSR_ALLOW_JIT);
    if (compiles) {
      loaded->clear();
      status = load_ptx(gpu, cat("the bundle's ", ptx_path), ptx->bytes, *loaded);
    }
  } else if (!ptx) {
    status = fail(TSR_EIMAGE, "the bundle has neither ", cubin_path, " nor ", ptx_path);
  } else if (!(flags & TSR_ALLOW_JIT)) {
    status = fail(TSR_EUNSUPPORTED, "the bundle has ", target,
                  " as PTX only, which the driver would have to compile: tesserac --cubin stores "
                  "machine code, tsr --allow-jit (the load flag TSR_ALLOW_JIT) lets the driver");
  } else {
    status = load_ptx(gpu, cat("the bundle's ", ptx_path), ptx->bytes, *loaded);
  }
  if (!status.failed()) code = std::move(loaded);
  return status;
}

}  // namespace tessera::runtime::cuda
