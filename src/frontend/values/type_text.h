#pragma once
// Types of IR as messages show them.

#include <string>

#include "ir/core/type.h"

namespace tessera::frontend {

/// "tensor [B, 8] of f32", "tile [16, 16] of bf16", "i64": the extents in the order and the brackets that a source has
/// them in.
std::string type_text(Type type);
/// The same with its article: "a tensor [B, 8] of f32", "an i64".
std::string with_article(Type type);

}  // namespace tessera::frontend
