#pragma once
// What training changes: the bundle's parameters, and the state that its entries pass on.

#include <string>
#include <vector>

#include "runtime/files/safetensors.h"
#include "runtime/tsr/state_files.h"
#include "runtime/tsr/train/entry.h"

namespace tessera::tool::train {

/// The contents of all tensors, until the next call of an entry.
struct Snapshot {
  std::vector<std::string> storage;         ///< what was fetched from a GPU
  std::vector<format::TensorView> tensors;  ///< parameters first
  size_t parameters = 0;

  /// The names of tensors with a NaN or an infinity.
  std::vector<std::string> not_finite() const;
};

/// Functions return 0, or the exit code after saying what is wrong.
class Model {
 public:
  explicit Model(Session& session) : session_(session) {}

  /// Binds the parameters that files have, and gives others the values that their declarations have; or none
  /// yet, if a checkpoint replaces all.
  int bind_parameters(const std::string& bundle, const std::vector<std::string>& files, uint64_t seed,
                      bool are_replaced);
  /// Makes the states of an entry, all zeros.
  int make_states(const Entry& entry, const SizeTable& sizes);

  States& states() { return states_; }
  int read(Snapshot& snapshot);
  /// Puts the tensors of a file in place. Where names, dtypes or shapes are others, says in `problem` which, and leaves
  /// the model as it was.
  int write(const std::vector<format::TensorView>& tensors, std::string& problem);
  /// "4 parameters, 12.5 KB; 9 states, 25 KB".
  std::string summary() const;

 private:
  int initialise(const std::string& bundle, uint64_t seed);
  int make_room();
  std::string differences(const std::vector<format::TensorView>& tensors) const;

  Session& session_;
  States states_;
};

}  // namespace tessera::tool::train
