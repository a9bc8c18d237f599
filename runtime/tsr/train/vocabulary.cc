#include "runtime/tsr/train/vocabulary.h"

#include <algorithm>
#include <queue>
#include <set>

#include "runtime/files/json.h"
#include "runtime/files/text.h"
#include "runtime/tsr/command.h"
#include "support/diagnostic_rows.h"
#include "support/file.h"

namespace tessera::tool::train {

namespace {

using format::cat;
using Token = Vocabulary::Token;

constexpr size_t most_piece_bytes = 256;
constexpr size_t most_token_bytes = 1024;
constexpr size_t most_known_pieces = 1'000'000;
constexpr std::string_view format_name = "byte pairs 1";

enum class Kind : uint8_t { Letter, Digit, Space, Other };

Kind kind_of(char c) {
  if (c == ' ' || (c >= '\t' && c <= '\r')) return Kind::Space;
  if (c >= '0' && c <= '9') return Kind::Digit;
  bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
  return is_letter ? Kind::Letter : Kind::Other;
}

uint64_t key_of(Token first, Token second) { return uint64_t(first) << 32 | second; }

/// Replaces a pair by a token wherever it is, from the left.
void merge(std::vector<Token>& tokens, Token first, Token second, Token by) {
  size_t kept = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    bool is_pair = i + 1 < tokens.size() && tokens[i] == first && tokens[i + 1] == second;
    tokens[kept++] = is_pair ? by : tokens[i];
    i += is_pair;
  }
  tokens.resize(kept);
}

/// The pieces of texts, each once, and which pairs they have.
class Counts {
 public:
  explicit Counts(const std::vector<std::string_view>& texts) {
    std::unordered_map<std::string_view, int64_t> counts;
    for (std::string_view text : texts) {
      for (size_t at = 0, end = 0; at < text.size(); at = end) {
        end = piece_end(text, at);
        ++counts[text.substr(at, end - at)];
      }
    }
    for (const auto& [piece, count] : counts) {
      words_.push_back({{}, count});
      for (char c : piece) words_.back().tokens.push_back(static_cast<unsigned char>(c));
      add_pairs(words_.size() - 1);
    }
    for (const auto& [key, pair] : pairs_) queue_.push({pair.count, key});
  }

  /// The pair that is there most often, of equal ones that with the lowest tokens; false when none is there twice.
  bool most_frequent(uint64_t& key) {
    while (!queue_.empty()) {
      auto [count, top] = queue_.top();
      queue_.pop();
      if (count < 2) return false;
      if (pairs_[top].count != count) continue;  // it has changed since, and stands in the queue again
      key = top;
      return true;
    }
    return false;
  }

  void replace(uint64_t key, Token by) {
    std::set<size_t> words = std::move(pairs_[key].words);
    std::set<uint64_t> changed;
    for (size_t word : words) {
      change_counts(word, -words_[word].count, changed);
      merge(words_[word].tokens, Token(key >> 32), Token(key), by);
      change_counts(word, words_[word].count, changed);
      add_places(word);
    }
    pairs_.erase(key);
    changed.erase(key);
    for (uint64_t each : changed) queue_.push({pairs_[each].count, each});
  }

 private:
  struct Word {
    std::vector<Token> tokens;
    int64_t count;
  };
  struct Pair {
    int64_t count = 0;
    std::set<size_t> words;  ///< that have it, or had it
  };
  struct Candidate {
    int64_t count;
    uint64_t key;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : key > other.key;
    }
  };

  void add_pairs(size_t word) {
    std::set<uint64_t> ignored;
    change_counts(word, words_[word].count, ignored);
    add_places(word);
  }
  void change_counts(size_t word, int64_t by, std::set<uint64_t>& changed) {
    const std::vector<Token>& tokens = words_[word].tokens;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      uint64_t key = key_of(tokens[i], tokens[i + 1]);
      pairs_[key].count += by;
      changed.insert(key);
    }
  }
  void add_places(size_t word) {
    const std::vector<Token>& tokens = words_[word].tokens;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) pairs_[key_of(tokens[i], tokens[i + 1])].words.insert(word);
  }

  std::vector<Word> words_;
  std::unordered_map<uint64_t, Pair> pairs_;
  std::priority_queue<Candidate> queue_;
};

}  // namespace

size_t piece_end(std::string_view text, size_t begin) {
  size_t at = begin;
  bool leads = text[at] == ' ' && at + 1 < text.size() && kind_of(text[at + 1]) != Kind::Space;
  at += leads;
  Kind kind = kind_of(text[at]);
  size_t end = at + 1, limit = std::min(text.size(), begin + most_piece_bytes);
  while (end < limit && kind_of(text[end]) == kind) ++end;
  bool leads_next = kind == Kind::Space && end < text.size() && end - begin > 1 && text[end - 1] == ' ' && end < limit;
  return leads_next ? end - 1 : end;
}

Vocabulary::Vocabulary() {
  for (int byte = 0; byte < 256; ++byte) bytes_.emplace_back(1, char(byte));
}

bool Vocabulary::add(Token first, Token second) {
  if (first >= size() || second >= size() || size() >= most_tokens) return false;
  std::string bytes = bytes_[first] + bytes_[second];
  if (bytes.size() > most_token_bytes) return false;
  if (!token_of_.emplace(key_of(first, second), Token(size())).second) return false;
  pairs_.emplace_back(first, second);
  bytes_.push_back(std::move(bytes));
  return true;
}

Vocabulary Vocabulary::learn(const std::vector<std::string_view>& texts, size_t size) {
  Vocabulary vocabulary;
  Counts counts(texts);
  uint64_t key = 0;
  while (vocabulary.size() < size && counts.most_frequent(key)) {
    auto token = Token(vocabulary.size());
    if (vocabulary.add(Token(key >> 32), Token(key))) counts.replace(key, token);
  }
  return vocabulary;
}

int Vocabulary::read(const std::string& path, Vocabulary& vocabulary) {
  std::string text, problem;
  if (!read_file(path, text, problem)) return fail_read(path, problem);
  auto json = format::parse_json(text);
  auto refuse = [&](std::string_view why) { return fail(diag::bad_tensor_file, cat(path, ": ", why)); };
  if (!json) return refuse(json.error().text);
  const auto* object = json->as<format::Json::Object>();
  auto member = [&](const char* key) -> const format::Json* {
    auto found = object ? object->find(std::string_view(key)) : format::Json::Object::const_iterator();
    return object && found != object->end() ? &found->second : nullptr;
  };
  const format::Json* name = member("format");
  bool is_ours = name && name->as<std::string>() && *name->as<std::string>() == format_name;
  const auto* pairs = is_ours && member("pairs") ? member("pairs")->as<format::Json::Array>() : nullptr;
  if (!pairs) return refuse("it is not a vocabulary that 'tsr tokenize --learn' wrote");
  vocabulary = Vocabulary();
  for (const format::Json& pair : *pairs) {
    const auto* both = pair.as<format::Json::Array>();
    auto token = [&](size_t i) { return both && both->size() == 2 ? (*both)[i].as<int64_t>() : nullptr; };
    bool fits = token(0) && token(1) && *token(0) >= 0 && *token(1) >= 0 && *token(0) < int64_t(vocabulary.size()) &&
                *token(1) < int64_t(vocabulary.size());
    if (!fits || !vocabulary.add(Token(*token(0)), Token(*token(1)))) {
      return refuse(cat("token ", vocabulary.size(), " is not a new pair of tokens before it"));
    }
  }
  return exit_ok;
}

std::string Vocabulary::to_json() const {
  std::string text = cat("{\"format\":\"", format_name, "\",\"pairs\":[");
  for (size_t i = 0; i < pairs_.size(); ++i) {
    text += cat(i ? ",\n" : "\n", "[", pairs_[i].first, ",", pairs_[i].second, "]");
  }
  return text + "]}\n";
}

void Vocabulary::encode(std::string_view text, std::vector<Token>& out) {
  for (size_t at = 0, end = 0; at < text.size(); at = end) {
    end = piece_end(text, at);
    std::string piece(text.substr(at, end - at));
    auto known = known_pieces_.find(piece);
    if (known == known_pieces_.end()) {
      std::vector<Token> tokens;
      encode_piece(piece, tokens);
      if (known_pieces_.size() >= most_known_pieces) known_pieces_.clear();
      known = known_pieces_.emplace(std::move(piece), std::move(tokens)).first;
    }
    out.insert(out.end(), known->second.begin(), known->second.end());
  }
}

void Vocabulary::encode_piece(std::string_view piece, std::vector<Token>& out) const {
  for (char c : piece) out.push_back(static_cast<unsigned char>(c));
  while (out.size() > 1) {
    auto lowest = Token(most_tokens);
    for (size_t i = 0; i + 1 < out.size(); ++i) {
      auto found = token_of_.find(key_of(out[i], out[i + 1]));
      if (found != token_of_.end()) lowest = std::min(lowest, found->second);
    }
    if (lowest == most_tokens) return;
    const auto& [first, second] = pairs_[lowest - 256];
    merge(out, first, second, lowest);
  }
}

}  // namespace tessera::tool::train
