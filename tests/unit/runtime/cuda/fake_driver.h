#pragma once
// A CUDA driver without a GPU, for tests: a library that has the driver's functions over memory of
// the host and a few kernels in C++. It is as strict and as late as a GPU may be: calls need a
// current context, device addresses cannot be read by the host, accesses outside a live allocation
// fail, and queued work runs only when somebody waits for it. Tests set its knobs and read what it
// has recorded through the functions below.

#include <cstddef>
#include <cstdint>

namespace tessera::test {

/// What a launch asked for.
struct FakeLaunch {
  char kernel[64];
  unsigned grid;
  unsigned block[3];
  unsigned cluster;
  bool overlaps;  ///< it may start before the launch ahead of it has ended
  unsigned shared_bytes;
  const void* stream;
};

/// A tensor map as it was asked for.
struct FakeTensorMap {
  uint64_t address;
  uint32_t type;
  uint32_t rank;
  uint64_t extents[5];
  uint32_t box[5];
  uint64_t strides[4];
  uint32_t swizzle;
  // Of windows: `box` has channels and windows.
  int8_t lower[3], upper[3];
  uint8_t steps[3];
};

/// Things that exist, or that happened, since the last reset.
struct FakeCounts {
  int contexts, modules, streams, events, allocations, pinned, graphs;
  int mallocs;       ///< calls of cuMemAlloc
  int encoded_maps;  ///< calls of cuTensorMapEncodeTiled
  int context_waits;
  int graph_launches;
};

struct FakeKnobs {
  int devices = 1;
  int capability = 90;
  int version = 13000;  ///< of CUDA, as the driver says it
  int multiprocessors = 4;
  int blocks_per_multiprocessor = 2;
  size_t memory = size_t(64) << 20;
  bool is_busy = false;  ///< queries say that work goes on
  void (*meanwhile)(void*) = nullptr;  ///< what happens while somebody waits for the GPU, with the next
  void* meanwhile_with = nullptr;
};

extern "C" {
/// Forgets launches and counts and takes the knobs. Nothing may exist.
void fake_reset(const FakeKnobs* knobs);
/// The call of that function after `skip` more has this result; several may be waiting.
void fake_fail(const char* symbol, int result, int skip);
void fake_counts(FakeCounts* counts);
size_t fake_launch_count(void);
void fake_launch(size_t index, FakeLaunch* launch);
void fake_last_map(FakeTensorMap* map);
/// A stream that somebody else makes in that context.
void* fake_create_stream(intptr_t context);
void fake_destroy_stream(void* stream);
}

}  // namespace tessera::test
