#pragma once
// The JSON header of a safetensors file. A header may have many megabytes and comes from anybody, so it is read as what
// it must be, member by member, and nothing is kept but what is visited.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/result.h"

namespace tessera::format {

/// One tensor as the header has it; valid while it is visited.
struct HeaderTensor {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> offsets;
};

/// What is wrong with a tensor; empty if nothing.
using TensorVisitor = std::function<std::string(const HeaderTensor& tensor)>;

/// Checks a header and visits its tensors in their order. Metadata are texts by key, and are passed over unless there
/// is a place for them. Of keys that are there twice only tensors' are left to who visits these.
Outcome read_safetensors_header(std::string_view header, const TensorVisitor& visit,
                                std::map<std::string, std::string>* metadata = nullptr);

}  // namespace tessera::format
