#include "support/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "support/file.h"
#include "support/hash.h"
#include "support/temporary.h"

namespace tessera {

namespace fs = std::filesystem;

namespace {

/// Entries lie in this many folders, by the first two digits of their names, each of which has its share of the limit.
constexpr uint64_t folder_count = 256;
constexpr size_t hash_digits = 32, folder_digits = 2;
constexpr std::string_view aside_prefix = ".new-";

struct Entry {
  fs::path path;
  uint64_t bytes;
  fs::file_time_type used;
};

bool is_entry(std::string_view name) {
  return name.size() == hash_digits - folder_digits && name.find_first_not_of("0123456789abcdef") == name.npos;
}

/// What an entry begins with: it is of this key, and has these bytes.
std::string seal(std::string_view path, std::string_view bytes) {
  std::string name(path.substr(path.size() - (hash_digits + 1)));
  return content_hash(name.append(bytes));
}

/// Removes entries until three quarters of the limit are left, so that not every new one has to.
void trim(const fs::path& folder, uint64_t limit) {
  std::error_code error;
  std::vector<Entry> entries;
  uint64_t total = 0;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;  // another run may have removed it
    Entry entry{at->path(), at->file_size(gone), {}};
    if (!gone) entry.used = at->last_write_time(gone);
    std::string name = entry.path.filename().string();
    if (gone || !is_entry(name)) continue;  // and nobody else's files are touched
    total += entry.bytes;
    entries.push_back(std::move(entry));
  }
  if (total <= limit) return;
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (total <= limit / 4 * 3) return;
    std::error_code ignored;
    fs::remove(entry.path, ignored);
    total -= entry.bytes;
  }
}

/// Writes a file aside and renames it; false where that cannot be. What killed runs left aside is removed.
bool write_entry(const fs::path& path, std::string_view hash, std::string_view bytes) {
  remove_orphans(path.parent_path().string(), aside_prefix);
  std::string aside = (path.parent_path() / aside_prefix).string() + "XXXXXX";
  int fd = ::mkostemp(aside.data(), O_CLOEXEC);
  if (fd < 0) return false;
  RemovedOnExit removed(aside);
  Lock lock(fd);
  bool ok = lock.held() && write_all(fd, hash) && write_all(fd, bytes);
  ok = ok && ::rename(aside.c_str(), path.c_str()) == 0;
  if (!ok) ::unlink(aside.c_str());
  return ok;
}

}  // namespace

std::string Cache::path_of(std::string_view key) const {
  std::string name = content_hash(key);
  return (fs::path(folder_) / name.substr(0, folder_digits) / name.substr(folder_digits)).string();
}

std::optional<std::string> Cache::find(std::string_view key) const {
  std::string path = path_of(key), contents, problem;
  if (!read_file(path, contents, problem) || contents.size() < hash_digits) return std::nullopt;
  std::string bytes = contents.substr(hash_digits);
  if (seal(path, bytes) != std::string_view(contents).substr(0, hash_digits)) return std::nullopt;
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // it was used now
  return bytes;
}

void Cache::keep(std::string_view key, std::string_view bytes) const {
  fs::path path = path_of(key);
  uint64_t share = limit_ / folder_count;
  if (bytes.size() + hash_digits > share) return;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (!error && write_entry(path, seal(path.string(), bytes), bytes)) trim(path.parent_path(), share);
}

std::string default_cache_folder() {
  if (const char* folder = std::getenv("TESSERA_CACHE"); folder && *folder) return folder;
  const char* shared = std::getenv("XDG_CACHE_HOME");
  if (shared && fs::path(shared).is_absolute()) return (fs::path(shared) / "tessera").string();
  const char* home = std::getenv("HOME");
  if (home && fs::path(home).is_absolute()) return (fs::path(home) / ".cache" / "tessera").string();
  return {};
}

}  // namespace tessera
