#pragma once
// Checkpoints of training: safetensors files DIR/step-000123.safetensors with parameters and states by their names.
// Each is written aside, brought to the disk and renamed, so that a run which ends at any moment leaves whole ones.

#include <string>
#include <vector>

#include "runtime/tsr/train/model.h"

namespace tessera::tool::train {

/// Where a run is.
struct Position {
  uint64_t step = 0;  ///< how many are done
  uint64_t seed = 0;
  std::string data;  ///< what batches are made of: a run that goes on should have the same
};

/// Functions return 0, or the exit code after saying what is wrong.
class Checkpoints {
 public:
  Checkpoints(std::string folder, int keep, std::string bundle);

  /// Makes the folder. Without `resume` there may be no checkpoints in it.
  int open(bool resume) const;
  bool has_any() const { return !steps().empty(); }
  /// Puts the newest checkpoint that can be read in place; `found` says whether there is one.
  int resume(Model& model, Position& position, bool& found) const;
  /// Writes one and removes those that are too old.
  int save(const Snapshot& snapshot, const Position& position) const;
  std::string path_of(uint64_t step) const;

 private:
  /// The numbers of their steps, the newest first.
  std::vector<uint64_t> steps() const;
  int read(Model& model, const std::string& path, Position& position, std::string& unreadable) const;

  std::string folder_;
  size_t keep_;
  std::string bundle_;
};

/// Writes the parameters alone.
int write_parameters(const Snapshot& snapshot, const std::string& path);

}  // namespace tessera::tool::train
