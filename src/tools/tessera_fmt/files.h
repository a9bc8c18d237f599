#pragma once
// The .tsr files that a command line names.

#include <string>
#include <vector>

namespace tessera::tools {

/// Replaces folders by the .tsr files below them, in order of their names; hidden folders, links to
/// folders and what lies in `excluded` are left out. Other names stay as they are. A folder that
/// cannot be read is added to `problems`, with why; what leaves nothing out, to `unused`.
std::vector<std::string> find_sources(const std::vector<std::string>& names,
                                      const std::vector<std::string>& excluded,
                                      std::vector<std::string>& problems, std::vector<std::string>& unused);

}  // namespace tessera::tools
