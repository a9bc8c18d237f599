// A cubin is code for one architecture and loads as it is. PTX is compiled by the driver, which
// takes time and gives code that nobody has tested: only with leave. With leave it also stands in
// for a cubin of another architecture.

#include "runtime/cuda/cuda_code.h"

#include <cstring>

namespace tessera::runtime::cuda {

namespace {

using format::cat;

class CudaCode : public Code {
 public:
  CudaCode(const Gpu& gpu, ModuleHandle module) : gpu_(gpu), module_(module) {}
  CudaCode(const CudaCode&) = delete;
  CudaCode& operator=(const CudaCode&) = delete;
  ~CudaCode() override { gpu_.result(gpu_.driver().module_unload, module_); }

  Status find(const format::KernelMeta& meta, void** kernel) override {
    CudaKernel& made = kernels_.emplace_back(gpu_, meta);
    *kernel = &made;
    return made.prepare(module_);
  }

 private:
  const Gpu& gpu_;
  ModuleHandle module_;
  std::deque<CudaKernel> kernels_;
};

/// A cubin is an ELF object for the machine "CUDA".
bool is_cubin(std::string_view image) {
  constexpr size_t header_bytes = 64;
  constexpr size_t machine_at = 18;
  constexpr uint16_t cuda_machine = 190;
  if (image.size() < header_bytes || !image.starts_with("\x7f"
                                                        "ELF")) {
    return false;
  }
  uint16_t machine = 0;
  std::memcpy(&machine, image.data() + machine_at, sizeof machine);
  return machine == cuda_machine;
}

/// `is_other`: the cubin is sound, and for another architecture.
Status load_cubin(const Gpu& gpu, const std::string& path, std::string_view image,
                  ModuleHandle& module, bool& is_other) {
  if (!is_cubin(image)) return fail(TSR_EIMAGE, "the bundle's ", path, " is not a cubin");
  int result = gpu.result(gpu.driver().module_load, &module, static_cast<const void*>(image.data()),
                          0u, static_cast<int*>(nullptr), static_cast<void**>(nullptr));
  if (result == success) return ok();
  Status status = gpu.driver().error(gpu.driver().module_load.symbol, result);
  is_other = result == error_no_binary_for_gpu;
  bool is_image = result == error_invalid_image || is_other;
  return fail(
      status.code, "the bundle's ", path, ": ", status.text,
      is_image ? cat("; ", gpu.name(), " has compute capability ", gpu.capability_text()) : "",
      is_other ? ": compile for it with tesserac --target, or let the driver compile the bundle's "
                 "PTX with tsr --allow-jit (the load flag TSR_ALLOW_JIT)"
               : "");
}

Status load_ptx(const Gpu& gpu, const std::string& path, std::string_view text,
                ModuleHandle& module) {
  std::string image(text);  // the driver reads up to a zero byte
  std::string log(8192, '\0');
  int options[] = {jit_error_log_buffer, jit_error_log_bytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  Status status = gpu.run(gpu.driver().module_load, &module,
                          static_cast<const void*>(image.c_str()), 2u, options, values);
  if (!status.failed()) return status;
  log.resize(std::strlen(log.c_str()));
  while (log.ends_with('\n')) log.pop_back();
  return fail(status.code, "the bundle's ", path, ": ", status.text, log.empty() ? "" : ": ", log);
}

}  // namespace

Status load_cuda_code(const Gpu& gpu, const format::BundleView& bundle, std::string_view target,
                      uint32_t flags, std::unique_ptr<Code>& code) {
  std::string cubin_path = format::kernels_path(target, "cubin");
  std::string ptx_path = format::kernels_path(target, "ptx");
  const format::BundleEntry* cubin = bundle.find(cubin_path);
  const format::BundleEntry* ptx = bundle.find(ptx_path);
  ModuleHandle module = nullptr;
  Status status;
  if (cubin) {
    bool is_other = false;
    status = load_cubin(gpu, cubin_path, cubin->bytes, module, is_other);
    bool compiles = is_other && ptx && (flags & TSR_ALLOW_JIT);
    if (compiles) status = load_ptx(gpu, ptx_path, ptx->bytes, module);
  } else if (!ptx) {
    status = fail(TSR_EIMAGE, "the bundle has neither ", cubin_path, " nor ", ptx_path);
  } else if (!(flags & TSR_ALLOW_JIT)) {
    status = fail(TSR_EUNSUPPORTED, "the bundle has ", target,
                  " as PTX only, which the driver would have to compile: tesserac --cubin stores "
                  "machine code, tsr --allow-jit (the load flag TSR_ALLOW_JIT) lets the driver");
  } else {
    status = load_ptx(gpu, ptx_path, ptx->bytes, module);
  }
  if (!status.failed()) code = std::make_unique<CudaCode>(gpu, module);
  return status;
}

}  // namespace tessera::runtime::cuda
