#pragma once
// The symbols of sizes that parts of IR mention.

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "ir/core/module.h"
#include "ir/text/verifier.h"

namespace tessera {

/// Calls `visit` for each symbol in a type's dims, strides and offset, possibly repeatedly.
void for_each_symbol(Type type, const std::function<void(std::string_view)>& visit);
/// The same of an attribute, however deep.
void for_each_symbol(Attr attribute, const std::function<void(std::string_view)>& visit);
/// The same of an op's attributes and the types of its results.
void for_each_symbol(Op* op, const std::function<void(std::string_view)>& visit);

/// Reports the first symbol that a kernel or an op in it mentions and that no type of its parameters has: a kernel has
/// dims of its own, which a launch binds.
void verify_free_dims(Op* kernel, OpVerifier& verifier);

}  // namespace tessera
