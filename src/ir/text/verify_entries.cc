#include "ir/text/verify_entries.h"

#include "ir/core/common_attributes.h"

namespace tessera {

void verify_numerics(Op* function, OpVerifier& verifier) {
  verify_dicts(function, common::Entry::numerics, entry::Dict::Numerics, verifier);
  if (verifier.failed()) return;
  for (Attr item : function->attr(common::Entry::numerics)) {
    Attr bounds = entry::node(item, entry::Numerics::bounded);
    if (!bounds) continue;
    const std::vector<Attr>& both = bounds->elements;
    bool fit = both.size() == 2 && both[0]->is(AttrKind::Float) && both[1]->is(AttrKind::Float) &&
               both[0]->number <= both[1]->number;
    if (!fit) verifier.error("the bounds in 'numerics' are two numbers in order");
  }
}

}  // namespace tessera
