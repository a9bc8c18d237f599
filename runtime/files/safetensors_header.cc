#include "runtime/files/safetensors_header.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/characters.h"
#include "runtime/files/text.h"

namespace tessera::format {

namespace {

constexpr size_t max_rank = 32;

void append_utf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += char(c);
    return;
  }
  int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr uint32_t leads[] = {0, 0xc0, 0xe0, 0xf0};
  out += char(leads[more] | c >> (6 * more));
  while (more-- > 0) out += char(0x80 | (c >> (6 * more) & 0x3f));
}

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const TensorVisitor& visit, std::map<std::string, std::string>* metadata)
      : text_(text), visit_(visit), metadata_(metadata) {}

  Outcome parse() {
    bool has_metadata = false;
    object([&](const std::string& name) {
      if (name != "__metadata__") return read_tensor(name);
      path_ = name;
      if (has_metadata) return refuse("it is there twice");
      has_metadata = true;
      read_metadata();
    });
    path_.clear();
    skip_spaces();
    if (at_ != text_.size()) refuse("more bytes follow its end");
    if (!error_.empty()) return error(error_);
    return {};
  }

 private:
  bool failed() const { return !error_.empty(); }

  void refuse(std::string_view why) {
    if (!failed()) error_ = path_.empty() ? std::string(why) : cat(path_, ": ", why);
    at_ = text_.size();
  }

  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_spaces() {
    while (next() == ' ' || next() == '\n' || next() == '\t' || next() == '\r') ++at_;
  }

  bool take(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  /// Items between brackets, with commas.
  template <typename Item>
  void list(char begin, char end, std::string_view expected, Item item) {
    if (!take(begin)) return refuse(expected);
    if (take(end)) return;
    do item();
    while (!failed() && take(','));
    if (!failed() && !take(end)) refuse(cat("',' or '", end, "' is expected"));
  }

  template <typename Member>
  void object(Member member) {
    list('{', '}', "an object is expected", [&] {
      std::string key;
      read_string(&key);
      if (!failed() && !take(':')) refuse("':' is expected");
      if (!failed()) member(key);
    });
  }

  /// Four hexadecimal digits.
  uint32_t read_unit() {
    uint32_t unit = 0;
    std::string_view digits = text_.substr(at_, 4);
    auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    if (status != std::errc() || end != digits.data() + 4) refuse("an escape of a string is broken");
    at_ = std::min(at_ + 4, text_.size());
    return unit;
  }

  uint32_t read_escape() {
    constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    char letter = next();
    ++at_;
    size_t known = letters.find(letter);
    if (known != letters.npos) return uint32_t(meanings[known]);
    if (letter != 'u') refuse("an escape of a string is broken");
    if (failed()) return 0;
    uint32_t unit = read_unit();
    bool is_first = unit >= 0xd800 && unit < 0xdc00;
    if (!is_first) {
      if (unit >= 0xdc00 && unit < 0xe000) refuse("an escape of a string is broken");
      return unit;
    }
    if (text_.substr(at_, 2) != "\\u") refuse("an escape of a string is broken");
    if (failed()) return 0;
    at_ += 2;
    uint32_t second = read_unit();
    if (second < 0xdc00 || second >= 0xe000) refuse("an escape of a string is broken");
    return 0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00);
  }

  /// `out` may be null.
  void read_string(std::string* out) {
    if (!take('"')) return refuse("a string is expected");
    while (!failed()) {
      if (at_ == text_.size()) return refuse("a string has no end");
      if (text_[at_] == '"') break;
      base::Character read = base::next_character(text_.substr(at_, 4));
      char32_t c = read.value;
      if (!read.is_valid || c < 0x20) return refuse("a string has bytes that are not text");
      at_ += read.length;
      if (c == '\\') c = read_escape();
      if (out) append_utf8(*out, c);
    }
    if (!failed()) ++at_;
  }

  void read_integers(std::vector<int64_t>& out, size_t most) {
    out.clear();
    list('[', ']', "an array is expected", [&] {
      skip_spaces();
      int64_t value = 0;
      const char* begin = text_.data() + at_;
      auto [end, status] = std::from_chars(begin, text_.data() + text_.size(), value);
      const char* digits = begin + (next() == '-');
      bool has_zeros = end - digits > 1 && *digits == '0';
      if (status != std::errc() || has_zeros) return refuse("an integer is expected");
      at_ += size_t(end - begin);
      if (out.size() == most) return refuse("there are too many of them");
      out.push_back(value);
    });
  }

  /// Keys are compared by what they are, however they are spelled. Hashes take less memory than they do; who makes two
  /// of one hash is refused, too.
  void read_metadata() {
    std::vector<size_t> hashes;
    object([&](const std::string& key) {
      hashes.push_back(std::hash<std::string>()(key));
      read_string(metadata_ ? &(*metadata_)[key] : nullptr);
    });
    std::sort(hashes.begin(), hashes.end());
    if (std::adjacent_find(hashes.begin(), hashes.end()) != hashes.end()) refuse("a key is there twice");
  }

  void read_tensor(const std::string& name) {
    std::string place = cat("[", in_quotes(name), "]");
    path_ = place;
    tensor_.name = name;
    if (!is_printable_name(name)) refuse("the name is empty, too long or not printable");
    int seen = 0;
    if (!failed()) object([&](const std::string& key) {
      path_ = cat(place, ".", key);
      int bit = key == "dtype" ? 1 : key == "shape" ? 2 : key == "data_offsets" ? 4 : 0;
      if (bit == 0) path_ = place;
      if (bit == 0) return refuse(cat("the key ", in_quotes(key), " is not expected"));
      if (seen & bit) return refuse("it is there twice");
      seen |= bit;
      if (bit == 2) return read_integers(tensor_.shape, max_rank);
      if (bit == 4) return read_integers(tensor_.offsets, 2);
      tensor_.dtype.clear();
      read_string(&tensor_.dtype);
    });
    if (failed()) return;
    path_ = place;
    if (seen != 7) return refuse("it lacks dtype, shape or data_offsets");
    if (std::string why = visit_(tensor_); !why.empty()) {
      path_.clear();
      refuse(cat(place, why));
    }
  }

  std::string_view text_;
  const TensorVisitor& visit_;
  std::map<std::string, std::string>* metadata_;  ///< may be null
  size_t at_ = 0;
  std::string path_;  ///< of the value that is read
  std::string error_;
  HeaderTensor tensor_;
};

}  // namespace

Outcome read_safetensors_header(std::string_view header, const TensorVisitor& visit,
                                std::map<std::string, std::string>* metadata) {
  return HeaderParser(header, visit, metadata).parse();
}

}  // namespace tessera::format
