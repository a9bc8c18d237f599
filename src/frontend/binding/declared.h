#pragma once
// The declarations of a file, or of a part of it, as its trees have them.

#include <vector>

#include "frontend/binding/names.h"

namespace tessera::names {

std::vector<Declared> list_declared(const SourceManager& sources, FileId file,
                                    std::span<const ast::Declaration> declarations);

}  // namespace tessera::names
