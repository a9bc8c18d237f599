// Any bytes as a client of the language server: framing, messages, and what they ask for.

#include <cstdint>
#include <string>

#include "lsp/protocol/transport.h"
#include "lsp/server/server.h"

using namespace tessera::lsp;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FrameReader reader;
  Server server([](const std::string&) {}, {.version = "fuzz", .starts_programs = false});
  server.receive(R"({"id": 0, "method": "initialize", "params": {"capabilities": {}}})");
  reader.append(std::string_view(reinterpret_cast<const char*>(data), size));
  std::string body, error;
  while (true) {
    FrameReader::Status status = reader.next(body, error);
    if (status == FrameReader::Status::NeedsMore) break;
    if (status == FrameReader::Status::Error) {
      server.refuse(error, reader.refused());
    } else {
      server.receive(body);
      server.work();
    }
  }
  while (server.work()) {
  }
  return 0;
}
