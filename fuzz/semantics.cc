// Semantic analysis on programs that are nearly right. Random bytes rarely get past the parser;
// here the first two bytes choose a well-typed program, and each three after them change one of its
// words: replace it by another of the program or of the language, double it, delete it, or swap it
// with its neighbour.

#include <cctype>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "check/generate.h"
#include "frontend_check.h"

namespace {

constexpr const char* vocabulary[] = {
    "Tensor",   "f32",     "bf16",    "i32",     "u64",       "bool",     "f8e4m3",  "i4",       "0",        "1",
    "-1",       "2.5",     "1e400",   "9223372036854775807",  "\"text\"", "None",    "True",     "INF",      "NAN",
    "M",        "N",       "M*N",     "M // 0",  "N - 100",   "x0",       "f",       "sum",      "softmax",  "reshape",
    "concat",   "where",   "lambda",  "range",   "for",       "if",       "else",    "while",    "return",   "def",
    "module",   "param",   "const",   "dim",     "import",    "tile",     "tile.load", "tile.range", "t.m",  "kernel",
    "Schedule", "@jit",    "@pure",   "!{rng}",  "->",        "[",        "]",       "(",        ")",        ":",
    ",",        "=",       "==",      "**",      "//",        "...",      ".T",      ".shape",   ".dtype",   "and",
    "not",      "normal",  "cast",    "einsum",  "embedding", "arange",   "max",     "(1, 2)",   "[1, 2]",   "self"};

/// Words, numbers, single signs, and what is between them.
std::vector<std::string> words_of(const std::string& text) {
  auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::vector<std::string> words;
  for (char c : text) {
    bool joins = !words.empty() && is_word(c) && is_word(words.back().back());
    joins = joins || (!words.empty() && c == ' ' && words.back().back() == ' ');
    if (joins) {
      words.back() += c;
    } else {
      words.emplace_back(1, c);
    }
  }
  return words;
}

void change(std::vector<std::string>& words, uint8_t how, uint8_t where, uint8_t with) {
  size_t at = (size_t(where) * 256 + with) % words.size();
  switch (how % 6) {
    case 0: words[at] = words[size_t(with) * 7 % words.size()]; return;
    case 1: words[at] = vocabulary[with % std::size(vocabulary)]; return;
    case 2: words.insert(words.begin() + std::ptrdiff_t(at), words[at]); return;
    case 3: words[at].clear(); return;
    case 4: std::swap(words[at], words[(at + 1) % words.size()]); return;
    default: words.insert(words.begin() + std::ptrdiff_t(at), vocabulary[with % std::size(vocabulary)]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera::check;
  if (size < 2) return 0;
  Program program = random_program(uint64_t(data[0]) * 256 + data[1]);
  std::string text = program.kernel ? kernel_source_of(program, 0) : source_of(program);
  std::vector<std::string> words = words_of(text);
  for (size_t i = 2; i + 2 < size && i < 60; i += 3) change(words, data[i], data[i + 1], data[i + 2]);
  std::string changed;
  for (const std::string& word : words) changed += word;
  check_frontend(changed);
  return 0;
}
