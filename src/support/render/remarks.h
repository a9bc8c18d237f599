#pragma once
// A diagnostic for clients that do not draw lines of the source.

#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace tessera {

/// Labels and notes as one list.
inline std::vector<DiagnosticNote> remarks(const Diagnostic& diagnostic) {
  std::vector<DiagnosticNote> all;
  for (const Label& label : diagnostic.labels) all.push_back({label.loc, label.message, NoteKind::Note});
  all.insert(all.end(), diagnostic.notes.begin(), diagnostic.notes.end());
  return all;
}

/// Helps, those that come with a fix included.
inline std::vector<std::string> advice(const Diagnostic& diagnostic) {
  std::vector<std::string> all = diagnostic.helps;
  for (const Fix& fix : diagnostic.fixes) all.push_back(fix.message);
  return all;
}

}  // namespace tessera
