#include "support/other_language.h"

#include <algorithm>
#include <cctype>

namespace tessera {

namespace {

constexpr std::string_view cuda_page = "docs/migration/cuda.md", triton_page = "docs/migration/triton.md";

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

/// Follows the texts of several lines through a file.
class Quotes {
 public:
  bool are_open() const { return !open_.empty(); }

  void pass(std::string_view line) {
    for (size_t at = 0; at < line.size();) {
      std::string_view rest = line.substr(at);
      if (are_open() ? rest.starts_with(open_) : rest[0] == '"' || rest[0] == '\'') {
        size_t length = are_open() ? open_.size() : rest.starts_with(thrice(rest[0])) ? 3 : 1;
        open_ = are_open() ? std::string_view() : rest.substr(0, length);
        at += length;
      } else {
        if (!are_open() && rest[0] == '#') break;
        at += rest[0] == '\\' ? 2 : 1;
      }
    }
    if (open_.size() == 1) open_ = {};  // a text of one line
  }

 private:
  static std::string_view thrice(char quote) { return quote == '"' ? "\"\"\"" : "\'\'\'"; }

  std::string_view open_;
};

/// `%if`, `%define`: what may lie in a branch that is not taken, only a compilation knows.
bool is_directive(std::string_view line) {
  return line.size() > 1 && line[0] == '%' && std::islower(static_cast<unsigned char>(line[1]));
}

}  // namespace

std::optional<OtherLanguage> find_other_language(std::string_view text) {
  Quotes quotes;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
    line.remove_prefix(indent);
    if (!quotes.are_open() && is_directive(line)) return std::nullopt;
    for (const Sign& sign : signs) {
      if (!quotes.are_open() && begins(line, sign)) {
        return OtherLanguage{sign.name, sign.page, uint32_t(at + indent), uint32_t(sign.text.size())};
      }
    }
    quotes.pass(line);
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace tessera
