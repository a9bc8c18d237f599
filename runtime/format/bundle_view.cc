#include <algorithm>

#include "runtime/files/bytes.h"
#include "runtime/files/checksum.h"
#include "runtime/files/text.h"
#include "runtime/format/zip_layout.h"
#include "runtime/format/bundle.h"

namespace tessera::format {

namespace {

constexpr size_t central_header_bytes = 46;

class ZipReader {
 public:
  explicit ZipReader(std::string_view bytes) : bytes_(bytes) {}

  /// The entries of an archive that has exactly the writer's form.
  Result<std::vector<BundleEntry>> read() {
    if (Outcome listed = list_entries(); !listed) return listed.error();
    if (Outcome located = locate_data(); !located) return located.error();
    for (size_t i = 0; i < listed_.size(); ++i) {
      if (crc32(found_[i].bytes) != listed_[i].crc) {
        return error(in_quotes(listed_[i].name), " does not have its checksum");
      }
    }
    return std::move(found_);
  }

  const std::string& manifest_hash() const { return manifest_hash_; }

 private:
  /// Takes names, sizes and checksums from the central directory and compares the directory with
  /// the one those give.
  Outcome list_entries() {
    if (bytes_.size() > max_bundle_bytes) return error("it exceeds 4 GiB");
    if (bytes_.empty()) return error("it is empty");
    if (bytes_.size() < zip_end_bytes + zip_comment_bytes) return error("it is cut off");
    if (!bytes_.starts_with("PK")) return error("it is not one");
    size_t end_at = bytes_.size() - zip_end_bytes - zip_comment_bytes;
    ByteReader end(bytes_.substr(end_at));
    end.raw(10);
    uint16_t count = end.u16();
    uint32_t directory_size = end.u32();
    uint32_t directory_at = end.u32();
    if (directory_at > end_at || directory_size != end_at - directory_at ||
        count > directory_size / central_header_bytes) {
      return error("it is cut off, or has something behind its end");
    }
    ByteReader directory(bytes_.substr(directory_at, directory_size));
    for (size_t i = 0; i < count; ++i) {
      ZipEntry entry;
      directory.raw(16);
      entry.crc = directory.u32();
      entry.size = directory.u32();
      directory.u32();
      uint16_t name_size = directory.u16();
      directory.raw(16);
      entry.name = std::string(directory.raw(name_size));
      if (directory.failed()) return error("its directory ends too early");
      if (Outcome named = check_name(entry.name); !named) return named;
      listed_.push_back(std::move(entry));
    }
    data_end_ = directory_at;
    manifest_hash_ = std::string(bytes_.substr(bytes_.size() - 32));
    if (zip_directory(listed_, manifest_hash_) != bytes_.substr(directory_at)) {
      return error("its directory is not in the one form");
    }
    return {};
  }

  Outcome check_name(const std::string& name) const {
    if (!is_bundle_name(name)) return error("the entry name ", in_quotes(name), " is not allowed");
    if (!listed_.empty() && listed_.back().name >= name) {
      return error("the entry ", in_quotes(name), " is out of order or there twice");
    }
    return {};
  }

  /// Walks the entries one after another and compares each local header with the one it must be.
  Outcome locate_data() {
    uint64_t at = 0;
    for (const ZipEntry& entry : listed_) {
      uint64_t data = zip_data_offset(entry.name.size(), at);
      if (data > data_end_ || entry.size > data_end_ - data) {
        return error(in_quotes(entry.name), " lies outside the archive");
      }
      if (bytes_.substr(at, data - at) != zip_local_header(entry, at)) {
        return error("the header of ", in_quotes(entry.name), " is not in the one form");
      }
      found_.push_back({entry.name, bytes_.substr(data, entry.size), entry.crc});
      at = data + entry.size;
    }
    if (at != data_end_) return error("bytes lie between its entries and its directory");
    return {};
  }

  std::string_view bytes_;
  uint64_t data_end_ = 0;
  std::vector<ZipEntry> listed_;
  std::vector<BundleEntry> found_;
  std::string manifest_hash_;
};

Outcome check_files(const std::vector<BundleEntry>& entries, const Manifest& manifest) {
  size_t file = 0;
  for (const BundleEntry& entry : entries) {
    if (entry.name == manifest_name) continue;
    if (file == manifest.files.size() || manifest.files[file].name != entry.name) {
      return error("the manifest does not list ", in_quotes(entry.name));
    }
    const ManifestFile& listed = manifest.files[file++];
    if (listed.size != entry.bytes.size() || listed.crc32 != entry.crc32 ||
        listed.xxh3 != xxh3_hex(entry.bytes)) {
      return error(in_quotes(entry.name), " does not have the hash that the manifest lists");
    }
  }
  if (file != manifest.files.size()) {
    return error("the manifest lists ", in_quotes(manifest.files[file].name), ", which is missing");
  }
  return {};
}

}  // namespace

Result<BundleView> BundleView::open(std::string_view bytes) {
  ZipReader zip(bytes);
  Result<std::vector<BundleEntry>> entries = zip.read();
  if (!entries) return error("bundle: ", entries.error().text);
  BundleView view;
  view.entries_ = std::move(*entries);
  const BundleEntry* manifest = view.find(manifest_name);
  if (!manifest) return error("bundle: it has no manifest.json");
  view.identity_ = xxh3_hex(manifest->bytes);
  if (view.identity_ != zip.manifest_hash()) {
    return error("bundle: manifest.json does not have its hash");
  }
  Result<Manifest> facts = read_manifest(manifest->bytes);
  if (!facts) return error("bundle: ", facts.error().text);
  view.manifest_ = std::move(*facts);
  if (Outcome checked = check_files(view.entries_, view.manifest_); !checked) {
    return error("bundle: ", checked.error().text);
  }
  return view;
}

const BundleEntry* BundleView::find(std::string_view name) const {
  auto at = std::lower_bound(
      entries_.begin(), entries_.end(), name,
      [](const BundleEntry& entry, std::string_view key) { return entry.name < key; });
  return at != entries_.end() && at->name == name ? &*at : nullptr;
}

}  // namespace tessera::format
