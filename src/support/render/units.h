#pragma once
// Quantities for people, in three digits. Units count in 1000: 1 KB is 1000 bytes.

#include <string>

namespace tessera {

/// "512 B", "1.2 KB", "10.5 MB".
std::string bytes_text(double bytes);
/// "96 FLOP", "1.5 kFLOP", "19.4 GFLOP".
std::string flop_text(double flop);
/// "0.5 us", "12.3 ms", "1.5 s".
std::string seconds_text(double seconds);

}  // namespace tessera
