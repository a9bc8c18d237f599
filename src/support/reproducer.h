#pragma once
// Writes the files that reproduce a bug of ours, for its report.

#include <functional>
#include <string>
#include <string_view>

namespace tessera {

/// Writes a file <tool>-crash-XXXXXX<ending> that its user alone may read, in the user's folder for such files:
/// $XDG_STATE_HOME/tessera, else ~/.local/state/tessera, else the folder for temporary files. Gives its path; empty
/// where it cannot be written.
std::string write_crash_file(std::string_view tool, std::string_view ending, std::string_view text);

/// As long as it lives, an internal error of this thread first writes `text()` to a crash file of that tool; nothing
/// when the name is empty. Scopes nest.
class ReproducerScope {
 public:
  ReproducerScope(std::string tool, std::function<std::string()> text);
  ~ReproducerScope();
  ReproducerScope(const ReproducerScope&) = delete;
  ReproducerScope& operator=(const ReproducerScope&) = delete;

 private:
  static std::string write();

  std::string tool_;
  std::function<std::string()> text_;
  const ReproducerScope* outer_;
};

}  // namespace tessera
