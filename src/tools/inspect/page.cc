#include <zlib.h>

#include <algorithm>

#include "support/check.h"
#include "tools/inspect/inspection.h"
#include "tools/inspect/page_files.h"

namespace tessera::inspect {

namespace {

/// A gzip stream. Its header has no time and no name, so equal texts give equal bytes.
std::string compressed(std::string_view text) {
  constexpr int gzip_window = 15 + 16, memory = 8;
  constexpr size_t piece = size_t(1) << 20;
  z_stream stream{};
  int state = deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_window, memory, Z_DEFAULT_STRATEGY);
  TSR_CHECK(state == Z_OK, "zlib cannot start");
  std::string out, room(piece, '\0');
  while (state != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
      stream.avail_in = uInt(std::min(piece, text.size()));
      text.remove_prefix(stream.avail_in);
    }
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = uInt(room.size());
    state = deflate(&stream, text.empty() ? Z_FINISH : Z_NO_FLUSH);
    TSR_CHECK(state == Z_OK || state == Z_STREAM_END, "zlib gave up");
    out.append(room, 0, room.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    auto byte = [&](size_t n) { return i + n < bytes.size() ? uint32_t(uint8_t(bytes[i + n])) : 0; };
    uint32_t three = byte(0) << 16 | byte(1) << 8 | byte(2);
    out += digits[three >> 18];
    out += digits[three >> 12 & 63];
    out += i + 1 < bytes.size() ? digits[three >> 6 & 63] : '=';
    out += i + 2 < bytes.size() ? digits[three & 63] : '=';
  }
  return out;
}

std::string_view page_file(std::string_view path) {
  for (const PageFile& file : page_files()) {
    if (file.path == path) return file.text;
  }
  TSR_UNREACHABLE("the page has no " + std::string(path));
}

void replace(std::string& text, std::string_view mark, const std::string& with) {
  size_t at = text.find(mark);
  TSR_CHECK(at != std::string::npos, "the page has no place for " + std::string(mark));
  text.replace(at, mark.size(), with);
}

}  // namespace

std::string page_of(const std::string& json) {
  // What the scripts define comes before what makes use of it.
  constexpr std::string_view scripts[] = {
      "vendor/dagre.min.js", "data.js",     "text.js",   "listing.js",    "document.js", "code.js",    "passes.js",
      "report.js",           "roofline.js", "memory.js", "graph_tree.js", "graph.js",    "layouts.js", "page.js"};
  std::string script;
  for (std::string_view path : scripts) script += page_file(path);
  std::string page(page_file("page.html"));
  replace(page, "/* style */", std::string(page_file("page.css")));
  replace(page, "/* script */", script);
  replace(page, "<!-- data -->", base64(compressed(json)));
  return page;
}

}  // namespace tessera::inspect
