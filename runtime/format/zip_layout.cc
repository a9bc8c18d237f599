#include "runtime/format/zip_layout.h"

#include "runtime/files/bytes.h"
#include "runtime/format/bundle.h"

namespace tessera::format {

namespace {

constexpr uint16_t version_needed = 10;            // 1.0: stored entries
constexpr uint16_t version_made_by = 3 << 8 | 30;  // Unix, 3.0
constexpr uint16_t utf8_names = 1 << 11;
constexpr uint16_t dos_time = 0;
constexpr uint16_t dos_date = 1 << 5 | 1;  // 1 January 1980, the earliest there is
constexpr uint32_t unix_mode = 0100644u << 16;
constexpr uint16_t alignment_field = 0xd935;  // as Android's zipalign: u16 alignment, zeros
constexpr size_t local_header_bytes = 30;
constexpr size_t least_extra_bytes = 6;

/// The fields that local and central headers share, from "version needed" to "extra length".
void put_common(std::string& out, const ZipEntry& entry, size_t extra) {
  put_u16(out, version_needed);
  put_u16(out, utf8_names);
  put_u16(out, 0);  // stored
  put_u16(out, dos_time);
  put_u16(out, dos_date);
  put_u32(out, entry.crc);
  put_u32(out, entry.size);
  put_u32(out, entry.size);
  put_u16(out, uint16_t(entry.name.size()));
  put_u16(out, uint16_t(extra));
}

void put_central_header(std::string& out, const ZipEntry& entry, uint64_t offset) {
  put_u32(out, 0x02014b50);
  put_u16(out, version_made_by);
  put_common(out, entry, 0);
  put_u16(out, 0);  // comment
  put_u16(out, 0);  // disk
  put_u16(out, 0);  // internal attributes
  put_u32(out, unix_mode);
  put_u32(out, uint32_t(offset));
  out += entry.name;
}

}  // namespace

uint64_t zip_data_offset(size_t name_bytes, uint64_t offset) {
  uint64_t least = offset + local_header_bytes + name_bytes + least_extra_bytes;
  return (least + bundle_alignment - 1) / bundle_alignment * bundle_alignment;
}

std::string zip_local_header(const ZipEntry& entry, uint64_t offset) {
  uint64_t size = zip_data_offset(entry.name.size(), offset) - offset;
  size_t extra = size_t(size) - local_header_bytes - entry.name.size();
  std::string out;
  put_u32(out, 0x04034b50);
  put_common(out, entry, extra);
  out += entry.name;
  put_u16(out, alignment_field);
  put_u16(out, uint16_t(extra - 4));
  put_u16(out, uint16_t(bundle_alignment));
  out.resize(size, '\0');
  return out;
}

std::string zip_directory(const std::vector<ZipEntry>& entries, std::string_view manifest_hash) {
  std::string out;
  uint64_t offset = 0;
  for (const ZipEntry& entry : entries) {
    put_central_header(out, entry, offset);
    offset = zip_data_offset(entry.name.size(), offset) + entry.size;
  }
  uint32_t directory_bytes = uint32_t(out.size());
  put_u32(out, 0x06054b50);
  put_u16(out, 0);  // this disk
  put_u16(out, 0);  // the directory's disk
  put_u16(out, uint16_t(entries.size()));
  put_u16(out, uint16_t(entries.size()));
  put_u32(out, directory_bytes);
  put_u32(out, uint32_t(offset));
  put_u16(out, uint16_t(zip_comment_bytes));
  out += "xxh3-128:";
  out += manifest_hash;
  return out;
}

}  // namespace tessera::format
