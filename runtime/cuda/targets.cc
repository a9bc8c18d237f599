#include "runtime/cuda/targets.h"

#include <charconv>

namespace tessera::runtime::cuda {

std::optional<CudaTarget> parse_cuda_target(std::string_view target) {
  constexpr std::string_view prefix = "cuda:sm_";
  if (!target.starts_with(prefix)) return std::nullopt;
  std::string_view number = target.substr(prefix.size());
  bool is_exact = number.ends_with('a');
  if (is_exact) number.remove_suffix(1);
  CudaTarget out{0, is_exact};
  const char* end = number.data() + number.size();
  auto [at, status] = std::from_chars(number.data(), end, out.capability);
  bool is_number = status == std::errc() && at == end && number.size() <= 3;
  if (!is_number || out.capability < 10) return std::nullopt;
  return out;
}

}  // namespace tessera::runtime::cuda
