#include "support/other_language.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace tessera {

namespace {

constexpr std::string_view cuda_page = "docs/migration/cuda.md", triton_page = "docs/migration/triton.md";

constexpr std::string_view quotes = "\"\"\"";

/// What a line begins with; `is_word` where a space and another word follow.
struct Sign {
  std::string_view text;
  bool is_word;
  std::string_view name, page;
};

constexpr Sign signs[] = {
    {"__global__", true, "CUDA source", cuda_page},
    {"__device__", true, "CUDA source", cuda_page},
    {"__host__", true, "CUDA source", cuda_page},
    {"__shared__", true, "CUDA source", cuda_page},
    {"#include <", false, "CUDA or C++ source", cuda_page},
    {"extern \"C\"", true, "CUDA or C++ source", cuda_page},
    {"template <", false, "CUDA or C++ source", cuda_page},
    {"template<", false, "CUDA or C++ source", cuda_page},
    {"@triton.", false, "Triton source", triton_page},
    {"import triton.language", false, "Triton source", triton_page},
    {"from triton.language", false, "Triton source", triton_page},
};

bool begins(std::string_view line, const Sign& sign) {
  if (!line.starts_with(sign.text)) return false;
  if (!sign.is_word) return true;
  std::string_view rest = line.substr(sign.text.size());
  return rest.size() > 1 && rest[0] == ' ' && rest[1] != '=';
}

/// How many times a line opens or closes a text of several lines.
size_t count_quotes(std::string_view line) {
  size_t count = 0;
  for (size_t at = line.find(quotes); at != line.npos; at = line.find(quotes, at + quotes.size())) ++count;
  return count;
}

}  // namespace

std::optional<OtherLanguage> find_other_language(std::string_view text) {
  bool is_quoted = false;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
    line.remove_prefix(indent);
    for (const Sign& sign : signs) {
      if (!is_quoted && begins(line, sign)) {
        return OtherLanguage{sign.name, sign.page, uint32_t(at + indent), uint32_t(sign.text.size())};
      }
    }
    is_quoted ^= count_quotes(line) % 2 == 1;
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace tessera
