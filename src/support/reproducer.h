#pragma once
// What a bug of ours leaves behind for its report.

#include <functional>
#include <string>

namespace tessera {

/// As long as it lives, an internal error of this thread first writes `text()` to the file `path`; nothing when the
/// path is empty. Scopes nest.
class ReproducerScope {
 public:
  ReproducerScope(std::string path, std::function<std::string()> text);
  ~ReproducerScope();
  ReproducerScope(const ReproducerScope&) = delete;
  ReproducerScope& operator=(const ReproducerScope&) = delete;

 private:
  static std::string write();

  std::string path_;
  std::function<std::string()> text_;
  const ReproducerScope* outer_;
};

}  // namespace tessera
