#pragma once
// Parts of programs that are more than one op: attention, scans, run-time loops and branches, params of modules.

#include <utility>

#include "check/generator.h"

namespace tessera::check {

inline bool is_number(DType dtype) { return dtype != DType::Bool; }

/// Dtypes that arithmetic is written in.
inline bool is_computed(DType dtype) {
  return dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16 || dtype == DType::F64;
}

class LargeParts : public Generator {
 protected:
  using Generator::Generator;

  /// A size for anything; results of other ops have dims of their own.
  Dim some_dim();
  Fill some_fill();
  /// A value that fits `a` elementwise, of its dtype, and the dims of both.
  int partner(int a, std::vector<Dim>& shape);

  /// Heads that share keys and values, with masks and biases.
  void attention();
  /// Running sums and extremes of the last axis.
  void scan();
  /// A loop or a branch that the machine takes.
  void machine_loop();
  /// A param of a module, and a product or a sum with it.
  void weight();

 private:
  std::string masks_of_attention(std::vector<int>& operands, Dim heads, Dim rows, Dim keys);
  std::pair<std::string, std::string> function_of_scores(Dim rows, Dim keys);
  void iterations(int a, int b);
  void turns_while(int a, int b);
  void branch(int a, int b);
};

}  // namespace tessera::check
