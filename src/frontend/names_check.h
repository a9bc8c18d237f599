#pragma once
// Warns of names that a file gives a meaning and never uses, and of statements that never run.

#include "frontend/evaluate/session.h"

namespace tessera::frontend {

/// Of a file without errors, as what is wrong in it may be what has no use; and of names given with -D that no
/// condition of the files that were read has. A name that begins with '_' is meant to have no use, and so are the names
/// of tuples, of loops and of 'with'.
void check_names(Session& session, const SourceModule& file);

}  // namespace tessera::frontend
