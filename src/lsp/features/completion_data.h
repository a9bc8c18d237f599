#pragma once
// The data of a completion item that the client sends back to ask for its documentation.

#include <string>

#include "lsp/protocol/json.h"
#include "lsp/workspace/resolve.h"

namespace tessera::lsp {

/// Null for what there is nothing to say of.
Json data_of(const Symbol& symbol);
/// The same of an argument `name=` of a call.
Json data_of_argument(const Symbol& callee, const std::string& name);

}  // namespace tessera::lsp
