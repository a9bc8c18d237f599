#pragma once
// What is read as a file.

#include <sys/stat.h>

namespace tessera::base {

/// Why what is there is no file that has an end; null where it is one.
inline const char* why_no_file(const struct stat& info) {
  if (S_ISREG(info.st_mode)) return nullptr;
  if (S_ISDIR(info.st_mode)) return "it is a directory";
  if (S_ISFIFO(info.st_mode)) return "it is a named pipe, not a file";
  return S_ISSOCK(info.st_mode) ? "it is a socket, not a file" : "it is a device, not a file";
}

}  // namespace tessera::base
