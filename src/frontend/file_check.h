#pragma once
// The front end for a tool that checks a file repeatedly. It checks one declaration after the
// other, so that the tool knows which declaration an error belongs to and can skip those that have
// not changed.

#include <functional>
#include <memory>
#include <string>

#include "frontend/evaluate/parsed_files.h"
#include "frontend/frontend.h"

namespace tessera::frontend {

class FileCheck {
 public:
  /// `files` gives the file's declarations; it, the context and the diagnostics outlive this.
  FileCheck(tessera::Context& context, ParsedFiles& files, const FrontendOptions& options,
            DiagnosticEngine& diagnostics);
  ~FileCheck();

  /// Reads the file and what it imports, and evaluates constants.
  void load(FileId file);
  size_t declaration_count() const;
  const ast::Stmt& declaration(size_t index) const;
  /// Builds what a declaration adds to a bundle: an entry, entries of an instance, a kernel; and for
  /// the machine of FrontendOptions::kernels_for the kernels that these call.
  void check(size_t index);
  /// The entries so far, one after the other.
  Block* entries() const;
  /// Checks what a declaration has that nothing runs: a function, a kernel, methods.
  void check_uncalled(size_t index, const std::function<bool(const ast::Def&)>& was_run);
  /// Whether something was left out as the budget of evaluation is spent.
  bool is_spent() const;
  /// Initial values of params, and entries that leave something open.
  void finish();
  /// Warns of names without use (names_check.h), of a file without errors.
  void check_names();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::frontend
