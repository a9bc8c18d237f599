#pragma once
// Builds the host.func of an entry: a buffer for each graph value that is one, launches, results.

#include <map>
#include <string>
#include <vector>

#include "ir/core/builder.h"

namespace tessera {

class HostProgram {
 public:
  /// Makes the host.func for a gir.func; its symbol is free once the gir.func is erased.
  HostProgram(Module& module, Op* function);

  void set_loc(Loc loc) { builder_.set_loc(loc); }
  /// The buffer of an argument, a constant, or a value that was defined.
  Value* buffer(Value* graph);
  /// The buffer under other dims of the same number of elements.
  Value* under(Value* buffer, const std::vector<Dim>& dims);
  /// A buffer in whose dims the symbol occurs.
  Value* carrier(std::string_view symbol);
  /// Launches a kernel, or the first of the variants that may run, and defines `outputs` by its
  /// results, which have the types of the kernel's last parameters under `dims`.
  void launch(Op* kernel, const std::vector<Op*>& variants, const std::vector<Value*>& operands,
              const std::map<std::string, Dim>& dims, const std::vector<Value*>& outputs);
  /// Defines a value without elements.
  void define_empty(Value* graph);
  /// Ends the function with these buffers; arguments, constants and what is returned twice are
  /// copied.
  void finish(const std::vector<Value*>& results);

 private:
  Value* result(Value* made, std::vector<Value*>& taken);

  Module& module_;
  Context& context_;
  Builder builder_;
  Op* function_ = nullptr;
  std::map<Value*, Value*> buffers_;
  std::map<std::pair<Value*, Type>, Value*> aliases_;
  std::map<std::string, Value*, std::less<>> carriers_;
};

}  // namespace tessera
