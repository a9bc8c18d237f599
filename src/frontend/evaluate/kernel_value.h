#pragma once
// Kernels as values: `kernel.with_schedule(s)` is the same kernel under another schedule.

#include <string>
#include <vector>

#include "frontend/syntax/ast.h"
#include "frontend/values/builtins.h"
#include "frontend/values/value.h"

namespace tessera::frontend {

class Blame;
class Evaluator;

/// The value of `kernel.name`.
Datum kernel_member(Evaluator& evaluator, const Function& kernel, const ast::Identifier& name);

/// Says that a kernel makes nothing: neither does its signature state a result, nor a region that it writes.
void report_without_result(const Blame& blame, const Function& kernel);

/// A member function of a kernel.
class KernelMember : public Object {
 public:
  explicit KernelMember(const Function* kernel) : kernel_(kernel) {}
  std::string describe() const override { return "a member of a kernel"; }
  Datum call(Evaluator& evaluator, const std::vector<CallArgument>& arguments, Loc loc) const;

 private:
  const Function* kernel_;
};

}  // namespace tessera::frontend
