#include "codegen/ptx/liveness.h"

namespace tessera::codegen::ptx {

Liveness::Liveness(const Code& code) {
  size_t words = code.words.size();
  live_in_.assign(code.blocks.size(), BitSet(words));
  live_out_.assign(code.blocks.size(), BitSet(words));
  std::vector<BitSet> defined(code.blocks.size(), BitSet(words));
  for (size_t b = 0; b < code.blocks.size(); ++b) {
    for (const Instruction& i : code.blocks[b].instructions) {
      for (uint32_t use : i.uses) {
        if (!defined[b].has(use)) live_in_[b].add(use);
      }
      for (uint32_t def : i.defs) defined[b].add(def);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = code.blocks.size(); b-- > 0;) {
      for (uint32_t s : code.blocks[b].successors) changed = live_out_[b].merge(live_in_[s]) || changed;
      changed = live_in_[b].merge(live_out_[b], &defined[b]) || changed;
    }
  }
}

}  // namespace tessera::codegen::ptx
