#pragma once
// Kernels as a whole: their free dims, renaming of symbols, equality.

#include <map>
#include <string>
#include <vector>

#include "ir/core/module.h"

namespace tessera {

/// The symbols of a kernel's parameter types in order of first appearance, the results' first: M, N,
/// K for a product. This is the order in which a launch gives their values.
std::vector<std::string> free_dims(Op* kernel);
/// The names that parameters have in the kernel's text, "" for those without; null where none has one.
Attr parameter_names(Op* kernel);
/// The symbols that types of values and attributes in a kernel mention, each once.
std::vector<std::string> mentioned_dims(Op* kernel);
/// Names the free dims d0, d1, … and gives the old symbol of each new name.
std::map<std::string, Dim> canonicalize_dims(Op* kernel);
/// Erases inputs that the kernel does not use, but for those that alone tell a size which it mentions. Gives the
/// positions of those that stay.
std::vector<unsigned> drop_unused_inputs(Op* kernel);
/// A free name for a kernel that runs instead of `kernel` where it may: `kernel`.v1, …
Attr variant_symbol(Module& module, std::string_view kernel);
/// The names of kernels as `variants` of a launch; null for none.
Attr symbols_attr(Context& context, const std::vector<Op*>& kernels);
/// True if both do the same: equal but for symbol, locations and names of values.
bool same_kernel(Op* a, Op* b);

}  // namespace tessera
