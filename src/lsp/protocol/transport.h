#pragma once
// The framing of messages: "Content-Length: N", an empty line, N bytes. Input is not trusted: a
// length may be missing, malformed, huge or false. After any of these the reader reports it once
// and continues at the next header, so that one bad message costs one message. After a length that
// is too large it searches that many bytes for a header: JSON has line ends between its values
// alone, and a header is none of these.

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::lsp {

/// Longer messages are skipped, not stored.
inline constexpr size_t max_message_bytes = size_t(64) << 20;
inline constexpr size_t max_header_bytes = size_t(8) << 10;

class FrameReader {
 public:
  enum class Status { NeedsMore, Message, Error };

  void append(std::string_view bytes);
  /// The next message's body, or what was wrong with it.
  Status next(std::string& body, std::string& error);
  /// The start of what was refused last.
  const std::string& refused() const { return refused_; }
  /// Bytes that wait for the rest of their message.
  size_t buffered() const { return buffer_.size() - begin_; }

 private:
  std::string_view pending() const { return std::string_view(buffer_).substr(begin_); }
  void consume(size_t bytes);
  void skip();
  Status refuse(size_t bytes, std::string& error, std::string reason);

  std::string buffer_;
  size_t begin_ = 0;
  size_t skip_ = 0;     ///< bytes of a message that is too long
  size_t searched_ = 0;  ///< bytes behind begin_ in which no message begins
  std::string refused_;
};

/// The body with its header.
std::string frame(std::string_view body);

}  // namespace tessera::lsp
