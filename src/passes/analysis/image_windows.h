#pragma once
// Matmuls of windows of an image, padded or not, with a matrix: what convolutions are in a graph.

#include <optional>

#include "passes/analysis/anchor_form.h"

namespace tessera {

struct ImageWindows {
  Value* image;     ///< before it is padded: [batch…, axes…, channels]
  AnchorForm form;  ///< takes `image` in place of the matmul's first operand
};

/// A matmul whose first operand is windows of an image, one a row, as a kernel that reads these where they are: also
/// windows that reach outside, where a concat puts zeros. Nothing where a copy engine cannot read them so.
std::optional<ImageWindows> image_windows_of(Op* matmul);

}  // namespace tessera
