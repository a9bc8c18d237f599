#pragma once
// The attribute `checks` of kernels: the facts of each access that is checked before it happens.

#include <optional>
#include <string>

#include "ir/core/attribute.h"

namespace tessera {

class Context;
class Op;
class OpVerifier;

struct AccessSite {
  std::string access;      ///< load, store, gather or copy
  int64_t parameter = -1;  ///< of the kernel; -1 for scratch memory
  std::string source;      ///< where it is written: "mlp.tsr:7:12"; may be empty
};

Attr site_attr(Context& context, const AccessSite& site);
/// Nothing where the attribute does not have the form that site_attr gives.
std::optional<AccessSite> read_site(Attr attr);
/// Reports an attribute `checks` that is there and has another form, or names none of so many parameters.
void verify_checks(Op* op, size_t parameters, OpVerifier& verifier);

}  // namespace tessera
