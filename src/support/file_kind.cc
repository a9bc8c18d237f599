// Recognises files of other kinds by their first bytes, and listings of LLVM by their first words.
// A file without such a sign that is mostly not text counts as binary data, so that one message
// says so, instead of one about each byte.

#include "support/file_kind.h"

#include <algorithm>
#include <utility>

namespace tessera {

namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view bytes;
  std::string_view kind;
};

constexpr Signature signatures[] = {
    {"\x7f" "ELF"sv, "an ELF object or program"},
    {"PK\x03\x04"sv, "a zip archive"},
    {"PK\x05\x06"sv, "an empty zip archive"},
    {"\x89PNG"sv, "a PNG image"},
    {"\xff\xd8\xff"sv, "a JPEG image"},
    {"%PDF-"sv, "a PDF document"},
    {"\x1f\x8b"sv, "gzip data"},
    {"\x28\xb5\x2f\xfd"sv, "zstd data"},
    {"BC\xc0\xde"sv, "LLVM bitcode"},
    {"!<arch>\n"sv, "an archive of objects"},
    {"\x93NUMPY"sv, "a NumPy array"},
    {"; ModuleID"sv, "LLVM IR"},
    {"target datalayout = "sv, "LLVM IR"},
    {"target triple = "sv, "LLVM IR"},
    {"// ---- llvm: "sv, "LLVM IR"},
    {"// ---- asm: "sv, "assembly"},
    {"\t.text\n"sv, "assembly"},
    {"\t.file\t"sv, "assembly"},
    {"\t.intel_syntax"sv, "assembly"},
};

/// A length of 8 bytes, then a JSON object.
bool is_safetensors(std::string_view bytes) {
  return bytes.size() > 9 && bytes[8] == '{' && bytes.substr(3, 5) == "\0\0\0\0\0"sv;
}

/// Of a zip archive, where the name of its first entry is.
constexpr size_t name_at = 30;

/// A zip archive whose first entry is one that bundles begin with: the entries are in the order of their names.
bool is_bundle(std::string_view bytes) {
  if (bytes.size() <= name_at || !bytes.starts_with("PK\x03\x04"sv)) return false;
  constexpr std::string_view firsts[] = {"ir/", "kernels/", "manifest.json", "plan/"};
  return std::ranges::any_of(firsts, [&](std::string_view each) { return bytes.substr(name_at).starts_with(each); });
}

/// The directive that begins PTX, behind comments.
bool is_ptx(std::string_view text) {
  while (text.starts_with("//") || text.starts_with("\n")) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return text.starts_with(".version ");
}

bool is_json(std::string_view text) {
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos || text[first] != '{') return false;
  size_t second = text.find_first_not_of(" \t\r\n", first + 1);
  return second != text.npos && text[second] == '"';
}

/// Several, and more than a tenth, of the characters of the first KiB are such as no text has.
bool is_binary(std::string_view bytes) {
  std::string_view start = bytes.substr(0, 1024);
  auto strange = std::count_if(start.begin(), start.end(), [](unsigned char c) {
    return c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f';
  });
  return strange > 3 && size_t(strange) * 10 > start.size();
}

}  // namespace

std::string_view foreign_kind(std::string_view bytes) {
  if (is_bundle(bytes)) return "a bundle";
  if (bytes.size() <= name_at && bytes.starts_with("PK\x03\x04"sv)) return "the begin of a bundle or a zip archive";
  for (const Signature& signature : signatures) {
    if (bytes.substr(0, signature.bytes.size()) == signature.bytes) return signature.kind;
  }
  if (is_safetensors(bytes)) return "a safetensors file";
  if (is_ptx(bytes)) return "PTX";
  if (is_json(bytes)) return "JSON";
  return is_binary(bytes) ? "binary data" : "";
}

std::string_view kind_of_name(std::string_view path) {
  constexpr std::pair<std::string_view, std::string_view> kinds[] = {
      {".tsr", "a source"}, {".npy", "an array"}, {".safetensors", "tensors"}};
  for (auto [ending, kind] : kinds) {
    if (path.ends_with(ending)) return kind;
  }
  return "";
}

}  // namespace tessera
