#pragma once
// Texts that replace files: the unsaved text of an editor counts where other files include or
// import it.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace tessera::driver {

/// The error in "FILE=TEXT"; empty when there is none.
std::string refuse_remap(const std::string& spelt);
/// Reads TEXT in the place of FILE for each "FILE=TEXT", and other files as they are. Paths that name one file mean it,
/// however they are written; FILE need not be there. TEXT ends the option: its name has no '='.
class RemappedFiles {
 public:
  using Reader = std::function<bool(const std::string& path, std::string& text, std::string& error)>;
  explicit RemappedFiles(const std::vector<std::string>& remapped);

  /// Empty where nothing is replaced.
  Reader reader() const;
  /// Of files that no reader has been asked for.
  void warn_of_unused(DiagnosticEngine& diagnostics) const;

 private:
  struct File {
    std::string name;  ///< as it was given
    std::string text;
    bool is_read = false;
  };
  std::shared_ptr<std::map<std::string, File>> texts_ = std::make_shared<std::map<std::string, File>>();
};

}  // namespace tessera::driver
