#pragma once
// Runs a thread or a warp of a target.func: elementwise ops, ops on lanes, branches that all threads take together,
// loads and stores of its buffers, shuffles. What the special function unit computes is rounded correctly here, so that
// what is seen is the error of the rest.

#include <cstdint>
#include <map>
#include <vector>

#include "ir/core/module.h"
#include "ir/numbers/elementwise.h"

namespace tessera::test {

class TargetEval {
 public:
  /// The function's arguments are the addresses of buffers, in this order.
  explicit TargetEval(std::vector<std::vector<uint8_t>*> buffers, int64_t thread = 0)
      : buffers_(std::move(buffers)), thread_(thread) {}
  void run(Op* func);
  /// 32 threads in step.
  static void run_warp(Op* func, const std::vector<std::vector<uint8_t>*>& buffers);
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

  void enter(Block* entry);
  const TargetEval& sender(Op* shuffle);

  std::vector<std::vector<uint8_t>*> buffers_;
  int64_t thread_;
  std::vector<TargetEval>* warp_ = nullptr;
  std::map<Value*, Data> values_;
  std::map<std::string_view, int> counts_;
  int64_t steps_ = 0;
};

}  // namespace tessera::test
