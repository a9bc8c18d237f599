#pragma once
// Kernels whose programs share the work of one result: each makes a part, along an axis that the anchor combines, and a
// second kernel makes the result of the parts.

#include <optional>

#include "passes/analysis/anchor_form.h"

namespace tessera {

struct PartsForm {
  AnchorForm parts;   ///< the kernel that makes parts, of the anchor's operands; its results have `count` in their dims
  AnchorForm joined;  ///< the kernel that makes the anchor's result of these
  Dim count = nullptr;   ///< a symbol for the number of parts
  std::string_view axis;  ///< the kernel's name of the axis that is shared
  Dim length = nullptr;   ///< its extent
  /// Rows that read keys together in the kernel of parts, where they read them for each head in the anchor's own; null
  /// where both do the same.
  Dim rows = nullptr;
};

/// How parts of the anchor are made; nothing for an anchor that has no kernels for it. Of a call the library says
/// whether it has (KernelLibrary::has_parts). `packed`: rows of attention that share keys are rows of one tile, for
/// which operands have to lie in memory so.
std::optional<PartsForm> parts_form(Op* anchor, const AnchorForm& form, bool packed);

}  // namespace tessera
