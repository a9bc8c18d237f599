#pragma once
// What scheduler_test.cc, which replaces operator new, counts.

#include <cstddef>

namespace tessera::test {

/// Of the calling thread, by operator new.
extern thread_local size_t allocations_made;

}  // namespace tessera::test
