#pragma once
// Checks that IR keeps the rules of its tables and of its level. Run after every pass in tests and debug
// builds, and on all IR that is read from text.

#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

#include "ir/core/module.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera {

/// Where an op's verifier hook reports errors; it knows the op and its place.
class OpVerifier {
 public:
  OpVerifier(Op* op, DiagnosticEngine& diagnostics) : op_(op), diagnostics_(diagnostics) {}
  /// Reports that the op breaks a rule; `format` states which, in fmt's syntax.
  template <typename... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) {
    report(fmt::format(format, std::forward<Args>(args)...));
  }
  bool failed() const { return failed_; }
  /// For errors that a hook finds in an op inside of its own.
  OpVerifier of(Op* inner) const { return {inner, diagnostics_}; }
  void fail() { failed_ = true; }

 private:
  void report(const std::string& message);
  Op* op_;
  DiagnosticEngine& diagnostics_;
  bool failed_ = false;
};

/// Which ops a level's modules may hold: those of the level itself and of these others.
bool level_allows(Level module_level, Level op_level);

/// Verifies slots, attributes, types, dominance, terminators, levels and every op's own rules.
Status verify(Module& module, DiagnosticEngine& diagnostics);

/// Reports a result whose dims or dtype are not these; true if they are.
bool expect_result(Op* op, OpVerifier& verifier, const std::vector<Dim>& dims, DType dtype);

/// The rule shared by all elementwise rows: operand dtypes by class, one shape, the result's dtype.
void verify_elementwise(Op* op, OpVerifier& verifier);

}  // namespace tessera
