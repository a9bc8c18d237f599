#include "lsp/protocol/transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace tessera::lsp {

namespace {

constexpr std::string_view length_key = "content-length:";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  }
  return out;
}

/// Offset at which a header begins again; the size of the text when there is none.
size_t find_header(std::string_view text) {
  size_t at = lower(text).find(length_key, 1);
  return at == std::string::npos ? text.size() : at;
}

/// The length that a header block gives; nothing when it gives none that is a number.
std::optional<size_t> read_length(std::string_view block) {
  std::optional<size_t> length;
  while (!block.empty()) {
    size_t end = block.find("\r\n");
    std::string_view line = block.substr(0, end);
    block = end == std::string_view::npos ? std::string_view() : block.substr(end + 2);
    if (!lower(line).starts_with(length_key)) continue;
    line.remove_prefix(length_key.size());
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    size_t value = 0;
    auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc() || stop != line.data() + line.size() || line.empty()) return std::nullopt;
    length = value;
  }
  return length;
}

/// As much of a message is kept to see what it was about.
constexpr size_t head_bytes = size_t(4) << 10;
/// The line of a length is no longer.
constexpr size_t longest_line = 64;

/// Offset of the first whole line `Content-Length: 12`; the size of the text when there is none.
size_t find_message(std::string_view text) {
  std::string all = lower(text);
  for (size_t at = all.find(length_key); at != std::string::npos; at = all.find(length_key, at + 1)) {
    std::string_view line = std::string_view(all).substr(at, longest_line);
    size_t end = line.find("\r\n");
    if (end != std::string_view::npos && read_length(line.substr(0, end))) return at;
  }
  return text.size();
}

}  // namespace

void FrameReader::append(std::string_view bytes) {
  buffer_.append(bytes);
  if (skip_ > 0) skip();
}

/// Lets go of what belongs to a message that was refused: as much as it said, or up to the header that shows the lie.
void FrameReader::skip() {
  std::string_view text = pending();
  size_t next = find_message(text);
  if (next < text.size() || skip_ <= text.size()) {
    consume(std::min(next, skip_));
    skip_ = 0;
    return;
  }
  size_t gone = text.size() - std::min(text.size(), longest_line);
  consume(gone);
  skip_ -= gone;
}

void FrameReader::consume(size_t bytes) {
  begin_ += bytes;
  searched_ = 0;
  if (begin_ < buffer_.size() && begin_ < (size_t(1) << 16)) return;
  buffer_.erase(0, begin_);
  begin_ = 0;
}

FrameReader::Status FrameReader::refuse(size_t bytes, std::string& error, std::string reason) {
  refused_ = pending().substr(0, std::min(bytes, head_bytes));
  consume(bytes);
  error = std::move(reason);
  return Status::Error;
}

FrameReader::Status FrameReader::next(std::string& body, std::string& error) {
  std::string_view text = pending();
  if (text.empty() || skip_ > 0) return Status::NeedsMore;
  size_t end = text.substr(0, max_header_bytes).find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (text.size() < max_header_bytes) return Status::NeedsMore;
    return refuse(find_header(text), error, fmt::format("no header ends within {} bytes", max_header_bytes));
  }
  std::optional<size_t> length = read_length(text.substr(0, end));
  if (!length) {
    // Where the body ends is unknown: what follows is read as headers until one makes sense.
    return refuse(std::min(find_header(text), end + 4), error, "a message without a Content-Length that is a number");
  }
  size_t begin = end + 4;
  if (text.size() - begin < *length) {
    size_t from = std::max(begin, searched_), next = from + find_message(text.substr(from));
    if (next < text.size()) return refuse(next, error, fmt::format("a message of less than its {} bytes", *length));
    searched_ = std::max(begin, text.size() - std::min(text.size(), longest_line));
    if (*length <= max_message_bytes || text.size() - begin < head_bytes) return Status::NeedsMore;
  }
  if (*length > max_message_bytes) {
    size_t there = std::min(*length, text.size() - begin);
    size_t rest = *length - there;
    refuse(begin + there, error,
           fmt::format("a message of {} bytes; at most {} are read", *length, max_message_bytes));
    skip_ = rest;
    return Status::Error;
  }
  body.assign(text.substr(begin, *length));
  consume(begin + *length);
  return Status::Message;
}

std::string frame(std::string_view body) {
  return fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
}

}  // namespace tessera::lsp
