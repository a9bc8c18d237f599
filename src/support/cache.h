#pragma once
// Results of expensive steps that are kept between runs, such as machine code, by all that they depend on.
//
// Each entry is a file. It is written aside and renamed, so any number of runs may share a folder, and it holds a hash
// of its name and bytes: one that is damaged, or another's, counts as absent. Keeping an entry is an attempt: where the
// folder cannot be written, the next run does the work again.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

class Cache {
 public:
  /// Bytes of all entries together. Past it, those that were not used for the longest time are removed.
  static constexpr uint64_t default_limit = uint64_t(1) << 30;

  /// In `folder`, which is made where it is not there.
  explicit Cache(std::string folder, uint64_t limit = default_limit) : folder_(std::move(folder)), limit_(limit) {}

  /// What was kept for a key. Any bytes are a key. More than a 256th of the limit is not kept. Safe to call from
  /// several threads, as is `keep`.
  std::optional<std::string> find(std::string_view key) const;
  void keep(std::string_view key, std::string_view bytes) const;

  const std::string& folder() const { return folder_; }
  /// The file of a key.
  std::string path_of(std::string_view key) const;

 private:
  std::string folder_;
  uint64_t limit_;
};

/// $TESSERA_CACHE, else `tessera` in $XDG_CACHE_HOME, else in ~/.cache. Empty where there is none of them; relative
/// paths in XDG_CACHE_HOME are ignored, as its standard asks (XDG Base Directory Specification, version 0.8).
std::string default_cache_folder();

}  // namespace tessera
