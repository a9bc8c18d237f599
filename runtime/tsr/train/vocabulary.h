#pragma once
// Tokens of text: bytes, and frequent pairs of tokens (byte-pair encoding: Gage, 1994; Sennrich
// et al., 2016). Pairs are found and applied within pieces: runs of letters, of digits, of spaces or of other
// characters, with one space before them. So any bytes have tokens, and these have the same bytes again.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tessera::tool::train {

/// Where the piece that begins at a place ends.
size_t piece_end(std::string_view text, size_t begin);

/// Tokens 0 to 255 are the bytes; each that follows is a pair of tokens before it.
class Vocabulary {
 public:
  using Token = uint32_t;
  static constexpr size_t most_tokens = 65536;

  Vocabulary();
  /// Finds up to `size` tokens for texts: each time the pair that is there most often, of equal ones the first.
  static Vocabulary learn(const std::vector<std::string_view>& texts, size_t size);
  /// Functions return 0, or the exit code after saying what is wrong.
  static int read(const std::string& path, Vocabulary& vocabulary);
  std::string to_json() const;

  size_t size() const { return bytes_.size(); }
  void encode(std::string_view text, std::vector<Token>& out);
  const std::string& bytes_of(Token token) const { return bytes_[token]; }

 private:
  /// Appends a token; false where the pair is none of tokens that there are, or is there already.
  bool add(Token first, Token second);
  void encode_piece(std::string_view piece, std::vector<Token>& out) const;

  std::vector<std::pair<Token, Token>> pairs_;  ///< of the tokens from 256 on
  std::vector<std::string> bytes_;
  std::unordered_map<uint64_t, Token> token_of_;
  std::unordered_map<std::string, std::vector<Token>> known_pieces_;
};

}  // namespace tessera::tool::train
