// Any text through the whole front end.

#include <cstdint>
#include <string>

#include "frontend_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  check_frontend(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
