#pragma once
// Another program, given a text and asked for one.

#include <functional>
#include <string>
#include <vector>

namespace tessera::lsp {

struct ChildResult {
  bool started = false;
  bool ended = false;  ///< false: it was ended, for time or because nobody waits
  int status = -1;
  std::string out;
  std::string errors;
};

/// Runs a program (found on PATH unless it has a '/') in a folder with `input` as its standard input,
/// until it ends, `seconds` have passed, its output exceeds 64 MB or `stop` says so.
ChildResult run_child(const std::vector<std::string>& command, const std::string& folder, const std::string& input,
                      int seconds, const std::function<bool()>& stop);

}  // namespace tessera::lsp
