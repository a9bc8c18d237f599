#pragma once
// Text that is written while it is made: whole characters, and nothing of a text that ends it.

#include <string>
#include <string_view>
#include <vector>

namespace tessera::tool::train {

class TextOutput {
 public:
  explicit TextOutput(std::vector<std::string> stops) : stops_(std::move(stops)) {}
  /// Adds bytes to the text, and gives those that can be written now. `is_ended` tells that one of the stops has come;
  /// it is not part of the text.
  std::string add(std::string_view bytes, bool& is_ended);
  /// What is still held back.
  std::string rest() { return std::move(held_); }

 private:
  /// How many of the bytes at the end may be the beginning of a stop, or of a character.
  size_t undecided() const;

  std::vector<std::string> stops_;
  std::string held_;
};

}  // namespace tessera::tool::train
