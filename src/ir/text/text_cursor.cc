#include "ir/text/text_cursor.h"
#include "support/diagnostic_rows.h"

#include <cctype>
#include <charconv>

namespace tessera {

namespace {

bool is_word_char(unsigned char c) {
  return std::isalnum(c) || c == '_' || c == '.' || c == '$' || c == '-';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

void TextCursor::skip() {
  while (at_ < text_.size()) {
    if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else {
      return;
    }
  }
}

bool TextCursor::at_end() {
  skip();
  return at_ == text_.size();
}

bool TextCursor::peek(std::string_view token) {
  skip();
  return text_.substr(at_, token.size()) == token;
}

bool TextCursor::take(std::string_view token) {
  if (!peek(token)) return false;
  at_ += token.size();
  return true;
}

bool TextCursor::expect(std::string_view token) {
  if (take(token)) return true;
  error("expected '" + std::string(token) + "'");
  return false;
}

std::string_view TextCursor::word() {
  skip();
  size_t begin = at_;
  while (at_ < text_.size() && is_word_char(text_[at_])) ++at_;
  return text_.substr(begin, at_ - begin);
}

std::optional<std::string_view> TextCursor::sigil_word(char sigil) {
  skip();
  if (at_ >= text_.size() || text_[at_] != sigil) return std::nullopt;
  ++at_;
  size_t begin = at_;
  while (at_ < text_.size() && is_word_char(text_[at_])) ++at_;
  return text_.substr(begin, at_ - begin);
}

std::string_view TextCursor::type_text() {
  skip();
  size_t begin = at_;
  while (at_ < text_.size() && is_word_char(text_[at_])) ++at_;
  // A layout within has brackets of its own.
  for (int depth = 0; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
    if (text_[at_] == '<') ++depth;
    if (depth == 0) break;
    if (text_[at_] != '>' || --depth > 0) continue;
    ++at_;
    break;
  }
  return text_.substr(begin, at_ - begin);
}

std::optional<std::string_view> TextCursor::angle_text() {
  if (!take("<")) return std::nullopt;
  size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != '>' && text_[at_] != '\n') ++at_;
  if (at_ == text_.size() || text_[at_] != '>') return std::nullopt;
  return text_.substr(begin, at_++ - begin);
}

std::optional<std::string> TextCursor::quoted() {
  if (!take("\"")) return std::nullopt;
  std::string value;
  while (at_ < text_.size()) {
    char c = text_[at_++];
    if (c == '"') return value;
    if (c == '\n') break;
    if (c != '\\') {
      value += c;
      continue;
    }
    char escape = at_ < text_.size() ? text_[at_++] : '\0';
    if (escape == 'n') {
      value += '\n';
    } else if (escape == '"' || escape == '\\') {
      value += escape;
    } else if (escape == 'x' && at_ + 1 < text_.size() && hex_digit(text_[at_]) >= 0 &&
               hex_digit(text_[at_ + 1]) >= 0) {
      value += char(hex_digit(text_[at_]) * 16 + hex_digit(text_[at_ + 1]));
      at_ += 2;
    } else {
      break;
    }
  }
  return std::nullopt;
}

std::string_view TextCursor::number_text() {
  skip();
  size_t begin = at_;
  auto is_number_char = [&](char c) {
    bool sign_in_exponent = (c == '+' || c == '-') && at_ > begin && text_[at_ - 1] == 'e';
    return std::isdigit(static_cast<unsigned char>(c)) || c == '.' || c == 'e' || sign_in_exponent;
  };
  if (at_ < text_.size() && text_[at_] == '-') ++at_;
  while (at_ < text_.size() && is_number_char(text_[at_])) ++at_;
  return text_.substr(begin, at_ - begin);
}

std::optional<int64_t> TextCursor::integer() {
  size_t begin = (skip(), at_);
  std::string_view digits = number_text();
  int64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc() && end == digits.data() + digits.size() && !digits.empty()) return value;
  at_ = begin;
  return std::nullopt;
}

Loc TextCursor::loc() {
  skip();
  return source_.locate(file_, uint32_t(at_), 1);
}

void TextCursor::error(const std::string& message) {
  bool is_cut = at_end();  // as a dump is whose writer was stopped
  error_at(loc(), is_cut ? "the dump ends early: " + message : message);
}

void TextCursor::error_at(Loc loc, const std::string& message) {
  if (!failed_) diagnostics_.report(diag::ir_syntax, loc, message);
  failed_ = true;
}

}  // namespace tessera
