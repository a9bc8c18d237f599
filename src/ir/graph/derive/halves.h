#pragma once
// A function that gives values and their derivatives, made to two that are called one after the other.

#include <vector>

#include "ir/core/module.h"

namespace tessera::graph {

/// `function` gives `values` results, and behind them derivatives, which depend on the arguments `cotangents`. It
/// becomes the function of the values; what it has no use for leaves it. Behind its results it gives what the
/// derivatives read of it: results of matmuls and of other kernels, and what such kernels read. Arithmetic between
/// these is not given but done again. The other function gives the derivatives. It takes the arguments that it reads or
/// that bind its sizes, what is given to it (under the names `saved.0`, …, or that of the value), and the cotangents.
/// It is called `name`, and follows the first.
Op* split_halves(Op* function, unsigned values, std::vector<Value*> cotangents, std::string_view name);

}  // namespace tessera::graph
