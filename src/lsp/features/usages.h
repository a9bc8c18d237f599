#pragma once
// All names that mean one thing.

#include <vector>

#include "lsp/features/context.h"

namespace tessera::lsp {

struct Usage {
  NamePlace place;
  bool writes;  ///< gives the name a meaning, or a value

  FileModel& file() const { return *place.file; }
  Range range() const { return place.range(); }
};

/// In one file.
std::vector<Usage> usages_in(Context& context, FileModel& file, const Symbol& symbol);
/// In all files of the workspace that can see it; a name of a function only where it is.
std::vector<Usage> all_usages(Context& context, const Symbol& symbol, FileModel& asked_in);

}  // namespace tessera::lsp
