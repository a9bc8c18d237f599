#pragma once
// The declarations of a file, or of a part of it, as its trees have them, and what a module has.

#include <vector>

#include "frontend/binding/names.h"

namespace tessera::names {

std::vector<Declared> list_declared(const SourceManager& sources, FileId file,
                                    std::span<const ast::Declaration> declarations);
/// The same with those that it includes and those that macros make; ranges are in the file that each is of.
std::vector<Declared> list_all_declared(const SourceManager& sources, std::span<const ast::Declaration> declarations);

/// The name that a statement of a module gives a meaning; empty when it gives none.
ast::Identifier member_declared_by(const ast::Stmt& stmt);
/// Where a module defines a name: a field, a constant, a method or a parameter; nowhere when it does not.
Loc place_of_member(const ast::Module& module, std::string_view name);

}  // namespace tessera::names
