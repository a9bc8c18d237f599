#pragma once
// Builds the functions and kernels of a bundle, one declaration of the file at a time.

#include <set>
#include <string_view>
#include <vector>

#include "frontend/lower/graph/graph_builder.h"

namespace tessera::frontend {

/// The names that a const or an assignment gives a value.
std::vector<std::string_view> constant_names(const ast::Stmt& stmt);

/// The function that a declaration of a file defines; null when it defines none, or another has its name.
const Function* declared_function(const SourceModule& file, const ast::Stmt& stmt);

class EntryBuilder {
 public:
  EntryBuilder(GraphBuilder& builder, const SourceModule& file) : builder_(builder), file_(file) {}

  /// Declarations nobody has asked for are evaluated, too, so that their errors are found.
  void evaluate_constants();
  /// Builds a def with @jit, or the methods with @jit of an instance.
  void build(const ast::Stmt& declaration);

 private:
  void build_methods(const ModuleInstance& instance);

  GraphBuilder& builder_;
  const SourceModule& file_;
  std::set<const ModuleInstance*> with_entries_;
};

}  // namespace tessera::frontend
