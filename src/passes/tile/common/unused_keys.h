#pragma once
// Keys of a schedule that contradict others of the same schedule, or need what the kernel does not have.

#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace tessera {

struct UnusedKey {
  std::string_view key;
  std::string why;             ///< what would have to hold
  std::string part = {};       ///< of its value, where the rest has an effect: "'load' of 'roles'"
  bool is_everywhere = false;  ///< no machine of the kind reads it
};

/// Warns of unused keys of the program's own kernels, once for all variants of a kernel.
class UnusedKeyReport {
 public:
  explicit UnusedKeyReport(PassContext& context) : context_(context) {}

  void tell(Op* kernel, const std::vector<UnusedKey>& keys);

 private:
  PassContext& context_;
  std::vector<Loc> told_;
};

}  // namespace tessera
