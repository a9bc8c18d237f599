#include "lsp/protocol/uri.h"

#include <filesystem>

#include "support/percent.h"

namespace tessera::lsp {

namespace {

constexpr std::string_view scheme = "file://";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string path_of(std::string_view uri) {
  if (!uri.starts_with(scheme)) return std::string(uri);
  uri.remove_prefix(scheme.size());
  size_t slash = uri.find('/');  // a host, if there is one, ends here
  uri = slash == std::string_view::npos ? std::string_view() : uri.substr(slash);
  std::string path;
  for (size_t i = 0; i < uri.size(); ++i) {
    bool escape = uri[i] == '%' && i + 2 < uri.size() && hex_digit(uri[i + 1]) >= 0 && hex_digit(uri[i + 2]) >= 0;
    path += escape ? char(hex_digit(uri[i + 1]) * 16 + hex_digit(uri[i + 2])) : uri[i];
    if (escape) i += 2;
  }
  return std::filesystem::path(path).lexically_normal().string();
}

std::string uri_of(std::string_view path) {
  return path.starts_with('/') ? std::string(scheme) + percent_encoded(path) : std::string(path);
}

}  // namespace tessera::lsp
