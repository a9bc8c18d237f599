#pragma once
// How many threads kernels use on a CPU.

#include <optional>
#include <string_view>

namespace tessera::runtime {

inline constexpr int most_threads = 1024;

/// The number of threads that a text asks for, as TSR_THREADS has it; nothing where it is none from 1 to most_threads.
std::optional<int> parse_threads(std::string_view text);
/// Threads asked for by TSR_THREADS, else the processors that this process may use.
int default_threads();
/// Those that this process may use.
int available_processors();

}  // namespace tessera::runtime
