#pragma once
// Reading files whole, and writing them so that no partial file is ever seen.

#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "support/out_of_memory.h"
#include "support/temporary.h"

namespace tessera {

/// Larger files are not read.
inline constexpr size_t max_read_bytes = size_t(256) << 20;

/// Reads a whole file of at most max_read_bytes; "-" is standard input. Devices, named pipes and
/// directories are refused, as they may have no end, except pipes and terminals that this process
/// was started with (standard input, /dev/fd/N). On failure returns false and sets `error` to the
/// reason.
bool read_file(const std::string& path, std::string& contents, std::string& error);

/// Files that appear all together or not at all, as far as a file system allows: each is written to
/// a temporary file, and commit renames them once the disk has them, so that a path holds the old
/// or the new bytes, never a part. A file keeps its permissions, and what a link leads to is
/// written, not the link, whether it is there yet or not. What a run that was killed left aside is
/// removed. A non-regular file such as /dev/null is written directly; `-` is standard output.
class PendingFiles {
 public:
  PendingFiles() = default;
  PendingFiles(const PendingFiles&) = delete;
  PendingFiles& operator=(const PendingFiles&) = delete;
  /// Removes temporary files that were not committed.
  ~PendingFiles();

  /// Writes a file aside. On failure returns false and sets `error` to the reason.
  bool write(const std::string& path, std::string_view contents, std::string& error);
  /// Puts all files in place. On failure returns false and sets `path` and `error` to the file at fault and the reason.
  bool commit(std::string& path, std::string& error);

 private:
  struct Pending {
    std::string path;    ///< as it was given
    std::string target;  ///< past links
    std::string aside;
    Lock lock;
    std::optional<RemovedOnExit> removed;  ///< while `aside` is there
  };
  static bool make_aside(Pending& file);

  std::list<Pending> pending_;
};

/// One such file, written and put in place.
bool write_file(const std::string& path, std::string_view contents, std::string& error);

/// Writes all bytes to a descriptor. On failure returns false, with errno set.
bool write_all(int descriptor, std::string_view bytes);

/// Writes out what was printed to standard output. On failure, as where a disk is full, returns false and sets `error`
/// to the reason. A program ends with it, or what it printed may be lost in silence.
bool flush_output(std::string& error);

}  // namespace tessera
