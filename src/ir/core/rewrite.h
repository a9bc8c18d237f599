#pragma once
// Rewrites ops by patterns until none applies.
//
// A pattern is a plain function that looks at one op and either leaves everything as it is and
// gives false, or changes the IR through the Rewriter and gives true. The driver keeps a worklist:
// at first all ops in order, then whatever a rewrite touched (what was built, what uses the
// replacement, what lost a use). Ops without effects and without uses are dropped as the driver
// goes, so that patterns that ask for a single use see the truth. Each pattern must bring the IR
// nearer to its canonical form; two that undo each other are a bug, which a limit on the number of
// rewrites reports.

#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ir/core/builder.h"

namespace tessera {

/// What patterns change the IR with. New ops go right before the op that is looked at and get its
/// location.
class Rewriter : public Builder {
 public:
  explicit Rewriter(Module& module) : Builder(module) {}

  /// Replaces the one result of `op` and erases `op`. The types may differ in policies only.
  void replace(Op* op, Value* with);
  /// Says that operands or attributes of `op` were changed in place.
  void changed(Op* op);
  /// Changes an operand; what defined it may lose its last use.
  void set_operand(Op* op, unsigned position, Value* value);

 private:
  friend class RewriteDriver;
  void push(Op* op);
  void push_operands(Op* op);
  void erase(Op* op);

  std::vector<Op*> worklist_;
  std::unordered_set<Op*> waiting_;  ///< the ops in the worklist that are not erased
};

struct Pattern {
  std::string_view name;
  bool (*apply)(Op* op, Rewriter& rewriter);
};

/// Sets the observer of the patterns applied on this thread, null for none; returns the one before.
/// For tests that count them.
using PatternObserver = void (*)(const Pattern& pattern);
PatternObserver observe_patterns(PatternObserver observer);

/// Applies patterns to all ops inside `root`; for each op the first in order that applies. True if
/// anything changed.
bool rewrite(Op* root, std::span<const Pattern> patterns);

}  // namespace tessera
