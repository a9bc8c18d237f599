#pragma once
// Runs one thread of a target.func: elementwise ops, ops on lanes, branches, loads and stores of its buffers. What the
// special function unit computes is rounded correctly here, so that what is seen is the error of the rest.

#include <cstdint>
#include <map>
#include <vector>

#include "ir/core/elementwise.h"
#include "ir/core/module.h"

namespace tessera::test {

class TargetEval {
 public:
  /// The function's arguments are the addresses of buffers, in this order.
  explicit TargetEval(std::vector<std::vector<uint8_t>*> buffers) : buffers_(std::move(buffers)) {}
  void run(Op* func);
  /// Ops that were run.
  int64_t steps() const { return steps_; }
  /// Names of ops that were run.
  const std::map<std::string_view, int>& counts() const { return counts_; }

 private:
  struct Data {
    std::vector<Element> lanes;
    size_t buffer = 0;  ///< of an address
    int64_t offset = 0;
  };
  std::vector<Element> evaluate(Op* op);
  std::vector<Element> bitcast(Op* op);
  void step(Op* op);
  Block* leave(Op* terminator);
  Data& in(Op* op, unsigned i) { return values_.at(op->operand(i)); }
  uint8_t* place(Op* op, unsigned address, int64_t bytes);

  std::vector<std::vector<uint8_t>*> buffers_;
  std::map<Value*, Data> values_;
  std::map<std::string_view, int> counts_;
  int64_t steps_ = 0;
};

}  // namespace tessera::test
