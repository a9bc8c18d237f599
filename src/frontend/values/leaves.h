#pragma once
// The tensors in a value: itself, those in a tuple, a list or a tree, those in a state object.

#include <vector>

#include "frontend/values/value.h"

namespace tessera::frontend {

struct Leaf : IrValue {
  bool held;  ///< by an object
};

/// In order.
std::vector<Leaf> leaves_of(const Datum& value);
/// The value with other tensors in the places of its own, from `leaves[next]` on; leaves `next` behind the last.
Datum with_leaves(const Datum& value, const std::vector<Value*>& leaves, size_t& next);
/// What in a value may hold tensors that are none of its leaves: a dict, a function, what a transform made of one; null
/// where there is none.
const Datum* hiding_tensors(const Datum& value);
/// Whether two values differ in nothing but their tensors.
bool same_form(const Datum& a, const Datum& b);

}  // namespace tessera::frontend
