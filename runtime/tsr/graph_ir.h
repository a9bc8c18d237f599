#pragma once
// The graph that a bundle carries, read back and interpreted.

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/core/module.h"
#include "ir/graph/eval.h"
#include "runtime/files/safetensors.h"
#include "runtime/format/bundle.h"
#include "support/diagnostic.h"

namespace tessera::tool {

/// Functions return 0, or the exit code after saying what is wrong.
class GraphIr {
 public:
  GraphIr();
  GraphIr(const GraphIr&) = delete;
  GraphIr& operator=(const GraphIr&) = delete;

  /// Reads ir/graph.tir, and ir/kernels.tir where there is one, of a bundle that is checked byte
  /// by byte.
  int open(const std::string& bundle);

  /// A function or kernel by name; null when there is none.
  Op* function(std::string_view name) const;
  /// What there is, in order.
  std::vector<std::string> names() const;
  /// The function of an entry; null when there is none.
  Op* entry(std::string_view name) const;
  /// The names of the params that entries have, sorted.
  std::set<std::string> parameters() const;
  /// The functions of role "init", in order.
  std::vector<Op*> initialisers() const;

  /// Calls of kernels are computed as the kernels are compiled, in the dtypes they are written in,
  /// whatever the mode.
  int evaluate(Op* function, std::vector<TensorValue> arguments, graph::EvalOptions options,
               std::vector<TensorValue>& results);

 private:
  int read(const format::BundleEntry& text);
  /// Lets the options compute the calls of kernels in a function.
  void bind_calls(Op* function, graph::EvalOptions& options);
  /// Says what was reported.
  int complain();

  Context context_;
  std::vector<std::unique_ptr<Module>> modules_;
  std::string bundle_;
};

/// A parameter's name and the value that its declaration gives it.
struct InitialValue {
  std::string name;
  TensorValue value;
};

/// The values of all parameters that have an initial one. The graph has functions for them, from the seed alone; Philox
/// numbers are keyed by parameter and element, so that a seed gives the same values on every machine. Returns 0, or the
/// exit code after saying what is wrong.
int initial_values(GraphIr& graph, uint64_t seed, std::vector<InitialValue>& out);

/// A tensor of a file as the interpreter takes it: false when its dtype is none that is stored
/// element by element.
bool to_value(const format::TensorView& tensor, TensorValue& value);
/// The same tensor over the value's bytes, which must outlive it. The dtype's names are those of
/// the formats.
format::TensorView to_view(std::string name, const TensorValue& value);

/// The string under `key` of item `i` of a list of dicts, such as a function's `args`.
std::string_view described(Op* function, size_t i, std::string_view key);

}  // namespace tessera::tool
