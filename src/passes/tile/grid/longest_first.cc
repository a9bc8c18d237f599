// Lets the programs that run longest begin first (GPU).
//
// A multiprocessor takes the next program of the grid when one ends. Where the long ones come last, as those of the
// last rows of causal attention, the others wait for them at the end. Along such an axis programs are numbered from the
// last. Graham, "Bounds on Multiprocessing Timing Anomalies", 1969: with the longest first all is done at most a third
// later than in the best order.

#include "ir/tile/ops.h"
#include "passes/analysis/program_work.h"
#include "passes/pass.h"

namespace tessera {

namespace attr = tile::attr;

Status longest_first(Module& module, PassContext&) {
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(tile::OpKind::Kernel))) continue;
    std::vector<int64_t> axes;
    for (int64_t axis = 0; axis < int64_t(kernel->attr(attr::Kernel::grid).size()); ++axis) {
      if (work_along(kernel, axis) == Trend::Rising) axes.push_back(axis);
    }
    if (!axes.empty()) kernel->set(attr::Kernel::last_first, axes);
  }
  return success;
}

}  // namespace tessera
