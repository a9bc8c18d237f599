#pragma once
// The lowering of one file for readers: as JSON, or as one page that needs no other files.
//
// docs/inspector.md has the schema. The page is a template (page/) with the same JSON in it,
// compressed. Text of the user is only in that JSON, so nothing in a source can become markup.

#include <string>
#include <vector>

#include "support/result.h"
#include "tools/driver/compile.h"
#include "tools/inspect/trace.h"

namespace tessera::inspect {

/// Version of the schema; it changes when something is taken away or means something else.
inline constexpr int inspection_version = 1;

struct Subject {
  FileId input = 0;  ///< the source, which is shown first
  std::vector<driver::StageTime> times;
  std::string report;  ///< of the bundle, as JSON
};

std::string json_of(Trace& trace, const Subject& subject);
std::string page_of(const std::string& json);

}  // namespace tessera::inspect
