// Framing, with lengths that lie.

#include "lsp/protocol/transport.h"

#include <catch2/catch.hpp>
#include <vector>

using tessera::lsp::frame;
using tessera::lsp::FrameReader;

namespace {

/// What a reader makes of bytes that come in pieces of `step`; errors begin with '!'.
std::vector<std::string> read_all(const std::string& bytes, size_t step) {
  FrameReader reader;
  std::vector<std::string> out;
  for (size_t at = 0; at < bytes.size(); at += step) {
    reader.append(std::string_view(bytes).substr(at, step));
    std::string body, error;
    for (auto status = reader.next(body, error); status != FrameReader::Status::NeedsMore;
         status = reader.next(body, error)) {
      out.push_back(status == FrameReader::Status::Message ? body : "!" + error);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("messages are read however the bytes arrive") {
  std::string bytes = frame("{}") + frame("[1, 2]") + frame("");
  for (size_t step : {1, 2, 7, 100}) CHECK(read_all(bytes, step) == std::vector<std::string>{"{}", "[1, 2]", ""});
}

TEST_CASE("other headers, and the case of names, do not matter") {
  std::string bytes = "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-LENGTH:  2 \r\n\r\n{}";
  CHECK(read_all(bytes, 3) == std::vector<std::string>{"{}"});
}

TEST_CASE("a header without a number costs one message") {
  for (std::string bad : {"Content-Length: -5\r\n\r\n{}", "Content-Length: 99999999999999999999999\r\n\r\n{}",
                          "Content-Length: 2x\r\n\r\n{}", "X: y\r\n\r\n{}", "Content-Length:\r\n\r\n{}"}) {
    INFO(bad);
    auto out = read_all(bad + frame("[3]"), 5);
    REQUIRE(!out.empty());
    CHECK(out[0][0] == '!');
    CHECK(out.back() == "[3]");
  }
}

TEST_CASE("a message that is too long is skipped and not stored") {
  FrameReader reader;
  std::string body, error;
  size_t length = tessera::lsp::max_message_bytes + 1000;
  reader.append("Content-Length: " + std::to_string(length) + "\r\n\r\n");
  CHECK(reader.next(body, error) == FrameReader::Status::NeedsMore);
  std::string chunk(1 << 20, 'x');
  for (size_t sent = 0; sent < length; sent += chunk.size()) {
    reader.append(std::string_view(chunk).substr(0, length - sent));
    CHECK(reader.next(body, error) == (sent == 0 ? FrameReader::Status::Error : FrameReader::Status::NeedsMore));
    CHECK(reader.buffered() < 100);
    CHECK(reader.refused().find("\r\n\r\nxxx") != std::string::npos);
  }
  reader.append(frame("[4]"));
  REQUIRE(reader.next(body, error) == FrameReader::Status::Message);
  CHECK(body == "[4]");
}

TEST_CASE("a length that is larger than its message costs that message") {
  for (std::string length : {"12", "100", "70000000", "4000000000"}) {
    for (size_t step : {1, 7, 100'000}) {
      INFO(length << ", " << step << " bytes at once");
      auto out = read_all("Content-Length: " + length + "\r\n\r\n[1]" + frame("[2]") + frame("[3]"), step);
      REQUIRE(out.size() >= 2);
      CHECK(out[0] != "[1]");
      CHECK(out.back() == "[3]");
    }
  }
  // What is said of lengths in a text is no header.
  std::string text = frame(R"(["Content-Length: 5\r\n\r\n"])");
  CHECK(read_all(text, 3) == std::vector<std::string>{R"(["Content-Length: 5\r\n\r\n"])"});
}

TEST_CASE("headers without an end do not grow without bound") {
  FrameReader reader;
  std::string body, error;
  size_t errors = 0;
  for (int i = 0; i < 100; ++i) {
    reader.append(std::string(10'000, 'a'));
    while (reader.next(body, error) == FrameReader::Status::Error) ++errors;
  }
  CHECK(errors > 0);
  CHECK(reader.buffered() <= tessera::lsp::max_header_bytes);
  reader.append(frame("[5]"));
  auto status = reader.next(body, error);
  while (status == FrameReader::Status::Error) status = reader.next(body, error);
  REQUIRE(status == FrameReader::Status::Message);
  CHECK(body == "[5]");
}
