#pragma once
// The symbols of the surrounding scopes that a kernel can use. A kernel is built long after its
// call, in another module and with sizes of its own. So the call lists the symbols that the
// kernel's source, and the functions passed to it, can reach.

#include <set>
#include <span>
#include <string>
#include <vector>

#include "frontend/evaluate/session.h"

namespace tessera::frontend {

struct Captures {
  std::set<std::string> symbols;  ///< of sizes
  std::vector<Binding*> values;   ///< names of values of the IR
  bool prints = false;            ///< `print` is named
};

/// The values that the text of functions leads to, through functions, instances and files that it
/// names.
Captures captures_of(const Session& session, std::span<const Function* const> functions);

}  // namespace tessera::frontend
