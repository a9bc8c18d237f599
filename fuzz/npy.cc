// Any bytes as an .npy file; an accepted file is written and read back the same.

#include "runtime/files/npy.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace tessera::format;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto array = read_npy({reinterpret_cast<const char*>(data), size});
  if (!array) return 0;
  auto written = write_npy(*array);
  if (!written) std::abort();
  auto again = read_npy(*written);
  bool is_same = again && again->dtype == array->dtype && again->shape == array->shape &&
                 again->bytes == array->bytes;
  if (!is_same) std::abort();
  return 0;
}
