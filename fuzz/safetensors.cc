// Any bytes as a safetensors file; an accepted file is written and read back the same.

#include "runtime/files/safetensors.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace tessera::format;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto view = SafetensorsView::open({reinterpret_cast<const char*>(data), size});
  if (!view) return 0;
  auto written = write_safetensors(view->tensors());
  if (!written) std::abort();
  auto again = SafetensorsView::open(*written);
  if (!again || again->tensors().size() != view->tensors().size()) std::abort();
  for (const TensorView& tensor : view->tensors()) {
    const TensorView* same = again->find(tensor.name);
    if (!same || same->shape != tensor.shape || same->bytes != tensor.bytes) std::abort();
  }
  return 0;
}
