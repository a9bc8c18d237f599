#pragma once
// Little-endian numbers in byte strings. The reader never reads past its end: it fails once and
// then gives zeros, so that a decoder checks at the end of a record.

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::format {

inline void put_u8(std::string& out, uint8_t value) {
  out += char(value);
}

template <std::unsigned_integral T>
void put(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += char(uint8_t(uint64_t(value) >> (8 * i)));
}
inline void put_u16(std::string& out, uint16_t value) {
  put(out, value);
}
inline void put_u32(std::string& out, uint32_t value) {
  put(out, value);
}
inline void put_u64(std::string& out, uint64_t value) {
  put(out, value);
}

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  uint8_t u8() { return take<uint8_t>(); }
  uint16_t u16() { return take<uint16_t>(); }
  uint32_t u32() { return take<uint32_t>(); }
  uint64_t u64() { return take<uint64_t>(); }
  /// The next `size` bytes; empty on failure.
  std::string_view raw(uint64_t size) {
    if (size > remaining()) {
      fail();
      return {};
    }
    std::string_view out = bytes_.substr(at_, size);
    at_ += size;
    return out;
  }

  size_t position() const { return at_; }
  size_t remaining() const { return bytes_.size() - at_; }
  bool failed() const { return failed_; }
  void fail() {
    failed_ = true;
    at_ = bytes_.size();
  }

 private:
  template <typename T>
  T take() {
    std::string_view piece = raw(sizeof(T));
    uint64_t value = 0;
    for (size_t i = 0; i < piece.size(); ++i) value |= uint64_t(uint8_t(piece[i])) << (8 * i);
    return T(value);
  }

  std::string_view bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace tessera::format
