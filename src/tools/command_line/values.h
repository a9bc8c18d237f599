#pragma once
// What options take: numbers of bytes or of other things, words of a list, folders.

#include <cstdint>
#include <optional>
#include <string>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class Option;
}

namespace tessera::command_line {

/// "1000", "500MB", "1.5 GiB": kB, MB, GB and TB count in 1000, KiB, MiB, GiB and TiB in 1024; letters may be small or
/// capital. Nothing where it is no such number, 0 or beyond 64 bits.
std::optional<uint64_t> read_byte_size(std::string_view text);

/// Has the option take such sizes.
void take_byte_size(CLI::Option& option);
/// Has the option take whole numbers from `least` to `most`.
void take_count(CLI::Option& option, uint64_t least, uint64_t most = UINT64_MAX);
/// Has the option take numbers from `least` to `most`.
void take_number(CLI::Option& option, double least, double most);
/// Has the option take one of these words, which --help lists.
void take_one_of(CLI::Option& option, std::vector<std::string> words);
/// Has the option take folders that are there.
void take_folder(CLI::Option& option);
/// Has the option take paths of what is there, "file" or "folder"; `/dev/null` stands for nothing at all.
void take_existing(CLI::Option& option, std::string_view kind);
/// "; did you mean 'x'?" where a candidate is near, else "".
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);
/// "B, D and S".
std::string listed(const std::vector<std::string>& words);

}  // namespace tessera::command_line
