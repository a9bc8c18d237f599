#include "passes/tile/common/unused_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/core/kernel_size.h"
#include "ir/schedule/schedule_keys.h"
#include "ir/tile/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera {

void UnusedKeyReport::tell(Op* kernel, const std::vector<UnusedKey>& keys) {
  if (!kernel->attr(tile::attr::Kernel::own) || std::ranges::find(told_, kernel->loc()) != told_.end()) return;
  told_.push_back(kernel->loc());
  std::string machine = fmt::format("'{}'", context_.machine->name);
  std::string_view kind = context_.machine->is_gpu() ? "any GPU" : "any CPU";
  for (const UnusedKey& key : keys) {
    context_.diagnostics
        .report(diag::schedule_no_effect, schedule::place_of_key(kernel, key.key),
                key.part.empty() ? fmt::format("'{}'", key.key) : key.part, "the schedule", kernel_name(kernel),
                key.is_everywhere ? kind : std::string_view(machine))
        .help(key.why);
  }
}

}  // namespace tessera
