#pragma once
// A preprocessor line that has been read and not yet executed.

#include <string_view>
#include <vector>

#include "frontend/syntax/token.h"

namespace tessera {

struct Directive {
  FileId file = 0;
  Loc loc;  ///< the '%' and the name
  Loc end;  ///< the end of the logical line
  /// The word right after the '%'; empty when there is none.
  std::string_view name;
  /// The tokens after the '%', trivia left out; the first is the name.
  std::vector<RawToken> tokens;
  /// A string does not end or the brackets do not match, which is reported elsewhere.
  bool broken = false;
};

}  // namespace tessera
