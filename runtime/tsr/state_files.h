#pragma once
// State that an entry updates, kept in files between runs.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/tsr/tensor_files.h"

namespace tessera::tool {

/// One --state NAME=FILE: the inputs called NAME.…, by their numbers.
struct StateFile {
  std::string name;
  std::string path;
  std::vector<size_t> inputs;
};

/// The extents in the text of a shape: of "[B, 2*S]" these are "B" and "2*S".
std::vector<std::string> extents_of(std::string_view shape);
/// The names in the text of a shape.
void add_names(std::string_view shape, std::set<std::string>& names);

/// Finds the inputs of each assignment; says which are none of the entry.
int find_states(const std::string& entry, const std::vector<std::string>& assignments,
                const std::vector<tsr_tensor_info_t>& infos, std::vector<StateFile>& states);

/// Sizes by name, as the options `--dims NAME=N` and the extents of tensors give them.
class SizeTable {
 public:
  int add_options(const std::vector<std::string>& options);
  /// Says which options name no size of these shapes.
  int check_options(const std::vector<tsr_tensor_info_t>& inputs,
                    const std::vector<tsr_tensor_info_t>& outputs) const;
  /// What a tensor of the declared shape says about the sizes that stand alone in it, which no option may contradict.
  int add(const tsr_tensor_info_t& info, const std::vector<int64_t>& shape);
  /// The extents of a declared shape, each a number or one name.
  int resolve(const tsr_tensor_info_t& info, std::vector<int64_t>& shape) const;

 private:
  std::map<std::string, int64_t> sizes_, options_;
};

/// The tensor of a state's input in memory that the entry may write to: from the file, or zeros where there is none.
int read_state(Session& session, const StateFile& state, const tsr_tensor_info_t& info, const SizeTable& sizes,
               OwnedTensor*& tensor);

/// Writes the file anew; `tensors` have the names of the inputs.
int write_state(const Session& session, PendingFiles& files, const StateFile& state,
                const std::map<std::string, const OwnedTensor*>& tensors);

}  // namespace tessera::tool
