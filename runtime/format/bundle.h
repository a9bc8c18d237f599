#pragma once
// Bundles: a ZIP archive that has exactly one byte form for given contents.
//
// Entries are stored, never compressed, in order of name, each one's bytes at a multiple of 64, so
// that `unzip -l` shows a bundle and a mapping serves it. manifest.json has size, CRC-32 and
// XXH3-128 of every other entry, and the archive's comment has the XXH3-128 of manifest.json. The
// reader takes names and sizes from the central directory, writes every header again itself, and
// refuses an archive that differs in any byte. docs/bundle.md has the details.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/result.h"
#include "runtime/format/manifest.h"

namespace tessera::format {

inline constexpr size_t bundle_alignment = 64;
/// ZIP64 is not used; larger weights stay in a safetensors file of their own.
inline constexpr uint64_t max_bundle_bytes = 0xffffffff;
inline constexpr size_t max_bundle_entries = 65534;

inline constexpr std::string_view manifest_name = "manifest.json";
inline constexpr std::string_view reflection_name = "reflection.json";
inline constexpr std::string_view schedules_name = "schedules.json";
inline constexpr std::string_view graph_ir_name = "ir/graph.tir";
inline constexpr std::string_view called_kernels_name = "ir/kernels.tir";

/// A target's name as a path component: "cpu:x86-64-v4" gives "cpu-x86-64-v4".
std::string target_path(std::string_view target);
/// "plan/<entry>/<target>.plan".
std::string plan_path(std::string_view entry, std::string_view target);
/// "kernels/<target>/kernels.<form>"; forms are "so" (CPU), "ptx" and "cubin" (CUDA).
std::string kernels_path(std::string_view target, std::string_view form = "so");

/// Names that may be in a bundle: relative paths of letters, digits and "._-", components neither
/// empty nor starting with a dot, 255 bytes at most.
bool is_bundle_name(std::string_view name);

class BundleWriter {
 public:
  /// Adds an entry other than the manifest; the name must be new and one of is_bundle_name.
  Outcome add(std::string name, std::string bytes);

  /// The archive's bytes. Fills in the manifest's files.
  Result<std::string> finish(Manifest manifest) const;

 private:
  std::map<std::string, std::string> entries_;
};

struct BundleEntry {
  std::string name;
  std::string_view bytes;
  uint32_t crc32 = 0;
};

/// A checked bundle over bytes that somebody else owns.
class BundleView {
 public:
  /// Checks every byte: structure, checksums, hashes, manifest.
  static Result<BundleView> open(std::string_view bytes);

  const Manifest& manifest() const { return manifest_; }
  /// The bundle's identity: XXH3-128 of its manifest, in hex.
  const std::string& identity() const { return identity_; }
  /// All entries in order of name.
  const std::vector<BundleEntry>& entries() const { return entries_; }
  /// The entry of that name, or null.
  const BundleEntry* find(std::string_view name) const;

 private:
  std::vector<BundleEntry> entries_;
  Manifest manifest_;
  std::string identity_;
};

}  // namespace tessera::format
