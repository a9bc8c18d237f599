#pragma once
// What a kernel sees of the scopes around it. A kernel is built long after the call of it, in another module and with
// sizes of its own; so the call says which symbols its source, and functions that it is given, can reach.

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

/// What the text of functions leads to, through functions, instances and files that it names. Names are looked up as
/// if no local name shadowed them: some captures may be too many.
Captures captures_of(const Session& session, std::span<const Function* const> functions);

}  // namespace tessera::frontend
