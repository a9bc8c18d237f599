#include "frontend/uncalled_check.h"

#include <algorithm>

#include "frontend/entry_builder.h"
#include "frontend/syntax/ast_walk.h"

namespace tessera::frontend {

bool UncalledCheck::lacks_run(const ast::Def& def, const WasRun& was_run) {
  bool lacks = false;
  ast::walk(def, [&](const ast::Node& node) {
    const auto* inner = ast::as<ast::Def>(&node);
    lacks = lacks || (inner && !was_run(*inner));
  });
  return lacks;
}

void UncalledCheck::check(const SourceModule& file, const ast::Stmt& declaration, const WasRun& was_run,
                          Reporting reporting) {
  Session::Reports reports(session_, reporting);
  if (const auto* module = ast::as<ast::Module>(&declaration)) return check_module(file, *module, was_run);
  const Function* function = declared_function(file, declaration);
  if (!function || !lacks_run(*function->def, was_run)) return;
  if (function->kind != FunctionKind::Kernel) return check_function(*function, was_run(*function->def));
  bool is_exported = kernels_.own_kernel(file, declaration, machine_).has_value();
  if (!is_exported) kernels_.explore(*function, machine_);
}

void UncalledCheck::check_function(const Function& function, bool is_called) {
  // In a module of its own: a name is looked for among all that a module has.
  Module scratch(session_.context(), session_.sources(), "explored", Level::Graph);
  GraphBuilder(session_, scratch, kernels_, Arguments::Open).explore_function(function, is_called);
}

void UncalledCheck::check_module(const SourceModule& file, const ast::Module& module, const WasRun& was_run) {
  Module scratch(session_.context(), session_.sources(), "explored", Level::Graph);
  GraphBuilder builder(session_, scratch, kernels_, Arguments::Open);
  const Datum* first = session_.first_instance(module);
  if (!first) return check_unmade(file, module, builder, was_run);
  Session::Reports reports(session_, Reporting::OfAnyCall);
  const auto* instance = first->object_as<ModuleInstance>();
  if (!instance) return;
  for (const ast::Stmt* stmt : module.body) {
    const auto* def = ast::as<ast::Def>(stmt);
    // An instance has the numbers of its module, which another one need not have.
    if (def && lacks_run(*def, was_run)) builder.explore_function(*session_.method(*def, *instance->scope()), true);
  }
}

void UncalledCheck::check_unmade(const SourceModule& file, const ast::Module& module, GraphBuilder& builder,
                                 const WasRun& was_run) {
  // A dtype that a call gives is one of many.
  bool has_dtype = std::ranges::any_of(module.parameters, [](const ast::Parameter& each) {
    const auto* name = ast::as<ast::Name>(each.annotation);
    return name && name->text == "dtype";
  });
  Session::Reports reports(session_, has_dtype ? Reporting::OfAnyCallAndDType : Reporting::OfAnyCall);
  Binding* binding = file.scope->find_here(module.name.text);
  const auto* reference = binding ? binding->value.object_as<ModuleReference>() : nullptr;
  if (!reference || &reference->stmt() != &module) return;
  builder.explore_module(*reference, [&](const ast::Def& def) { return lacks_run(def, was_run); });
}

}  // namespace tessera::frontend
