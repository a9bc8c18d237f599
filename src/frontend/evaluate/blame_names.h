#pragma once
// Reports names and members that nothing defines: the definition that is misspelt, or the use, with what is meant.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/evaluate/blame.h"
#include "frontend/values/check_numerics.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

/// A name that no scope has. One of a file is reported once, and none of a language feature that is not there.
void report_unknown_name(const Blame& blame, std::string_view name, Scope& scope, Loc loc);
/// A name that stands where a dtype is needed, and that nothing defines.
void report_unknown_dtype(const Blame& blame, const ast::Name& name);
/// Whether an expression is a member of a package of another language (`np.sum`, `torch.float32`), which is then
/// reported with what it is called here.
bool report_package(const Blame& blame, const ast::Attribute& node, Scope& scope);
/// A member that an instance of a module does not have.
void report_unknown_member(const Blame& blame, const ModuleInstance& instance, const ast::Identifier& name);
/// The same of a namespace.
void report_unknown_member(const Blame& blame, const Namespace& name_space, const ast::Identifier& name);

/// Names that a definition uses and nothing defines.
std::vector<std::string> undefined_names(const Session& session, const Callable& callee);
/// Whether tessera.nn has a name.
bool is_in_library(std::string_view name);
/// What imports a name of tessera.nn into the file, no edit where the file has it; nothing where that has no such name.
std::optional<std::vector<Edit>> library_import(const Session& session, std::string_view name, Loc loc);
/// The function of the language or of tessera.nn whose name is nearest to one that nothing defines; empty when none is
/// near.
std::string nearest_function(std::string_view name);

/// Whether a name that is given a value is that of a dtype, which is reported then. Other spellings of dtypes, such as
/// `half`, are free.
template <typename Reporter>
bool refuse_dtype_name(Reporter& reporter, std::string_view name, Loc loc) {
  std::optional<DType> dtype = dtype_by_name(name);
  if (!dtype || to_string(*dtype) != name) return false;
  reporter.report(diag::not_assignable, loc, fmt::format("'{}', a dtype,", name))
      .help("types such as Tensor[B, f32] read it; take another name");
  return true;
}

}  // namespace tessera::frontend
