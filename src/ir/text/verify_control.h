#pragma once
// The rules that loops and branches on whole tensors share at every level that has them. `inits` is the number of the
// operand slot of the values that a loop carries, a region is named by its number, `yield` is the level's op that ends
// a region. Each returns true, or reports the rule that is broken.

#include "ir/text/verifier.h"

namespace tessera {

/// A loop whose region takes the loop-carried values and yields them.
bool expect_loop(OpVerifier& verifier, Op* op, unsigned inits, unsigned body, const OpInfo* yield);
/// The same with a region that says whether the next iteration begins.
bool expect_while(OpVerifier& verifier, Op* op, unsigned inits, unsigned condition, unsigned body, const OpInfo* yield);
/// What chooses between two regions: a bool, or facts of sizes.
struct BranchChoice {
  Value* condition = nullptr;
  bool by_sizes = false;
};
/// Two regions that take values of those types and yield the op's results, and one thing that chooses.
bool expect_branches(OpVerifier& verifier, Op* op, BranchChoice choice, unsigned then, unsigned otherwise,
                     const OpInfo* yield, std::span<const Type> arguments = {});
/// An operand that is a bool of rank 0.
bool expect_condition(OpVerifier& verifier, Value* condition);

}  // namespace tessera
