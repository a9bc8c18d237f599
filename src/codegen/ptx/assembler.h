#pragma once
// ptxas, NVIDIA's assembler: an outside program, run on one text of PTX at a time.
//
// It is looked for in PATH, then in $CUDA_HOME/bin, then in /usr/local/cuda/bin. What it makes of a text depends on its
// version, its options and the text alone, so it is kept between runs by these.

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/numbers/machine.h"
#include "support/cache.h"
#include "support/temporary.h"

namespace tessera::codegen {

/// What ptxas made of a text, or why there is nothing.
struct Assembly {
  enum class Fault : uint8_t { None, NoPlace, CannotRun, Refused };

  Fault fault = Fault::None;
  std::string problem{};   ///< of a fault; where the text was refused, the first message
  std::string messages{};  ///< of `ptxas -v`
  std::string image{};     ///< an ELF object
};

/// The path of ptxas, or nothing.
std::string find_ptxas();

/// The text without places of the source, which a change elsewhere in a file moves.
std::string without_places(std::string_view ptx);

class Assembler {
 public:
  /// For `machine`, whose code says with `line_info` which line of the source each instruction comes from, and then has
  /// the PTX itself. Without a cache every text is assembled anew.
  Assembler(const Machine& machine, bool line_info, const Cache* cache);

  /// Where it is; empty where there is none.
  const std::string& path() const { return path_; }
  /// Name and version: "ptxas 13.0.88".
  const std::string& name() const { return name_; }
  /// Several threads may do so at a time.
  Assembly assemble(std::string_view ptx) const;

 private:
  std::string read_version() const;
  Assembly run(const std::string& ptx) const;
  /// Made when something is to be run.
  const TemporaryFolder& folder() const;

  std::string path_;
  std::string version_;  ///< all that it says of itself
  std::string name_;
  std::vector<std::string> options_;
  bool line_info_;
  const Cache* cache_;
  mutable std::once_flag is_made_;
  mutable std::optional<TemporaryFolder> folder_;
};

}  // namespace tessera::codegen
