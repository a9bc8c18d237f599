#include "ir/text/access_site.h"

#include "ir/core/common_attributes.h"
#include "ir/core/context.h"
#include "ir/text/entries.h"
#include "ir/text/verifier.h"

namespace tessera {

Attr site_attr(Context& context, const AccessSite& site) {
  using Entry = entry::AccessSite;
  return entry::make_dict(context, {Entry::access(context, site.access), Entry::parameter(context, site.parameter),
                                    Entry::source(context, site.source)});
}

std::optional<AccessSite> read_site(Attr attr) {
  using Entry = entry::AccessSite;
  if (!entry::problem_of(attr, entry::Dict::AccessSite).empty()) return std::nullopt;
  AccessSite site{std::string(entry::read(attr, Entry::access)), entry::read(attr, Entry::parameter),
                  std::string(entry::read(attr, Entry::source))};
  return site.parameter >= -1 ? std::optional(std::move(site)) : std::nullopt;
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
