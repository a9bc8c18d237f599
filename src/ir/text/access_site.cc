#include "ir/text/access_site.h"

#include "ir/core/common_attributes.h"
#include "ir/core/context.h"
#include "ir/text/verifier.h"

namespace tessera {

Attr site_attr(Context& context, const AccessSite& site) {
  return context.dict({{"access", context.string(site.access)},
                       {"parameter", context.integer(site.parameter)},
                       {"source", context.string(site.source)}});
}

std::optional<AccessSite> read_site(Attr attr) {
  if (!attr->is(AttrKind::Dict)) return std::nullopt;
  Attr access = attr->get("access"), parameter = attr->get("parameter"), source = attr->get("source");
  bool is_whole = access && access->is(AttrKind::String) && parameter &&
                  parameter->is(AttrKind::Int) && parameter->integer >= -1 && source &&
                  source->is(AttrKind::String);
  if (!is_whole) return std::nullopt;
  return AccessSite{access->string, parameter->integer, source->string};
}

void verify_checks(Op* op, size_t parameters, OpVerifier& verifier) {
  if (!op->has(common::Kernel::checks)) return;
  const std::vector<Attr>& checks = op->attr(common::Kernel::checks);
  if (checks.empty()) verifier.error("'checks' lists no access");
  for (Attr site : checks) {
    std::optional<AccessSite> read = read_site(site);
    if (!read) {
      verifier.error("each of 'checks' is {{access, parameter, source}}, not {}", site->text);
    } else if (read->parameter >= int64_t(parameters)) {
      verifier.error("'checks' names parameter {} of {}", read->parameter, parameters);
    }
  }
}

}  // namespace tessera
