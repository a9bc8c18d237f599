#include "support/percent.h"

#include <fmt/format.h>

namespace tessera {

std::string percent_encoded(std::string_view path) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-~";
  std::string text;
  for (char c : path) text += plain.find(c) != plain.npos ? std::string(1, c) : fmt::format("%{:02X}", uint8_t(c));
  return text;
}

}  // namespace tessera
