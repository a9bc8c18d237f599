#pragma once
// The rules of --shape-policy: which sizes calls may choose, and which guards may be checked at run
// time.

#include <map>
#include <string>
#include <vector>

#include "api/validate_shapes.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera::driver {

/// The names of the rules.
std::vector<std::string> shape_rules();
/// Makes a policy stricter; the rule is one of shape_rules().
void add_shape_rule(std::string_view rule, api::ShapePolicy& policy);

/// Reports a size that is given and is none of `known`.
Status check_sizes(const std::map<std::string, int64_t>& sizes, const std::vector<std::string>& known,
                   DiagnosticEngine& diagnostics);
/// Reports what the policy does not allow, and sizes that no entry has; a failure where something is an error.
Status report_findings(const api::ShapeReport& report, DiagnosticEngine& diagnostics);

}  // namespace tessera::driver
