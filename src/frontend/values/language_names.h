#pragma once
// The names that every file has without an import, as the linker of names asks for them.

#include "frontend/binding/linker.h"

namespace tessera::frontend {

/// Those of "ops", such as `exp`, `f32` and `INF`, or of "tile"; no names of any other space.
const names::NameSet& language_names(std::string_view space);

/// The files of stdlib/ that are modules: "nn".
const names::NameSet& library_modules();

/// A program in this language.
class LanguageProgram : public names::Program {
 public:
  const names::NameSet& words(std::string_view space) override { return language_names(space); }
  const names::NameSet& libraries() override { return library_modules(); }
};

}  // namespace tessera::frontend
