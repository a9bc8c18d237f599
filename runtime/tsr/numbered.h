#pragma once
// Layers of a model have names that differ by a number. A list of all of them is too long to read.

#include <string>
#include <vector>

namespace tessera::tool {

/// A text about something with a dotted name; the name may stand anywhere in the text.
struct Named {
  std::string name;
  std::string text;
};

/// The texts, with one such as "blocks.{0-11}.w: f32[8]" in the place of the first for names that are the same but for
/// their first number between dots, where the texts are the same otherwise and the numbers follow one another.
std::vector<std::string> fold_numbered(const std::vector<Named>& items);

}  // namespace tessera::tool
