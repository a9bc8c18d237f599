// Any bytes as a bundle; and, since checksums stop nearly all of them at once, any bytes as each of
// the texts and objects inside one.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "runtime/format/bundle.h"
#include "runtime/format/bundle_check.h"
#include "runtime/format/cuda_image.h"
#include "runtime/format/kernel_image.h"
#include "runtime/format/reflection.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (auto view = format::BundleView::open(bytes)) {
    // An accepted bundle is the one that the writer gives for its contents.
    format::BundleWriter writer;
    for (const format::BundleEntry& entry : view->entries()) {
      if (entry.name == format::manifest_name) continue;
      if (!writer.add(entry.name, std::string(entry.bytes))) std::abort();
    }
    (void)format::check_bundle(*view);
    auto again = writer.finish(view->manifest());
    if (!again || *again != bytes) std::abort();
  }
  if (auto manifest = format::read_manifest(bytes)) {
    if (format::write_manifest(*manifest) != bytes) std::abort();
  }
  if (auto reflection = format::read_reflection(bytes)) {
    if (format::write_reflection(*reflection) != bytes) std::abort();
    for (const auto& [target, kernels] : reflection->kernels) {
      for (const format::KernelMeta& kernel : kernels) (void)format::kernel_yaml(kernel);
    }
  }
  (void)format::check_ptx(bytes, {});
  (void)format::check_cubin(bytes, {});
  if (auto image = format::read_kernel_image(bytes)) {
    if (*format::write_kernel_image(*image) != bytes) std::abort();
  }
  return 0;
}
