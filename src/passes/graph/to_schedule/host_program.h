#pragma once
// Builds the host.func of an entry: a buffer for each graph value that is one, launches, results.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/core/builder.h"
#include "ir/core/dim_facts.h"
#include "ir/schedule/kernel_library.h"

namespace tessera {

class HostProgram {
 public:
  /// Makes the host.func for a gir.func; its symbol is free once the gir.func is erased.
  HostProgram(Module& module, Op* function);

  void set_loc(Loc loc) { builder_.set_loc(loc); }
  /// The buffer of an argument, a constant, or a value that was defined.
  Value* buffer(Value* graph);
  bool has_buffer(Value* graph) const { return buffers_.count(graph) != 0; }
  /// The buffer under other dims of the same number of elements.
  Value* under(Value* buffer, const std::vector<Dim>& dims);
  /// The same where only the facts of the branch at hand make the elements as many.
  Value* under_here(Value* buffer, const std::vector<Dim>& dims);
  /// A buffer without elements whose first extent is a size, which may depend on counters of loops.
  Value* carrier(Dim size);
  /// Launches a kernel, or the first of the variants that may run, and defines `outputs` by its
  /// results, which have the types of the kernel's last parameters under `dims`. `places` has for
  /// each output the buffer whose memory it takes, or null; empty when all have memory of their own. A null output is
  /// no value of the graph, and begins as zeros.
  Op* launch(Op* kernel, const std::vector<Op*>& variants, const std::vector<Value*>& operands,
             const std::map<std::string, Dim>& dims, const std::vector<Value*>& outputs,
             std::vector<Value*> places = {});
  /// The same for results that are no values of the graph, each in memory of its own.
  Op* launch(Op* kernel, const std::vector<Op*>& variants, const std::vector<Value*>& operands,
             const std::map<std::string, Dim>& dims, unsigned results);
  /// All launches so far, in order.
  const std::vector<Op*>& launches() const { return launches_; }
  /// Prints what the launch left.
  void print(Op* launch, const std::vector<schedule::KernelPrint>& prints, Attr grid);
  Value* copy(Value* buffer);
  /// Says where a value is, in place of what was said before.
  void define(Value* graph, Value* buffer) { buffers_[graph] = buffer; }
  /// Defines a value without elements.
  void define_empty(Value* graph);
  /// Ends the call with the graph op's message unless the buffer holds true.
  void check(Op* check, Value* condition);
  /// Makes the loop or branch for a graph op, without its regions' contents, and defines the op's
  /// results. `operands` are the carried values or the condition. `places` has for each result of a branch the buffer
  /// whose memory it takes, or null.
  Op* region_op(Op* graph, const std::vector<Value*>& operands, const std::vector<Value*>& places = {});
  /// Makes a branch that sizes choose, without its regions' contents, which give buffers for these values.
  Op* choice(const std::vector<DimFact>& when, const std::vector<Value*>& results);
  /// Ops go to a region of such an op from here on, until `leave`. `graph` has the region's arguments; null for none.
  void enter(Op* host, Op* graph, unsigned region);
  /// Ends the region with these buffers.
  void leave(const std::vector<Value*>& yielded);

  /// Ends the function with these buffers; arguments, constants and what is returned twice are
  /// copied.
  void finish(const std::vector<Value*>& results);

 private:
  std::vector<Type> result_types(Op* kernel, size_t operands, const std::map<std::string, Dim>& dims) const;
  Op* launch(Op* kernel, const std::vector<Op*>& variants, const std::vector<Value*>& operands,
             const std::map<std::string, Dim>& dims, std::vector<Type> types, const std::vector<Value*>& places);
  std::pair<std::vector<Value*>, Attr> taken_over(const std::vector<Value*>& places);
  Value* result(Value* made, std::vector<Value*>& taken);
  std::vector<Value*> donors_of_results() const;
  Builder at_start();
  Builder after(Value* buffer);

  Module& module_;
  Context& context_;
  Builder builder_;
  Op* function_ = nullptr;
  std::map<Value*, Value*> buffers_;
  std::map<std::pair<Value*, Type>, Value*> aliases_;
  std::set<std::string, std::less<>> counters_;  ///< of all loops
  std::vector<Op*> launches_;
  std::vector<Op*> entered_;                     ///< the ops whose regions are being filled
  std::map<std::pair<Dim, Block*>, Value*> counted_;  ///< carriers of what depends on counters
  Value* empty_ = nullptr;                       ///< a buffer without elements
};

}  // namespace tessera
