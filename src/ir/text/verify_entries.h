#pragma once
// Rules of the dictionaries in attributes.

#include "ir/text/entries.h"
#include "ir/text/verifier.h"

namespace tessera {

/// The elements of a list are dictionaries of a row.
template <Arity arity>
void verify_dicts(Op* op, AttrKey<AttrType::Dicts, arity> list, entry::Dict row, OpVerifier& verifier) {
  for (Attr item : op->attr(list)) {
    std::string problem = entry::problem_of(item, row);
    if (!problem.empty()) verifier.error("an element of '{}' is wrong: {}", list.name, problem);
  }
}

/// The same of what a function of Graph or Host IR says of its numbers: bounds are two numbers in order.
void verify_numerics(Op* function, OpVerifier& verifier);

}  // namespace tessera
