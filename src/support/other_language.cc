#include "support/other_language.h"

#include <algorithm>
#include <cctype>

namespace tessera {

namespace {

constexpr std::string_view cuda_page = "docs/migration/cuda.md", triton_page = "docs/migration/triton.md",
                           torch_page = "docs/migration/pytorch.md", numpy_page = "docs/migration/numpy.md",
                           jax_page = "docs/migration/jax.md", language_page = "docs/language.md";
constexpr std::string_view c_source = "C or C++ source";

/// What a line begins with; `is_word` where a space and another word follow; and what it ends with.
struct Sign {
  std::string_view text;
  bool is_word;
  std::string_view name, page;
  std::string_view end = {};
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
    {"std::", false, c_source, cuda_page},
    {"using namespace", true, c_source, cuda_page},
    {"fn", true, "Rust source", language_page, "{"},
    {"func", true, "Go or Swift source", language_page, "{"},
    {"function", true, "JavaScript source", language_page, "{"},
    {"public class", true, "Java or C# source", language_page},
};

/// What a function of C begins with: `float f(float x) {`.
constexpr std::string_view c_words[] = {
    "void", "float", "double", "int", "char", "bool", "long", "short", "size_t", "unsigned", "signed", "static",
    "constexpr", "inline", "auto", "extern", "__half", "half", "int32_t", "int64_t", "uint32_t"};

/// Packages of Python. A file that imports one is Python where it has a definition or a statement of a script, and
/// nothing that only sources of Tessera have.
struct Package {
  std::string_view name, source, page;
};

constexpr Package packages[] = {
    {"torch", "PyTorch source", torch_page},       {"tensorflow", "TensorFlow source", torch_page},
    {"keras", "Keras source", torch_page},         {"flax", "JAX source", jax_page},
    {"jax", "JAX source", jax_page},             {"numpy", "Python source", numpy_page},
    {"lightning", "PyTorch source", torch_page},   {"pytorch_lightning", "PyTorch source", torch_page},
};

constexpr std::string_view of_python[] = {"class ", "def ", "async def ", "for ", "if ", "while ", "with ", "print("};
constexpr std::string_view of_tessera[] = {"Tensor[", "Param[", "KTile[", "KVCache[", "@kernel", "tile.", "tessera"};
constexpr std::string_view declarations[] = {"module ", "const ", "dim ", "param "};

std::string_view without_end(std::string_view line) {
  size_t last = line.find_last_not_of(" \t\r");
  return last == line.npos ? std::string_view() : line.substr(0, last + 1);
}

template <size_t N>
bool begins_with_any(std::string_view line, const std::string_view (&words)[N]) {
  return std::any_of(std::begin(words), std::end(words), [&](std::string_view word) { return line.starts_with(word); });
}

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Where a bracket follows a type and a name: `float f(`. No line of Tessera has two names side by side and a bracket
/// behind the second.
bool begins_c_function(std::string_view line) {
  size_t bracket = line.find('(');
  if (bracket == line.npos) return false;
  std::string_view head = without_end(line.substr(0, bracket));
  size_t space = head.find(' ');
  if (space == head.npos || !is_word_character(head.back())) return false;
  bool is_type = std::find(std::begin(c_words), std::end(c_words), head.substr(0, space)) != std::end(c_words);
  auto fits = [](char c) { return is_word_character(c) || c == ' ' || c == '*' || c == '&' || c == ':'; };
  return is_type && std::all_of(head.begin(), head.end(), fits);
}

bool begins(std::string_view line, const Sign& sign) {
  if (!line.starts_with(sign.text) || !without_end(line).ends_with(sign.end)) return false;
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

namespace {

/// Follows the lines of a file that may be Python.
class PythonFile {
 public:
  /// `line` is without its indentation.
  void pass(std::string_view line, size_t offset, bool is_indented) {
    for (std::string_view sign : of_tessera) is_ours_ = is_ours_ || line.find(sign) != line.npos;
    if (is_indented || is_ours_) return;
    is_ours_ = begins_with_any(line, declarations);
    has_definition_ = has_definition_ || begins_with_any(line, of_python);
    for (std::string_view word : {"import ", "from "}) {
      if (!found_ && line.starts_with(word)) find_package(line, word.size(), offset);
    }
  }

  std::optional<OtherLanguage> found() const { return has_definition_ && !is_ours_ ? found_ : std::nullopt; }

 private:
  void find_package(std::string_view line, size_t begin, size_t offset) {
    size_t end = begin;
    while (end < line.size() && is_word_character(line[end])) ++end;
    std::string_view name = line.substr(begin, end - begin);
    for (const Package& each : packages) {
      if (each.name == name) found_ = OtherLanguage{each.source, each.page, uint32_t(offset), uint32_t(end)};
    }
  }

  std::optional<OtherLanguage> found_;
  bool has_definition_ = false;
  bool is_ours_ = false;
};

}  // namespace

std::optional<OtherLanguage> find_other_language(std::string_view text) {
  Quotes quotes;
  PythonFile python;
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
    if (!quotes.are_open() && begins_c_function(line)) {
      return OtherLanguage{c_source, cuda_page, uint32_t(at + indent), uint32_t(line.find('('))};
    }
    if (!quotes.are_open()) python.pass(line, at + indent, indent > 0);
    quotes.pass(line);
    at = end + 1;
  }
  return python.found();
}

}  // namespace tessera
