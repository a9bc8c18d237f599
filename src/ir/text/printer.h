#pragma once
// The one textual form of IR. Printing is deterministic, and parser.h reads the text back:
//
//   module @mlp level(graph) version(1) {entry = "mlp"} {
//     gir.func @mlp(%x: tensor<B x 4, f32>, %w: tensor<4 x 8, f32>) {results = [...]} {
//       %0: tensor<B x 8, f32> = gir.gemm %x, %w {accum = f32} loc("mlp.tsr":7:14)
//       gir.return [%0]
//     }
//   }
//
// An op prints its results with types, its name, operands (a slot of many or an optional one in brackets),
// successors `^1(%a)`, attributes, its regions as `do(%args) { ... }` and its location. A function prints its
// symbol and the parameters of its region instead. Values are named by their hint, made unique within the
// function, or numbered in order.

#include <memory>
#include <string>
#include <vector>

#include "ir/core/module.h"

namespace tessera {

/// Names that values and blocks keep from one print of a function to the next, so that its texts before and after a
/// pass differ where the function does and nowhere else. For one function of one module, which outlives it.
class PrintNames {
 public:
  PrintNames();
  ~PrintNames();
  PrintNames(PrintNames&&) noexcept;
  PrintNames& operator=(PrintNames&&) noexcept;

  struct Tables;
  Tables& tables() const { return *tables_; }

 private:
  std::unique_ptr<Tables> tables_;
};

struct PrintOptions {
  bool locations = true;
  const Op* bare = nullptr;  ///< an op whose attributes are not printed; such a text is not read back
  /// Of print(Op*): names that are kept; null numbers anew.
  PrintNames* names = nullptr;
  /// Filled with the op of each line, which begins or ends there; null for a label of a block.
  std::vector<Op*>* lines = nullptr;
};

std::string print(Module& module, const PrintOptions& options = {});
/// One op with what is inside it, for messages and debuggers.
std::string print(Op* op, const PrintOptions& options = {});

/// The version of the textual form; the parser refuses others.
inline constexpr int ir_text_version = 1;

}  // namespace tessera
