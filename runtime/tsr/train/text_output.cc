#include "runtime/tsr/train/text_output.h"

#include <algorithm>

namespace tessera::tool::train {

namespace {

/// The bytes of a character that begins with this one; 1 for bytes that begin none.
size_t character_length(unsigned char lead) {
  if (lead >= 0xf0 && lead < 0xf8) return 4;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xc0 && lead < 0xe0 ? 2 : 1;
}

/// How many bytes at the end begin a character that is not whole.
size_t broken_end(std::string_view text) {
  for (size_t length = 1; length <= 3 && length <= text.size(); ++length) {
    auto byte = static_cast<unsigned char>(text[text.size() - length]);
    if ((byte & 0xc0) == 0x80) continue;
    return character_length(byte) > length ? length : 0;
  }
  return 0;
}

}  // namespace

std::string TextOutput::add(std::string_view bytes, bool& is_ended) {
  held_ += bytes;
  is_ended = false;
  size_t end = std::string::npos;
  for (const std::string& stop : stops_) end = std::min(end, held_.find(stop));
  is_ended = end != std::string::npos;
  if (is_ended) {
    std::string text = held_.substr(0, end);
    held_.clear();
    return text;
  }
  size_t kept = undecided();
  std::string text = held_.substr(0, held_.size() - kept);
  held_.erase(0, text.size());
  return text;
}

size_t TextOutput::undecided() const {
  size_t kept = broken_end(held_);
  for (const std::string& stop : stops_) {
    for (size_t length = std::min(stop.size() - 1, held_.size()); length > kept; --length) {
      if (held_.ends_with(std::string_view(stop).substr(0, length))) kept = length;
    }
  }
  return kept;
}

}  // namespace tessera::tool::train
