#pragma once
// The Graph IR of an entry as nodes and edges: what the page draws.

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/core/module.h"

namespace tessera::inspect {

struct GraphValue {
  std::string name;  ///< as the source or a param calls it; may be empty
  std::string type;
  int op = -1;       ///< that makes it; -1 for an argument of the entry
  bool is_param = false;
};

struct GraphOp {
  std::string name;
  uint32_t line = 0;  ///< in the text of the function
  uint32_t call = 0;  ///< through which it was inlined (Context::calls)
  int around = -1;    ///< the loop or branch that it is in
  std::vector<uint32_t> in, out;       ///< values
  std::vector<std::string> kernels{};  ///< that compute it, in order
};

struct ModelGraph {
  std::vector<GraphValue> values;
  std::vector<GraphOp> ops;
  std::unordered_map<const Op*, uint32_t> numbers;  ///< of the ops; they need not live any more
};

/// Of a function; `lines` has the op of each line of its text.
ModelGraph graph_of(Op* function, const std::vector<Op*>& lines);

/// Notes the kernels of launches for the ops that they compute.
void note_kernels(ModelGraph& graph, std::span<Op* const> ops, std::span<Op* const> launches);

}  // namespace tessera::inspect
