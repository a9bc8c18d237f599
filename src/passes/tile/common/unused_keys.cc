#include "passes/tile/common/unused_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/core/kernel_size.h"
#include "ir/tile/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera {

void UnusedKeyReport::tell(Op* kernel, const std::vector<UnusedKey>& keys) {
  if (!kernel->attr(tile::attr::Kernel::own) || std::ranges::find(told_, kernel->loc()) != told_.end()) return;
  told_.push_back(kernel->loc());
  for (const UnusedKey& key : keys) {
    context_.diagnostics
        .report(diag::schedule_no_effect, kernel->loc(), fmt::format("'{}'", key.name), "the schedule",
                kernel_name(kernel), fmt::format("'{}'", context_.machine->name))
        .help(key.why);
  }
}

}  // namespace tessera
