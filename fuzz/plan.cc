// Any bytes as a plan. An accepted plan encodes to the same bytes, and printing, binding and
// placing it are safe, whatever its expressions are.

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "runtime/core/bind.h"
#include "runtime/core/launches.h"
#include "runtime/format/plan.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto plan = format::decode_plan(bytes);
  if (!plan) return 0;
  if (format::encode_plan(*plan) != bytes || !format::check_plan(*plan)) std::abort();
  format::print_plan(*plan, [](std::string_view) {});
  std::vector<char> scalars(8, '\x05');
  for (int64_t extent : {int64_t(0), int64_t(3), INT64_MAX}) {
    std::vector<runtime::Argument> arguments(plan->buffers.size());
    for (size_t i = 0; i < arguments.size(); ++i) {
      arguments[i].data = scalars.data();
      arguments[i].shape.assign(plan->buffers[i].shape.size(), extent);
    }
    std::vector<int64_t> dims;
    std::vector<runtime::DimOrigin> origins;
    (void)runtime::bind_dims(*plan, {}, arguments, dims, origins);
    dims.assign(plan->dims.size(), extent);
    runtime::Placement placement;
    (void)runtime::place_buffers(*plan, dims, placement);
  }
  return 0;
}
