#pragma once
// What a graph's results may be: every value of a gir.func as ranges, from its arguments on.
//
// It is an interpreter of its own, which shares with graph/eval.h only the meaning of single elements; that the
// interpreter's results lie inside is checked like those of compiled code.

#include <set>
#include <string>
#include <vector>

#include "check/range.h"
#include "ir/graph/ops.h"

namespace tessera::check {

struct Bounds {
  std::vector<RangeTensor> results;
  /// Names of ops that there is no rule for; their results may be anything.
  std::set<std::string> without_rule;
};

/// `dims` binds all dim symbols of the function.
Bounds bounds_of(Op* function, const std::vector<TensorValue>& arguments, const DimValues& dims);

}  // namespace tessera::check
