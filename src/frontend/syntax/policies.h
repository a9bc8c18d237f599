#pragma once
// The names of policies: an `@` before one of them, as in `bf16 @accum(f32)`, is no matmul and is
// written at its name. tools/gen_textmate.py checks that the list is that of type_expr.cc.

#include <algorithm>
#include <string_view>

namespace tessera {

inline constexpr std::string_view policies[] = {
    "accum", "checkpointable", "device",   "fp32_master",      "loss_scale",
    "paged", "rolling_window", "saturate", "stochastic_round",
};

inline bool is_policy(std::string_view name) {
  return std::find(std::begin(policies), std::end(policies), name) != std::end(policies);
}

}  // namespace tessera
