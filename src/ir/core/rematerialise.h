#pragma once
// Rematerialises values: repeats the arithmetic that computes them where they are not known yet.

#include <map>

#include "ir/core/op.h"

namespace tessera {

/// `value`, or a copy of the pure ops that make it, before `user`; null where it depends on something else that does
/// not dominate `user`, such as a loop's index. `copies` has the copies made for `user` so far.
Value* available_before(Value* value, Op* user, std::map<Value*, Value*>& copies);

}  // namespace tessera
