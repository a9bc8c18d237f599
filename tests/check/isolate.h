#pragma once
// Work in a process of its own, so that a crash or a hang is a result like any other.

#include <functional>
#include <string>

namespace tessera::check {

/// How a child ended.
enum class Ending : uint8_t { Done, Crashed, TimedOut };

/// Runs `work` in a forked process. Each line that it sends is given to `receive` here. `seconds` is the longest
/// silence between two lines. The caller has no threads.
Ending run_isolated(const std::function<void(const std::function<void(const std::string&)>& send)>& work,
                    const std::function<void(const std::string&)>& receive, int seconds);

}  // namespace tessera::check
