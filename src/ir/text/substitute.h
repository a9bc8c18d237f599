#pragma once
// Other dims in the place of symbols.

#include <map>
#include <string>

#include "ir/core/module.h"

namespace tessera {

/// Replaces symbols in every type and attribute of an op and of those inside, all at once.
void substitute_dims(Op* root, const std::map<std::string, Dim, std::less<>>& replacements);

}  // namespace tessera
