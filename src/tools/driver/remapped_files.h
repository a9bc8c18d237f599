#pragma once
// Texts that replace files: the unsaved text of an editor counts where other files include or
// import it.

#include <functional>
#include <string>
#include <vector>

namespace tessera::driver {

/// The error in "FILE=TEXT"; empty when there is none.
std::string refuse_remap(const std::string& spelt);
/// Reads TEXT in the place of FILE for each "FILE=TEXT", and other files as they are. Paths that name one file mean it,
/// however they are written; FILE need not be there. TEXT ends the option: its name has no '='. Empty where there are
/// none.
std::function<bool(const std::string& path, std::string& text, std::string& error)> remapped_reader(
    const std::vector<std::string>& remapped);

}  // namespace tessera::driver
