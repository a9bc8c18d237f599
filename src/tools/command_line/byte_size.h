#pragma once
// Options that are a number of bytes, or of other things.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace CLI {
class Option;
}

namespace tessera::command_line {

/// "1000", "500MB", "1.5 GiB": kB, MB, GB and TB count in 1000, KiB, MiB, GiB and TiB in 1024; letters may be small or
/// capital. Nothing where it is no such number, 0 or beyond 64 bits.
std::optional<uint64_t> read_byte_size(std::string_view text);

/// Has the option take such sizes.
void take_byte_size(CLI::Option& option);
/// Has the option take whole numbers of 64 bits that are no less than `least`.
void take_count(CLI::Option& option, uint64_t least);

}  // namespace tessera::command_line
