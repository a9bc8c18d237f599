#pragma once
// Runs another program: it gets a text and returns one.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tessera::lsp {

enum class ChildEnd { NotStarted, ByItself, Stopped, OutOfTime, TooMuchOutput };

/// The most bytes that a program may write.
inline constexpr size_t max_child_output = size_t(64) << 20;

struct ChildResult {
  ChildEnd end = ChildEnd::NotStarted;
  int status = -1;  ///< where it ended by itself; -1 by a signal
  std::string out;
  std::string errors;
};

/// Runs a program (found on PATH unless it has a '/') in a folder with `input` as its standard input,
/// until it ends, `seconds` have passed, its output exceeds max_child_output or `stop` says so.
ChildResult run_child(const std::vector<std::string>& command, const std::string& folder, const std::string& input,
                      int seconds, const std::function<bool()>& stop);

}  // namespace tessera::lsp
