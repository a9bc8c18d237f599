#include "runtime/files/checksum.h"
#include "runtime/files/text.h"
#include "runtime/format/zip_layout.h"
#include "runtime/format/bundle.h"

namespace tessera::format {

namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

/// The bytes that the finished archive has, without building it.
uint64_t archive_size(const std::vector<ZipEntry>& entries) {
  uint64_t size = 0;
  for (const ZipEntry& entry : entries)
    size = zip_data_offset(entry.name.size(), size) + entry.size;
  return size + zip_directory(entries, std::string(32, '0')).size();
}

}  // namespace

bool is_bundle_name(std::string_view name) {
  if (name.empty() || name.size() > 255) return false;
  char before = '/';
  for (char c : name) {
    if (c != '/' && !is_name_char(c)) return false;
    if (before == '/' && (c == '/' || c == '.')) return false;
    before = c;
  }
  return before != '/';
}

std::string target_path(std::string_view target) {
  std::string out(target);
  for (char& c : out) {
    if (c == ':') c = '-';
  }
  return out;
}

std::string plan_path(std::string_view entry, std::string_view target) {
  return cat("plan/", entry, "/", target_path(target), ".plan");
}

std::string kernels_path(std::string_view target, std::string_view form) {
  return cat("kernels/", target_path(target), "/kernels.", form);
}

Outcome BundleWriter::add(std::string name, std::string bytes) {
  if (!is_bundle_name(name) || name == manifest_name) {
    return error("the entry name ", in_quotes(name), " is not one of a bundle");
  }
  if (bytes.size() > max_bundle_bytes) {
    return error(in_quotes(name), " exceeds the 4 GiB of a bundle");
  }
  auto [at, is_new] = entries_.try_emplace(std::move(name), std::move(bytes));
  if (!is_new) return error("the entry ", in_quotes(at->first), " is there twice");
  return {};
}

Result<std::string> BundleWriter::finish(Manifest manifest) const {
  if (entries_.size() >= max_bundle_entries) return error("the bundle has too many entries");
  std::map<std::string_view, std::string_view> contents;
  manifest.files.clear();
  for (const auto& [name, bytes] : entries_) {
    manifest.files.push_back({name, bytes.size(), crc32(bytes), xxh3_hex(bytes)});
    contents[name] = bytes;
  }
  std::string manifest_json = write_manifest(manifest);
  if (Result<Manifest> again = read_manifest(manifest_json); !again) return again.error();
  contents[manifest_name] = manifest_json;

  std::vector<ZipEntry> entries;
  for (const auto& [name, bytes] : contents) {
    entries.push_back({std::string(name), uint32_t(bytes.size()), crc32(bytes)});
  }
  uint64_t size = archive_size(entries);
  if (size > max_bundle_bytes) return error("the bundle exceeds 4 GiB");
  std::string out;
  out.reserve(size);
  for (const ZipEntry& entry : entries) {
    out += zip_local_header(entry, out.size());
    out += contents[entry.name];
  }
  out += zip_directory(entries, xxh3_hex(manifest_json));
  return out;
}

}  // namespace tessera::format
